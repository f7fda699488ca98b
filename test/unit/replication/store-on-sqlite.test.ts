import { afterEach, describe } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { createEvents } from "../../../src/base/events.ts";
import { silentLog } from "../../../src/base/log.ts";
import { HUB_COLLECTIONS } from "../../../src/replication/collections.ts";
import { createSqliteWork, tablesOf } from "../../../src/replication/sqlite-work.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { BY, type OpenPort, storePort } from "./store-port.ts";

describe("a cloud's rows on SQLite alone", () => {
  const stores: Store[] = [];
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });

  function openIn(dataDir: string): OpenPort {
    const fail = (error: unknown): never => {
      throw error;
    };
    const store = openStore({
      ...{ dataDir, catalogue: CATALOGUE, tables: tablesOf(HUB_COLLECTIONS), clock: systemClock },
      ...{ events: createEvents(fail), log: silentLog, onFatal: fail },
    });
    stores.push(store);
    return {
      store,
      work: createSqliteWork(store, CATALOGUE, BY),
      async next() {
        await stores.pop()?.close();
        return openIn(dataDir);
      },
    };
  }

  storePort(async () => openIn(makeTempDir()));
});
