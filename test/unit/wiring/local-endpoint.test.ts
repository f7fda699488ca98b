import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createEvents } from "../../../src/lib/events.ts";
import endpoints from "../../../src/resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import { initializeSyncState } from "../../../src/sync/site/sync-state.ts";
import { SITE_COLLECTIONS } from "../../../src/sync/storage/collections.ts";
import { collectionTables, createSqliteProgramRunner } from "../../../src/sync/storage/sqlite-program-runner.ts";
import { applianceTimeZone } from "../../../src/web-pages/local-time.ts";
import { type ApplianceData, openApplianceDataOffline } from "../../../src/wiring/appliance-data.ts";
import { initAppliance } from "../../../src/wiring/init.ts";
import { readLocalEndpoint, storeLocalEndpoint, trackLocalEndpoint } from "../../../src/wiring/local-endpoint.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const ADMIN = { email: "admin@example.org", password: "correct horse battery" };

let data: ApplianceData;
/** The endpoint that `init` created, and one that arrived later. */
let first: string;
let second: string;
beforeEach(async () => {
  const dataDir = join(makeTempDir(), "data");
  const clock = createFakeClock();
  first = (await initAppliance(dataDir, ADMIN, clock)).endpointId;
  data = await openApplianceDataOffline(dataDir, clock, undefined, collectionTables(SITE_COLLECTIONS));
  const arrived = { extensionId: ONPREM_EXTENSION_ID, name: "North", config: { timeZone: "Asia/Tokyo" } };
  second = (await data.store.create(endpoints, arrived, data.access.systemContext("replication"))).id;
});
afterEach(() => data.close());

const forget = () => data.store.write((tx) => void tx.run("DELETE FROM store_meta WHERE name = 'endpoint'"));
const link = (endpoint: string) => {
  const runner = createSqliteProgramRunner(data.store, data.catalogue, data.access.systemContext("replication"));
  return runner.transact(() => initializeSyncState(endpoint, "types"));
};

describe("the endpoint of this appliance", () => {
  it("is the one that init created, whichever endpoints arrive", () => {
    expect(readLocalEndpoint(data.store)).toBe(first);
  });

  it("is the stored one, even if another one was created before it", async () => {
    await data.store.write((tx) => storeLocalEndpoint(tx, second));
    const local = trackLocalEndpoint(
      data.store,
      createEvents(() => undefined),
    );
    expect([readLocalEndpoint(data.store), local.id()]).toEqual([second, second]);
    local.stop();
  });

  it("comes from the link in data of an earlier release", async () => {
    await forget();
    await link(second);
    expect(readLocalEndpoint(data.store)).toBe(second);
  });

  it("is the only one, or the first, in data of an earlier release without a link", async () => {
    await forget();
    expect(readLocalEndpoint(data.store)).toBe(first);
    await link(second);
    await data.store.write((tx) => storeLocalEndpoint(tx, first));
    expect(readLocalEndpoint(data.store)).toBe(first);
  });

  it("decides the time zone", () => {
    expect(applianceTimeZone(data.store, second)).toBe("Asia/Tokyo");
    expect(applianceTimeZone(data.store, first)).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
  });
});
