import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UNSHARED_GROUP_ID } from "../../../src/devices/activation-groups.ts";
import { compileStoredGroups, scanDevices } from "../../../src/devices/group-scan.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import activationGroups from "../../../src/resources/devices/activation-groups.ts";
import deviceGroups from "../../../src/resources/devices/device-groups.ts";
import devices from "../../../src/resources/devices/devices.ts";
import endpoints from "../../../src/resources/devices/endpoints.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import failoverPairs from "../../../src/resources/devices/failover-pairs.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { createDeviceGroupRegistry, type DeviceGroupRegistry } from "../../../src/wiring/device-group-registry.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody } from "../store/store-fixture.ts";

const fail = (error: unknown): never => {
  throw error;
};
const reachable = new Set<string>();
/** Groups for which this appliance acts. */
const acting = new Set<string>();
let store: Store;
let registry: DeviceGroupRegistry;
let place: { extensionId: string; endpointId: string };
let other: string;

beforeAll(async () => {
  const events = createEvents(fail);
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  store = openStore({ dataDir: makeTempDir(), catalogue, clock: systemClock, events, log: silentLog, onFatal: fail });
  const isReachable = (id: string): boolean => reachable.has(id);
  registry = createDeviceGroupRegistry({
    ...{ store, clock: systemClock, events, log: silentLog, isReachable },
    ownId: () => place.endpointId,
    shareOut(_id, group) {
      const holder = acting.has(group) ? place.endpointId : other;
      return { holder, equivalenceKey: holder };
    },
  });
  const extensionId = (await store.create(extensions, { name: "onprem" }, everybody)).id;
  place = { extensionId, endpointId: (await store.create(endpoints, { extensionId, name: "A" }, everybody)).id };
  other = (await store.create(endpoints, { extensionId, name: "B" }, everybody)).id;
  reachable.add(place.endpointId);
});
afterAll(async () => {
  registry.stop();
  await store.close();
});

/** The same sequence of numbers in 0..1 at every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
}

const filter = (attribute: string, value: string) => ({ attribute, comparison: "EQUALS", value, complement: false });

/** What a look at every device finds, without anything remembered. */
async function lookedUp(ids: readonly string[]): Promise<number[]> {
  const groups = compileStoredGroups(store, ids);
  const found: number[] = [];
  await scanDevices({ reader: store, clock: systemClock }, (device) => {
    if (groups.some((group) => group.contains(device))) found.push(device.pk);
  });
  return found;
}

describe("members of groups", () => {
  it("are what a look at every device finds, whatever was changed in between", async () => {
    const random = seeded(7);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const made: string[] = [];
    const groups: string[] = [];
    const attributes = (): object => ({ Floor: pick(["1", "2", "3"]), Wing: pick(["E", "W"]) });
    for (let step = 0; step < 120; step++) {
      const dice = random();
      if (dice < 0.35 || made.length < 5) {
        const identity = { deviceIdentifier: `SEP${step}`, type: pick(["phones", "speakers"]), description: "x" };
        const input = { ...place, ...identity, icopId: `SEP${step}`, attributes: attributes() };
        made.push((await store.create(devices, input, everybody)).id);
      } else if (dice < 0.6) {
        await store.update(devices, pick(made), { attributes: attributes(), defunct: random() < 0.2 }, everybody);
      } else if (dice < 0.7) {
        const gone = pick(made);
        made.splice(made.indexOf(gone), 1);
        await store.remove(devices, gone, everybody);
      } else if (dice < 0.8 || groups.length < 3) {
        const filters = [pick([filter("Floor", "1"), filter("Floor", "2"), filter("Wing", "E")])];
        const baseDeviceGroupIds = groups.length > 0 && random() < 0.5 ? [pick(groups)] : [];
        groups.push((await store.create(deviceGroups, { name: "g", filters, baseDeviceGroupIds }, everybody)).id);
      } else if (dice < 0.9) {
        const filters = [filter(pick(["Floor", "Wing"]), pick(["1", "2", "E"]))];
        await store.update(deviceGroups, pick(groups), { filters, exclusionIds: [`SEP${step - 5}`] }, everybody);
      } else {
        await registry.groupCounts.idle();
      }
      if (groups.length === 0) continue;
      const wanted = [pick(groups), pick(groups)];
      expect(await registry.memberships.members(wanted), `step ${step}`).toEqual(await lookedUp(wanted));
    }
    const [first = ""] = groups;
    const rows = store.find(devices, { defunct: false }).filter(({ type }) => type === "phones");
    const members = new Set(await registry.memberships.members([first]));
    const phones = rows.filter(({ pk }) => members.has(pk));
    expect(registry.groupCounts.of([first]).get(first)).toMatchObject({ numPhones: phones.length });
    const [one] = rows;
    const containing = await Promise.all(groups.map((id) => registry.memberships.members([id])));
    const expected = groups.filter((_, at) => containing[at]?.includes(one?.pk ?? 0));
    expect((await registry.memberships.groupsOf(one?.id ?? "")).sort()).toEqual(expected.sort());
  });
});

describe("activation groups", () => {
  it("give each device to the first reachable appliance of the one group that it is in", async () => {
    const device = async (name: string, attributes: object) => {
      const input = { ...place, deviceIdentifier: name, icopId: name, type: "phones", description: name, attributes };
      return store.create(devices, input, everybody);
    };
    const group = async (name: string, priority: number, endpointIds: readonly string[], more: object) =>
      (await store.create(activationGroups, { name, priority, endpointIds, ...more }, everybody)).id;
    const [red, blue, free] = [
      await device("red", { Colour: "red" }),
      await device("blue", { Colour: "blue" }),
      await device("free", {}),
    ];
    const all = [red.pk, blue.pk, free.pk];
    expect(await registry.activations.activatedElsewhere(all)).toEqual([]);
    const both = [place.endpointId, other];
    const first = await group("First", 1, [...both].reverse(), { filters: [filter("Colour", "red")] });
    const second = await group("Second", 2, [other], {
      filters: [filter("Colour", "red"), filter("Colour", "blue")],
    });
    expect(await registry.activations.groupsOf(red.id)).toEqual([first, second]);
    expect(await registry.activations.activatedElsewhere(all)).toEqual([[blue.pk, 0]]);
    expect(await registry.activations.activationOf(blue)).toMatchObject({
      activationGroupId: second,
      endpointId: null,
    });
    expect(await registry.activations.activationOf(red)).toMatchObject({
      ...{ activationGroupName: "First", endpointId: place.endpointId, endpointName: "A" },
      candidates: [
        { endpointName: "B", reachable: false },
        { endpointName: "A", reachable: true },
      ],
    });
    expect(await registry.activations.activationOf(free)).toMatchObject({
      activationGroupId: null,
      endpointId: place.endpointId,
    });
    reachable.add(other);
    const there = store.one<{ pk: number }>("SELECT pk FROM endpoints WHERE id = ?", other)?.pk;
    // What this appliance alone has, it takes to all that it may activate.
    expect(await registry.activations.activatedElsewhere(all)).toEqual([[blue.pk, there]]);
    const { shareDevices } = registry.activations;
    expect(await shareDevices(all, null)).toEqual({ elsewhere: [[blue.pk, there]], covered: [], left: [] });
    // What all have sounds here for those that no group describes; the others are acted for there.
    const split = [
      [red.pk, there],
      [blue.pk, there],
    ];
    expect(await shareDevices(all, "bell")).toEqual({ elsewhere: split, covered: [UNSHARED_GROUP_ID], left: [first] });
    expect(await registry.activations.devicesWithin(all, [first])).toEqual([red.pk]);
    expect(await registry.activations.devicesWithin(all, [UNSHARED_GROUP_ID])).toEqual([free.pk]);
    // Where all of it is another's turn, it is ready here as well.
    expect(await shareDevices([red.pk], "bell")).toEqual({ elsewhere: [], covered: [first], left: [] });
    acting.add(first);
    expect(await shareDevices(all, "bell")).toEqual({
      elsewhere: [[blue.pk, there]],
      covered: [first, UNSHARED_GROUP_ID],
      left: [],
    });
    const pairing = { primaryEndpointId: place.endpointId, backupEndpointId: other, name: "Both", timeout: 5 };
    const pair = (await store.create(failoverPairs, pairing, everybody)).id;
    acting.clear();
    expect(await shareDevices([free.pk], "bell")).toEqual({ elsewhere: [], covered: [pair], left: [] });
    await store.update(devices, red.id, { attributes: { Colour: "green" } }, everybody);
    expect(await registry.activations.activationOf(red)).toMatchObject({ activationGroupId: null });
    const counts = registry.activationCounts.of([first, second]);
    expect([counts.get(first)?.numPhones, counts.get(second)?.numPhones]).toEqual([0, 1]);
  });
});
