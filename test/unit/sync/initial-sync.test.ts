import { afterEach, expect, it } from "vitest";
import { createEvents } from "../../../src/lib/events.ts";
import { newId } from "../../../src/lib/ids.ts";
import { silentLog } from "../../../src/lib/log.ts";
import ringLists from "../../../src/resources/bells/ring-lists.ts";
import endpoints from "../../../src/resources/devices/endpoints.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import distributionLists from "../../../src/resources/lists/distribution-lists.ts";
import subscriptions from "../../../src/resources/people/subscriptions.ts";
import users from "../../../src/resources/people/users.ts";
import sites from "../../../src/resources/places/sites.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { createInitialSync, type InitialSync } from "../../../src/sync/initial-sync/initial-sync.ts";
import type { EnrolMode, OrganisationBaseline } from "../../../src/sync/initial-sync/organisation-baseline.ts";
import { productReplicatedTypes } from "../../../src/sync/protocol/product-replicated-types.ts";
import { initializeSyncState, readSyncState } from "../../../src/sync/site/sync-state.ts";
import { LOCAL_EDITS } from "../../../src/sync/site/tables.ts";
import { createSqliteProgramRunner } from "../../../src/sync/storage/sqlite-program-runner.ts";
import { scanRecords } from "../../../src/sync/storage/transaction-program.ts";
import { SYNC_TABLES } from "../../../src/wiring/cloud-link.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
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
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const clock = createFakeClock(Date.now());
  const of = { catalogue, clock, events: createEvents(fail), log: silentLog, onFatal: fail, tables: SYNC_TABLES };
  const store = openStore({ ...of, dataDir: makeTempDir() });
  open.push(store);
  const extensionId = (await store.create(extensions, { name: "onprem" }, everybody)).id;
  const { id } = await store.create(endpoints, { extensionId, name: "East" }, everybody);
  const { id: siteId } = await store.create(sites, { name: "Annex" }, everybody);
  await store.update(endpoints, id, { siteId }, everybody);
  const types = productReplicatedTypes(catalogue);
  const work = createSqliteProgramRunner(store, catalogue, everybody);
  let asked = 0;
  // Each look at the clock takes a millisecond.
  const slow = { ...clock, monotonicMs: () => ++asked };
  const make = (): InitialSync => createInitialSync({ store, catalogue, clock: slow, types, runner: work });
  return {
    store,
    make,
    keep: (grounding: InitialSync, mode: EnrolMode, more: Partial<OrganisationBaseline> = {}) =>
      grounding.schedule(
        { ...GROUND, shared: [extensionId], ...more },
        mode,
        (tx) => void work.runWithin(tx, initializeSyncState(id, types.fingerprint)),
      ),
    edits: () =>
      work
        .readSync(() => scanRecords(LOCAL_EDITS, { limit: 5_000 }))
        .sort((one, other) => one.sequence - other.sequence),
    stateResend: () => work.readSync(readSyncState).stateResend,
  };
}

const GROUND: OrganisationBaseline = { only: {}, shared: [], people: [], administrators: [] };

it("keeps the rows of a joining appliance local, except its endpoint, and sends its state", async () => {
  const { store, make, keep, edits, stateResend } = await appliance();
  const grounding = make();
  // One stood aside before, for an organisation that the appliance has left.
  for (const name of ["Monday", "monday (site)"]) await store.create(ringLists, { name }, everybody);
  await keep(grounding, "join");
  expect([await grounding.run(), grounding.isPending()]).toEqual([true, false]);
  expect(store.find(ringLists, {}).map(({ name }) => name)).toEqual(["Monday 2 (site)", "monday (site)"]);
  expect([edits().map(({ type }) => type), stateResend()]).toEqual([["endpoints"], { type: "", after: null }]);
  // The organisation does not have its site, and would refuse all of the row.
  expect(edits()[0]?.edit).toMatchObject({
    op: "create",
    set: expect.not.objectContaining({ siteId: expect.anything() }),
  });
  expect(store.find(sites, {}).map(({ name }) => name)).toEqual(["Annex (site)"]);
});

it("sends all rows and the state of an adopting appliance", async () => {
  const { make, keep, edits, stateResend } = await appliance();
  const grounding = make();
  await keep(grounding, "adopt");
  await grounding.run();
  expect([
    edits()
      .map(({ type }) => type)
      .sort(),
    stateResend(),
  ]).toEqual([["endpoints", "sites"], { type: "", after: null }]);
});

it("merges people that the organisation has, without sending them", async () => {
  const { store, make, keep, edits } = await appliance();
  const { id } = await store.create(users, { name: "Ann", email: "ann@example.org" }, everybody);
  const theirs = newId();
  const grounding = make();
  await keep(grounding, "adopt", { people: [[theirs, "Ann@example.org"]] });
  await grounding.run();
  expect([store.get(users, id), store.get(users, theirs)?.name]).toEqual([null, "Ann"]);
  expect(edits().filter(({ type }) => type === "users")).toEqual([]);
});

it("sends all rows once, referenced rows first, across restarts and concurrent writes", async () => {
  const { store, make, keep, edits } = await appliance();
  const people = await Promise.all(
    Array.from({ length: 60 }, (_, at) => store.create(users, { name: `Person ${at}` }, everybody)),
  );
  const list = await store.create(distributionLists, { name: "Staff" }, everybody);
  for (const { id: userId } of people.slice(0, 30))
    await store.create(subscriptions, { userId, distributionListId: list.id }, everybody);
  await keep(make(), "adopt");
  let runs = 0;
  for (let grounding = make(); grounding.isPending(); grounding = make()) {
    const run = grounding.run();
    grounding.stop();
    await run;
    runs += 1;
    if (runs !== 2) continue;
    // Nobody of them was gone through, all of them were, or some.
    const late = await store.create(users, { name: "Late" }, everybody);
    await store.create(subscriptions, { userId: late.id, distributionListId: list.id }, everybody);
    await store.update(users, people[0]?.id ?? "", { name: "Changed" }, everybody);
    await store.remove(users, people[59]?.id ?? "", everybody);
  }
  expect(runs).toBeGreaterThan(3);
  const there = new Map<string, unknown>();
  for (const { type, id, edit } of edits()) {
    if (edit.op === "create") expect([type, id, there.has(id)]).toEqual([type, id, false]);
    for (const of of ["userId", "distributionListId"]) {
      const other = edit.set[of];
      if (typeof other === "string") expect([type, of, there.has(other)]).toEqual([type, of, true]);
    }
    if (edit.op === "delete") there.delete(id);
    else there.set(id, { ...(there.get(id) as object | undefined), ...edit.set });
  }
  const names = [...there.values()].map((row) => (row as { name?: string }).name);
  expect(names).toEqual(expect.arrayContaining(["Late", "Changed", "Person 58"]));
  expect([names.includes("Person 59"), names.includes("Person 0")]).toEqual([false, false]);
  expect(there.size).toBe(1 + 1 + 60 + 1 + 31);
});
