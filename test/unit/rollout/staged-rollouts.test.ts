import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createEvents, type Events } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import applianceUpgradeTurns from "../../../src/resources/devices/appliance-upgrade-turns.ts";
import applianceUpgrades from "../../../src/resources/devices/appliance-upgrades.ts";
import endpointActivities from "../../../src/resources/devices/endpoint-activities.ts";
import endpoints from "../../../src/resources/devices/endpoints.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import { remainingWaves, waveSizeAt } from "../../../src/resources/devices/upgrade-waves.ts";
import { evaluateStep } from "../../../src/rollout/rollout-result.ts";
import { createStagedRollouts, type StagedRollouts } from "../../../src/rollout/staged-rollouts.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { PRESENCES } from "../../../src/sync/hub/presence-store.ts";
import { APPLIANCE_IDENTITIES } from "../../../src/sync/identity/enrolment-records.ts";
import { createSqliteProgramRunner } from "../../../src/sync/storage/sqlite-program-runner.ts";
import { putRecord } from "../../../src/sync/storage/transaction-program.ts";
import { SYNC_TABLES } from "../../../src/wiring/cloud-link.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody } from "../store/store-fixture.ts";

const fail = (error: unknown): never => {
  throw error;
};
/** Somebody to whom none of it belongs. */
const stranger = { ...everybody, scope: { ...everybody.scope, changeable: { visible: () => "none" as const } } };
const MINUTE = 60_000;
const SITES = 7;
const clock = createFakeClock();
let events: Events;
let store: Store;
let perform: ReturnType<typeof createSqliteProgramRunner>;
let own: string;
let sites: string[];
let connected: Set<string>;
let offered: { version: string; sha256: string; size: number } | null;
let waves: StagedRollouts;

beforeAll(async () => {
  events = createEvents(fail);
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const files = { dataDir: makeTempDir(), tables: SYNC_TABLES };
  store = openStore({ ...files, catalogue, clock, events, log: silentLog, onFatal: fail });
  perform = createSqliteProgramRunner(store, catalogue, everybody);
  await store.create(extensions, { name: "onprem" }, everybody, { id: ONPREM_EXTENSION_ID });
  own = (await store.create(endpoints, { extensionId: ONPREM_EXTENSION_ID, name: "Cloud" }, everybody)).id;
});
beforeEach(async () => {
  for (const { id } of store.find(applianceUpgrades, {})) await store.remove(applianceUpgrades, id, everybody);
  for (const { id } of store.find(endpoints, {})) if (id !== own) await store.remove(endpoints, id, everybody);
  connected = new Set();
  sites = [];
  for (let at = 1; at <= SITES; at++) {
    const row = { extensionId: ONPREM_EXTENSION_ID, name: `Site ${at}` };
    const { id } = await store.create(endpoints, row, everybody);
    sites.push(id);
    await perform.transact(() => putRecord(APPLIANCE_IDENTITIES, key(id)));
    await link(id, "0.1.0");
  }
  offered = { version: "0.2.0", sha256: "ab", size: 1 };
  begin();
});
afterAll(async () => {
  waves.stop();
  await store.close();
});

const key = (endpoint: string) => ({
  ...{ keyHash: endpoint, endpoint, publicKey: "", tokenHash: "" },
  ...{ until: clock.now() + 86_400_000, revokedAt: null },
});

/** A cloud that has just started. */
function begin(): void {
  waves?.stop();
  waves = createStagedRollouts({
    ...{ store, clock, events, by: everybody, onFault: fail },
    ...{ endpointId: () => own, connected: () => [...connected], offered: () => offered },
  });
  waves.start();
}

async function link(endpoint: string, version: string, health: "GREEN" | "RED" = "GREEN"): Promise<void> {
  connected.add(endpoint);
  const told = { health, reasons: ["No disk."], since: 0, unsent: 0, unsentSince: null };
  const now = clock.now();
  await perform.transact(() => putRecord(PRESENCES, { endpoint, version, since: now, heardAt: now, told }));
}

const turns = () => store.find(applianceUpgradeTurns, {});
const states = (): string =>
  turns()
    .map(({ state, wave }) => `${state[0]}${wave ?? ""}`)
    .join(" ");
const upgrade = () => store.find(applianceUpgrades, {})[0] ?? fail(new Error("there is none"));
const open = (): string[] => turns().flatMap(({ state, endpointId }) => (state === "ordered" ? [endpointId] : []));

/** Says what became of the order of an appliance. */
async function tell(endpoint: string, reason?: string): Promise<void> {
  const { activityId } = turns().find(({ endpointId }) => endpointId === endpoint) ?? {};
  const how = reason === undefined ? { state: "success" } : { state: "fail", value: { reason } };
  await store.update(endpointActivities, activityId ?? "", how, everybody);
}

/** What was woken goes on until it rests. */
async function rest(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await clock.advance(0);
}

/** These get the new version, and time passes until they have had it for long enough. */
async function arrive(ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await link(id, "0.2.0");
    await tell(id);
  }
  await clock.advance(70_000);
}

it("starts with one appliance and continues in growing waves once a wave is complete and stable", async () => {
  await waves.create({ waveSize: 2 }, null, everybody);
  await rest();
  expect(states()).toBe("o1 w w w w w w");
  const [first = ""] = open();
  const order = store.get(endpointActivities, turns()[0]?.activityId ?? "");
  expect(order).toMatchObject({
    ...{ type: "upgrade", state: "pending", endpointId: first },
    value: { ...offered, until: new Date(clock.now() + 60 * MINUTE).toISOString() },
  });
  await link(first, "0.2.0");
  await tell(first);
  await clock.advance(50_000);
  expect(states()).toBe("o1 w w w w w w");
  await clock.advance(20_000);
  expect(states()).toBe("d1 o2 o2 w w w w");
  await arrive(open());
  expect(states()).toBe("d1 d2 d2 o3 o3 o3 o3");
  await arrive(open().slice(0, 3));
  expect(states()).toBe("d1 d2 d2 d3 d3 d3 o3");
  await arrive(open());
  expect(upgrade()).toMatchObject({ state: "complete", wave: 3, version: "0.2.0", endedAt: expect.any(Number) });
  expect(turns().every(({ state, fromVersion }) => state === "done" && fromVersion === "0.1.0")).toBe(true);
});

it("stops at the first failure with its reason, and retries failed appliances on resume", async () => {
  const { id } = await waves.create({ firstWave: 2 }, sites.slice(0, 4), everybody);
  await rest();
  const [one = "", two = ""] = open();
  await tell(two, "0.2.0 did not become healthy: rolled back to 0.1.0.");
  await arrive([one]);
  expect(upgrade()).toMatchObject({
    state: "stopped",
    reason: "Site 2: 0.2.0 did not become healthy: rolled back to 0.1.0.",
  });
  expect(states()).toBe("d1 f1 w w");
  await expect(waves.resume(id, stranger)).rejects.toThrow("Permission denied");
  expect([upgrade().state, states()]).toEqual(["stopped", "d1 f1 w w"]);
  await waves.resume(id, everybody);
  await rest();
  expect([states(), upgrade().reason]).toEqual(["d1 o2 o2 o2", null]);
  await expect(waves.create({}, null, everybody)).rejects.toThrow("Another rollout is open");
});

it("fails appliances that are disconnected, unhealthy or slow at the deadline", async () => {
  await waves.create({ firstWave: 3, timeLimit: 10 }, sites.slice(0, 3), everybody);
  await rest();
  const [away = "", ill = ""] = open();
  connected.delete(away);
  await link(ill, "0.2.0", "RED");
  await tell(ill);
  await clock.advance(11 * MINUTE);
  expect(turns().map(({ reason }) => reason)).toEqual([
    "Not connected at the deadline.",
    "Runs 0.2.0 with health RED: No disk.",
    "Still ran 0.1.0 at the deadline.",
  ]);
  expect(upgrade().state).toBe("stopped");
});

it("pauses, resumes and cancels; ordered upgrades are followed to their end", async () => {
  const { id } = await waves.create({}, sites.slice(0, 3), everybody);
  await rest();
  await waves.pause(id, everybody);
  await arrive(open());
  expect([upgrade().state, states()]).toEqual(["paused", "d1 w w"]);
  await expect(waves.pause(id, everybody)).rejects.toThrow("A rollout that is paused");
  await waves.resume(id, everybody);
  await rest();
  expect(states()).toBe("d1 o2 o2");
  await waves.cancel(id, everybody);
  await arrive(open());
  expect([upgrade().state, states()]).toEqual(["cancelled", "d1 d2 d2"]);
  await expect(waves.resume(id, everybody)).rejects.toThrow("A rollout that is cancelled");
});

it("continues after a restart of the cloud, and gives appliances time to reconnect", async () => {
  await waves.create({ timeLimit: 5 }, sites.slice(0, 2), everybody);
  await rest();
  const [first = ""] = open();
  waves.stop();
  connected.clear();
  await clock.advance(60 * MINUTE);
  begin();
  await clock.advance(3 * MINUTE);
  expect(states()).toBe("o1 w");
  await arrive([first]);
  expect([upgrade().state, states()]).toEqual(["running", "d1 w"]);
});

it("upgrades connected appliances first, waits for others, and skips absent and upgraded ones", async () => {
  const [away = "", newer = "", third = ""] = sites;
  connected.delete(away);
  await link(newer, "0.2.1");
  await waves.create({ timeLimit: 10 }, [away, newer, third], everybody);
  await rest();
  expect(states()).toBe("w s o1");
  await arrive([third]);
  expect(upgrade().waitingSince).not.toBeNull();
  await clock.advance(11 * MINUTE);
  expect([upgrade().state, states()]).toEqual(["complete", "s s d1"]);
  expect(turns().map(({ reason }) => reason)).toEqual([
    "Not connected when its wave started.",
    "Already runs 0.2.1.",
    null,
  ]);
});

it("upgrades unhealthy appliances last", async () => {
  const [ill = "", fit = ""] = sites;
  await link(ill, "0.1.0", "RED");
  await waves.create({}, [ill, fit], everybody);
  await rest();
  expect(open()).toEqual([fit]);
});

it("is refused without an offer and for endpoints that are no appliance; another offer stops it", async () => {
  await expect(waves.create({}, [own], everybody)).rejects.toThrow("is not an appliance");
  await expect(waves.create({ growth: 0 }, null, everybody)).rejects.toThrow("growth");
  await waves.create({}, sites.slice(0, 2), everybody);
  await rest();
  offered = { version: "0.3.0", sha256: "cd", size: 1 };
  await arrive(open());
  expect(upgrade()).toMatchObject({ state: "stopped", reason: "The upgrade on offer is no longer 0.2.0." });
  await expect(waves.resume(upgrade().id, everybody)).rejects.toThrow("0.3.0 is on offer now");
  await waves.cancel(upgrade().id, everybody);
  offered = null;
  await expect(waves.create({}, null, everybody)).rejects.toThrow("No upgrade is on offer");
});

it("waits for the command's result, and accepts RED if the appliance was RED before", () => {
  const seen = { order: null, isLinked: true, version: "2", since: 0, health: null, healthBefore: null };
  const demand = { version: "2", steadyMs: 10, until: 100 };
  const done = { failed: false, reason: "" };
  const red = { status: "RED", reasons: [] };
  expect(evaluateStep(50, seen, demand)).toBeNull();
  expect(evaluateStep(50, { ...seen, order: done }, demand)).toMatchObject({ state: "done" });
  expect(evaluateStep(50, { ...seen, order: { failed: true, reason: "2 is not newer" } }, demand)?.state).toBe("done");
  expect(evaluateStep(50, { ...seen, order: done, health: red }, demand)).toBeNull();
  expect(evaluateStep(50, { ...seen, order: done, health: red, healthBefore: "RED" }, demand)?.state).toBe("done");
  expect(evaluateStep(100, { ...seen, since: 95, order: done }, demand)?.reason).toContain(
    "not continuously connected",
  );
  const sizes = { firstWave: 1, waveSize: 5, growth: 2 };
  expect([waveSizeAt(sizes, 1), waveSizeAt(sizes, 4), remainingWaves(sizes, 1, 30, 9)]).toEqual([1, 20, [5, 10, 15]]);
});
