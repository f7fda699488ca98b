import { afterEach, expect, it } from "vitest";
import { LINK_TABLES } from "../../../src/app/linking.ts";
import { loadDeclarations, OWN_DECLARATIONS } from "../../../src/app/load-declarations.ts";
import { createEvents } from "../../../src/base/events.ts";
import { silentLog } from "../../../src/base/log.ts";
import { adoptRows, stepAside } from "../../../src/replication/link/ground.ts";
import { productTypes } from "../../../src/replication/link/product-types.ts";
import { linkState, prepareLink } from "../../../src/replication/site/link-state.ts";
import { EDITS } from "../../../src/replication/site/tables.ts";
import { createSqliteWork } from "../../../src/replication/sqlite-work.ts";
import { scan } from "../../../src/replication/work.ts";
import endpoints from "../../../src/resources/devices/endpoints.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import sites from "../../../src/resources/places/sites.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody } from "../store/store-fixture.ts";

const open: Store[] = [];
afterEach(() => Promise.all(open.splice(0).map((store) => store.close())));

const fail = (error: unknown): never => {
  throw error;
};

/** An appliance with a site of its own, whose link is about to begin. */
async function appliance() {
  const catalogue = createCatalogue(await loadDeclarations([OWN_DECLARATIONS]));
  const clock = createFakeClock(Date.now());
  const of = { catalogue, clock, events: createEvents(fail), log: silentLog, onFatal: fail, tables: LINK_TABLES };
  const store = openStore({ ...of, dataDir: makeTempDir() });
  open.push(store);
  const extensionId = (await store.create(extensions, { name: "onprem" }, everybody)).id;
  const { id } = await store.create(endpoints, { extensionId, name: "East" }, everybody);
  await store.create(sites, { name: "Annex" }, everybody);
  const types = productTypes(catalogue);
  const work = createSqliteWork(store, catalogue, everybody);
  const begin = (how: typeof stepAside): Promise<void> =>
    store.write((tx) => {
      work.within(tx, prepareLink(id, types.fingerprint));
      how(tx, new Set([extensionId]), { catalogue, types, work, now: clock.now() });
    });
  return {
    begin,
    sent: () => work.peek(() => scan(EDITS, { limit: 100 })).map(({ type }) => type),
    telling: () => work.peek(linkState).telling,
  };
}

it("an appliance that joins keeps its rows to itself, but for who it is, and tells its state", async () => {
  const { begin, sent, telling } = await appliance();
  await begin(stepAside);
  expect([sent(), telling()]).toEqual([["endpoints"], { type: "", after: null }]);
});

it("one that brings its rows sends them all, and tells its state", async () => {
  const { begin, sent, telling } = await appliance();
  await begin(adoptRows);
  expect([sent().sort(), telling()]).toEqual([["endpoints", "sites"], { type: "", after: null }]);
});
