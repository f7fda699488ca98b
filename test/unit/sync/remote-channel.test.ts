import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Activations } from "../../../src/devices/activation-groups.ts";
import { newId } from "../../../src/lib/ids.ts";
import {
  APPLIANCES_PROVIDER,
  type DeliveryOutcome,
  type DeliveryProviders,
} from "../../../src/notifications/engine/delivery-providers.ts";
import type { DeliveryItem } from "../../../src/plugin-api/index.ts";
import activationGroups from "../../../src/resources/devices/activation-groups.ts";
import devices from "../../../src/resources/devices/devices.ts";
import endpoints from "../../../src/resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import { createHubSync, type HubSync } from "../../../src/sync/hub/hub-sync.ts";
import { nextCommands } from "../../../src/sync/hub/issued-commands.ts";
import { ISSUED_COMMANDS, type IssuedCommand } from "../../../src/sync/hub/tables.ts";
import { SYNC_LIMITS } from "../../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import { createRemoteChannel, type RemoteChannel } from "../../../src/sync/remote-delivery/remote-channel.ts";
import { putRecord, type RowBody, scanRecords } from "../../../src/sync/storage/transaction-program.ts";
import { createMemoryBlobStore } from "../../sim/memory-blob-store.ts";
import { createMemoryStore, type MemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { waitForAssertions } from "../../support/timeouts.ts";
import { type BroadcastFixture, openBroadcasts } from "../notifications/notification-fixture.ts";

const fail = (error: unknown): never => {
  throw error;
};

let fixture: BroadcastFixture;
let hub: HubSync;
let cloud: MemoryStore;
let carrier: RemoteChannel;
let [first, second, device] = ["", "", ""];
let linked: Set<string>;
let outcomes: DeliveryOutcome[];
let recorded: (readonly [what: string, endpoint: string])[];

beforeAll(async () => {
  fixture = await openBroadcasts({}, undefined, true);
  const { create, states } = fixture;
  states.set(APPLIANCES_PROVIDER, "running");
  const extensionId = ONPREM_EXTENSION_ID;
  first = (await create(endpoints, { extensionId, name: "First" })).id;
  second = (await create(endpoints, { extensionId, name: "Second" })).id;
  const zone = { type: "speakers", deviceIdentifier: "zone:hall", description: "Hall" };
  device = (await create(devices, { ...zone, extensionId, endpointId: first })).id;
  const members = { filterType: "REJECT", additionIds: ["zone:hall"] };
  await create(activationGroups, { name: "Hall", priority: 1, endpointIds: [first, second], ...members });
});
beforeEach(async () => {
  const { clock, store, needs } = fixture;
  cloud = createMemoryStore(CATALOGUE);
  const types = readReplicatedTypes(CATALOGUE);
  hub = createHubSync({
    ...{
      clock,
      types,
      limits: SYNC_LIMITS,
      newId,
      onFault: fail,
      onProtocolViolation: fail,
      blobs: createMemoryBlobStore(),
    },
    store: { transact: async (work) => cloud.perform(work), read: async (work) => cloud.perform(work) },
  });
  await hub.start();
  linked = new Set();
  outcomes = [];
  recorded = [];
  carrier = createRemoteChannel({
    ...{ store, clock, types, hub, onFault: fail },
    runner: { readSync: (work) => cloud.perform(work) },
    isLinked: (id) => linked.has(id),
    record: (endpoint, what) => void recorded.push([what, endpoint]),
  });
  carrier.start({
    candidates: (needs.activations as Activations).candidateEndpoints,
    handleOutcomes: (all) => void outcomes.push(...all),
  });
});
afterEach(() => hub.stop());
afterAll(() => fixture.close());

const issued = (): IssuedCommand[] => cloud.perform(() => scanRecords(ISSUED_COMMANDS));
const at = (endpoint: string): IssuedCommand | undefined => issued().find((each) => each.endpoint === endpoint);
/** Sends a message to the zone and hands its delivery to the channel; gives the command's id. */
async function send(isUrgent: boolean): Promise<string> {
  const { clock, store, run } = fixture;
  const { id } = await fixture.send({ subject: "Out", additionalDeviceIds: [device] });
  const { id: notificationId } = await run(id);
  const [row] = store.all<{ pk: number }>("SELECT max(pk) AS pk FROM deliveries");
  const of = isUrgent ? ({ class: "emergency", priority: 0 } as const) : ({ class: "routine", priority: 5 } as const);
  await store.write((tx) => tx.run("UPDATE notifications SET priority_level = ? WHERE id = ?", of.priority, id));
  const item = { ...of, deliveryId: row?.pk, notificationId, device: { id: device }, attempt: 1 };
  const notAfter = clock.now() + 120_000;
  const others = {} as DeliveryProviders;
  carrier.extendProviders(others).deliver(APPLIANCES_PROVIDER, [{ ...item, notAfter } as unknown as DeliveryItem]);
  await clock.advance(0);
  await waitForAssertions(() => expect(issued().length).toBeGreaterThan(0));
  return issued()[0]?.cid as string;
}

/** The appliance gets what there is for it. */
const fetched = (endpoint: string): string[] => {
  const now = fixture.clock.now();
  const { frames } = cloud.perform(() => nextCommands(endpoint, { after: 0, inc: 1, cmdHw: 0, now }));
  return frames.map(({ command }) => command.kind);
};
const said = (outcome: string, more: RowBody = {}): RowBody => ({ outcome, ...more });
const toldIn = (): string[] => outcomes.map(({ level, isLast }) => `${level}${isLast ? "." : ""}`);
const holder = (): unknown =>
  fixture.store
    .all("SELECT e.id FROM deliveries l JOIN endpoints e ON e.pk = l.endpoint_pk ORDER BY l.pk DESC LIMIT 1")
    .map(({ id }) => id);

describe("remote channel with several candidate appliances", () => {
  it("reassigns at once when the first appliance is not connected, which never gets the command", async () => {
    linked.add(second);
    const cid = await send(false);
    await fixture.clock.advance(0);
    await waitForAssertions(() => expect(at(second)).toMatchObject({ cid, command: { rank: 0 } }));
    expect(at(second)?.command.body).toMatchObject({ devices: [[device, expect.any(Number), "zone:hall"]] });
    expect([at(first)?.outcome, fetched(first), fetched(second)]).toEqual(["skipped", [], ["broadcast"]]);
    await waitForAssertions(() => expect([holder(), recorded]).toEqual([[second], [["takeover", second]]]));
    const number = at(second)?.command.body as unknown as { devices: [string, number][] };
    for (const outcome of ["taken", "started"]) carrier.handleReport(second, cid, said(outcome));
    carrier.handleReport(second, cid, said("done", { levels: [["sent", null, [number.devices[0]?.[1] as number]]] }));
    expect(toldIn()).toEqual(["sent", "sent."]);
  });

  it("keeps the first appliance that confirms in time, and reassigns when it does not start", async () => {
    for (const id of [first, second]) linked.add(id);
    const cid = await send(true);
    fetched(first);
    await fixture.clock.advance(2_900);
    carrier.handleReport(first, cid, said("taken"));
    await fixture.clock.advance(14_900);
    expect(at(second)).toBeUndefined();
    await fixture.clock.advance(200);
    await waitForAssertions(() => expect(at(second)).toMatchObject({ cid, command: { rank: 1 } }));
  });

  it("returns to the first appliance when it starts late but before the next one, whose reports are ignored", async () => {
    for (const id of [first, second]) linked.add(id);
    const cid = await send(true);
    expect(fetched(first)).toEqual(["broadcast"]);
    await fixture.clock.advance(3_000);
    await waitForAssertions(() => expect(holder()).toEqual([second]));
    await waitForAssertions(() => expect(recorded).toEqual([["takeover", second]]));
    carrier.handleReport(first, cid, said("started"));
    await waitForAssertions(() => expect(holder()).toEqual([first]));
    carrier.handleReport(second, cid, said("skipped"));
    expect([toldIn(), recorded.length]).toEqual([["sent"], 1]);
  });

  it("counts a notification that both start once, records it as doubled, and cancels a routine one at the first", async () => {
    for (const id of [first, second]) linked.add(id);
    const cid = await send(false);
    fetched(first);
    await fixture.clock.advance(10_000);
    await waitForAssertions(() => expect(recorded).toEqual([["takeover", second]]));
    expect(issued().map(({ endpoint, command }) => [endpoint, command.kind])).toEqual(
      expect.arrayContaining([[first, "cancel"]]),
    );
    carrier.handleReport(second, cid, said("started"));
    carrier.handleReport(first, cid, said("started"));
    expect([toldIn(), recorded]).toEqual([
      ["sent"],
      [
        ["takeover", second],
        ["doubled", first],
      ],
    ]);
  });

  it("does not send a completed notification to an appliance that reconnects", async () => {
    for (const id of [first, second]) linked.add(id);
    const cid = await send(true);
    fetched(first);
    await fixture.clock.advance(3_000);
    await waitForAssertions(() => expect(at(second)).toBeDefined());
    cloud.perform(function* () {
      for (const each of yield* scanRecords(ISSUED_COMMANDS, { by: "cid", where: [cid] })) {
        const done = { ...each, open: 0, outcome: "done", saidBy: "site" } as const;
        if (each.endpoint === second) yield* putRecord(ISSUED_COMMANDS, done);
      }
    });
    expect([fetched(first), at(first)?.outcome]).toEqual([[], "skipped"]);
  });

  it("reports a failure with its reason when no candidate is left", async () => {
    linked.add(second);
    const cid = await send(false);
    await fixture.clock.advance(0);
    await waitForAssertions(() => expect(recorded.length).toBe(1));
    carrier.handleReport(second, cid, said("failed"));
    expect([toldIn(), outcomes[0]?.details.reason]).toEqual([
      ["failed."],
      "The appliance failed to play the notification.",
    ]);
  });
});
