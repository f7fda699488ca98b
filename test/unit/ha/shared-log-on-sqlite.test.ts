import { afterEach, describe } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { HUB_COLLECTIONS } from "../../../src/sync/storage/collections.ts";
import { collectionTables, createSqliteProgramRunner } from "../../../src/sync/storage/sqlite-program-runner.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { BY, type OpenPort, storePort } from "./shared-log-contract.ts";

describe("shared log on SQLite", () => {
  const stores: Store[] = [];
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });

  function openIn(dataDir: string): OpenPort {
    const fail = (error: unknown): never => {
      throw error;
    };
    const store = openStore({
      ...{ dataDir, catalogue: CATALOGUE, tables: collectionTables(HUB_COLLECTIONS), clock: systemClock },
      ...{ events: createEvents(fail), log: silentLog, onFatal: fail },
    });
    stores.push(store);
    return {
      store,
      work: createSqliteProgramRunner(store, CATALOGUE, BY, () => null),
      async next() {
        await stores.pop()?.close();
        return openIn(dataDir);
      },
    };
  }

  storePort(async () => openIn(makeTempDir()));
});
