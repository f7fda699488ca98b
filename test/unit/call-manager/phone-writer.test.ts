import { afterAll, beforeAll, expect, it } from "vitest";
import { clusterHooks } from "../../../src/call-manager/cluster-hooks.ts";
import type { GatheredPhone, ReadingSummary } from "../../../src/call-manager/cluster-types.ts";
import { createMissingPasswordCheck } from "../../../src/call-manager/missing-passwords.ts";
import { planPhones } from "../../../src/call-manager/phone-plan.ts";
import {
  applyPhonePlan,
  markOrphansDefunct,
  type PhoneWriterDeps,
  replayJournals,
} from "../../../src/call-manager/phone-writer.ts";
import callmgrClusters from "../../../src/resources/callmgr/callmgr-clusters.ts";
import callmgrOnpremServers from "../../../src/resources/callmgr/callmgr-onprem-servers.ts";
import type { Store } from "../../../src/store/store.ts";
import { type BroadcastFixture, openBroadcasts } from "../notifications/notification-fixture.ts";

const PHONES = 130;

let scene: BroadcastFixture;
let cluster: { id: string; name: string };
beforeAll(async () => {
  scene = await openBroadcasts();
  const access = {
    axlAddress: "publisher",
    axlUser: "axl",
    axlPassword: "secret",
    snmpVersion: "2",
    snmpCommunity: "c",
  };
  cluster = await scene.store.create(callmgrClusters, { name: "Campus", ...access }, scene.by);
});
afterAll(() => scene.close());

const needsOf = (store: Store): PhoneWriterDeps => {
  const { clock, by, endpointId } = scene;
  return { store, clock, by, signal: new AbortController().signal, endpointId: () => endpointId };
};

/** A reading of phones that are told to stand in `room`, without the one with the number `without`. */
function gathered(room: string, without: number): GatheredPhone[] {
  const phones = Array.from({ length: PHONES }, (_, at) => {
    const name = `SEP${String(at).padStart(12, "0")}`;
    const empty = { model: "", protocol: "", callingSearchSpace: "", location: "", owner: "", authenticationUrl: "" };
    const phone = { ...empty, uuid: "", name, description: room, product: "P", devicePool: room, lines: [] };
    return { phone, registration: null };
  });
  return phones.filter((_, at) => at !== without);
}

async function write(store: Store, found: readonly GatheredPhone[]): Promise<void> {
  const needs = needsOf(store);
  const reader = {
    take: async (_id: string, from: number, count: number) => found.slice(from, from + count),
    addresses: async () => [],
  };
  const summary = { kind: "full", changed: found.length, phones: found.length } as ReadingSummary;
  const plan = await planPhones({ ...needs, reader }, cluster, summary);
  await applyPhonePlan(needs, cluster.id, plan, () => undefined);
}

/** A store whose process ends with write number `last`. */
function endingStore(last: number): Store {
  let writes = 0;
  const write = ((...args: Parameters<Store["write"]>) =>
    ++writes > last ? Promise.reject(new Error("killed")) : scene.store.write(...args)) as Store["write"];
  return new Proxy(scene.store, { get: (store, name) => (name === "write" ? write : Reflect.get(store, name)) });
}

/** Where the phones stand, and how many of them are in use. */
function rooms(): { rooms: string[]; inUse: number } {
  const lines = scene.store.all<{ room: string; n: number }>(
    `SELECT description || ' ' || (attributes ->> 'CallManagerDevicePool') AS room, COUNT(*) AS n FROM devices
     WHERE type = 'phones' AND defunct IS NOT 1 GROUP BY 1`,
  );
  return { rooms: lines.map(({ room }) => room), inUse: lines.reduce((sum, { n }) => sum + n, 0) };
}

it("a password that did not come with the rows of a link is named in the health, until somebody enters it", async () => {
  const { store, by, endpointId } = scene;
  const served = { cucmClusterId: cluster.id, endpointId, cmAddress: "cm", cmUsername: "cti" };
  await store.write((tx) => void tx.create(callmgrOnpremServers, served, by, { isPhoneGatherer: true }));
  const faults = createMissingPasswordCheck(store, () => endpointId);
  expect(faults()).toEqual([]);
  const come = { op: "create", before: null, after: { snmpVersion: "2", snmpCommunity: null }, given: new Set() };
  const { beforeWrite } = clusterHooks({} as never);
  expect(() => beforeWrite?.(come as never, {} as never, by)).toThrow("snmpCommunity");
  expect(() => beforeWrite?.(come as never, {} as never, { ...by, replicated: true })).not.toThrow();
  await store.write((tx) => tx.run("UPDATE callmgr_clusters SET axl_password = NULL, snmp_community = NULL"));
  expect(faults().map(({ reason }) => reason)).toEqual([
    "Missing axlPassword, snmpCommunity of the call manager cluster Campus. Passwords are not replicated: enter it on this appliance.",
  ]);
  await store.write((tx) => tx.run("UPDATE callmgr_clusters SET axl_password = 'sealed', snmp_community = 'sealed'"));
  expect(faults()).toEqual([]);
});

it("leaves the phones as before or as they were found, wherever the process is killed", async () => {
  await write(scene.store, gathered("Room 0", 0));
  const seen = { before: 0, after: 0 };
  for (let last = 0; last < 14; last++) {
    const [before] = rooms().rooms;
    const room = `Room ${last + 1}`;
    await write(endingStore(last), gathered(room, last + 1)).catch(() => undefined);
    await replayJournals(needsOf(scene.store));
    const { rooms: now, inUse } = rooms();
    expect({ last, rooms: now, inUse }).toEqual({ last, rooms: [now[0]], inUse: PHONES - 1 });
    expect([before, `${room} ${room}`]).toContain(now[0]);
    seen[now[0] === before ? "before" : "after"] += 1;
  }
  expect(seen.before).toBeGreaterThan(1);
  expect(seen.after).toBeGreaterThan(1);
});

it("writes nothing where nothing is otherwise, and keeps nothing", async () => {
  await write(scene.store, gathered("Hall", 0));
  const [count] = scene.store.all<{ n: number }>("SELECT MAX(seq) AS n FROM changes");
  await write(endingStore(0), gathered("Hall", 0));
  expect(scene.store.all("SELECT MAX(seq) AS n FROM changes")).toEqual([count]);
  expect(scene.store.all("SELECT * FROM callmgr_phone_plan_journal")).toEqual([]);
});

it("ends the phones of a cluster that was deleted, also where the process was killed meanwhile", async () => {
  await scene.store.remove(callmgrClusters, cluster.id, scene.by);
  await markOrphansDefunct(needsOf(endingStore(4)), cluster.id).catch(() => undefined);
  await replayJournals(needsOf(scene.store));
  expect(rooms()).toEqual({ rooms: [], inUse: 0 });
});
