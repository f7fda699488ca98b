import { afterAll, beforeAll, expect, it } from "vitest";
import type { GatheredPhone, ReadingKind, ReadingSummary } from "../../../src/call-manager/cluster-types.ts";
import { updatePhoneCache } from "../../../src/call-manager/phone-cache-update.ts";
import { newId } from "../../../src/lib/ids.ts";
import callmgrClusters from "../../../src/resources/callmgr/callmgr-clusters.ts";
import endpointActivities from "../../../src/resources/devices/endpoint-activities.ts";
import { ENDPOINT_ACTIVITY_TYPES } from "../../../src/resources/devices/endpoint-activity-types.ts";
import callAwareCallRedirects from "../../../src/resources/inputs/call-aware-call-redirects.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { REMOTE_COMMAND_TYPES } from "../../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import { recordLocalWrite } from "../../../src/sync/site/local-writes.ts";
import type { RowBody } from "../../../src/sync/storage/transaction-program.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { type LinkedPair, linkedPair } from "../../support/linked-pair.ts";
import { type InputsFixture, openInputs } from "../inputs/inputs-fixture.ts";

/** Rows of the cloud that go through each family: they come, are changed, and go. */
const FROM_CLOUD = [
  ...["message-templates", "distribution-lists", "scheduled-notifications", "activation-groups"],
  ...["callmgr-clusters", "users", "brandings"],
];

let pair: LinkedPair;
let room: InputsFixture;
let types: ReturnType<typeof readReplicatedTypes>;
/** Rows of the cloud that came to the appliance, and its own that arrived there. */
let [came, arrived] = [0, 0];
/** What activities say of them by then. */
let sums: { rows: number; sent: number };
/** What the appliance told, by type. */
const told = new Map<string, RowBody[]>();

function note(rows: readonly RowBody[]): void {
  for (const row of rows) told.set(String(row.type), [...(told.get(String(row.type)) ?? []), row]);
}

beforeAll(async () => {
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  types = readReplicatedTypes(catalogue);
  pair = await linkedPair(catalogue, (command, on) => {
    on.ended(command.body.fails ? "failed" : "done");
    return () => undefined;
  });
  room = await openInputs();
  await theCloudChangesRows();
  await theApplianceSendsRows();
  await theCloudGivesCommands();
  note(pair.activities());
  await clustersAreRead();
  await aCallIsFollowed();
  note(room.store.find(endpointActivities, {}) as unknown as RowBody[]);
});
afterAll(async () => {
  pair.stop();
  await room.close();
});

async function theCloudChangesRows(): Promise<void> {
  const publish = async (type: string, id: string, body: RowBody | null): Promise<void> => {
    await pair.hub.publish([{ type, id, body, scope: null, at: 0 }]);
    await pair.settle();
    came += 1;
  };
  for (const type of FROM_CLOUD) {
    const id = newId();
    await publish(type, id, { id, name: type });
    await publish(type, id, { id, name: `${type} again` });
    await publish(type, id, null);
  }
  // What refers to something that never comes is passed over.
  for (const [type, field] of [
    ["message-templates", "confirmationRequestId"],
    ["scheduled-notifications", "messageTemplateId"],
  ] as const) {
    const id = newId();
    const rows = [["p", type, id, came + 1, { id, name: "Astray", [field]: newId() }]];
    const mark = { decided: 0, results: [] };
    pair.toSite({ t: "rows", feed: "down.bulk", from: came, to: came + 1, rows, mark });
    await pair.settle();
    came += 1;
  }
}

async function theApplianceSendsRows(): Promise<void> {
  const rows = [
    ["devices", { type: "phones" }],
    ["devices", { type: "speakers" }],
    ["notifications", { subject: "Drill" }],
  ] as const;
  for (const [type, body] of rows) {
    const id = newId();
    const write = { type, id, before: null, after: { id, ...body }, actor: "test", at: 0, newId };
    pair.siteStore.perform(() => recordLocalWrite(write, types));
    arrived += 1;
  }
  pair.site.wake();
  await pair.settle();
  const sum = (what: "rows" | "sent"): number =>
    pair.activities().reduce((all, { value }) => all + Number((value as RowBody)[what] ?? 0), 0);
  sums = { rows: sum("rows"), sent: sum("sent") };
}

async function theCloudGivesCommands(): Promise<void> {
  for (const kind of REMOTE_COMMAND_TYPES) {
    await pair.command({ cid: newId(), kind });
    if (pair.closed() !== null) await pair.connect();
  }
  for (const body of [{}, { fails: true }])
    await pair.command({ cid: newId(), kind: "broadcast", class: "routine", body });
}

/** A cluster with one phone is read three times; in between its phones get another authentication address. */
async function clustersAreRead(): Promise<void> {
  const cluster = await room.create(callmgrClusters, {
    ...{
      name: "Campus",
      axlAddress: "publisher",
      axlUser: "axl",
      axlPassword: "x",
      snmpVersion: "2",
      snmpCommunity: "c",
    },
  });
  const kinds: readonly ReadingKind[] = ["full", "delta", "partial"];
  for (const [at, kind] of kinds.entries()) {
    await room.clock.advance(60_000);
    const empty = { model: "", protocol: "", callingSearchSpace: "", location: "", owner: "", uuid: "", lines: [] };
    const phone = { ...empty, name: "SEP0A", description: `Room ${at}`, product: "P", devicePool: "D" };
    const registration = {
      name: "SEP0A",
      registered: true,
      address: "10.0.0.1",
      at: at === 2 ? room.clock.now() : 1,
      node: "n",
    };
    const found: GatheredPhone[] = [
      { phone: { ...phone, authenticationUrl: `http://host/${Math.min(at, 1)}` }, registration },
    ];
    const summary = {
      ...{ kind, phones: 1, registered: 1, changed: 1, gone: [], nodes: [], version: "14", requests: 1, rows: 1 },
      ...{ registrationSource: "snmp", warnings: [], tookMs: 1 },
    } as ReadingSummary;
    const reader = {
      read: async () => summary,
      take: async () => found,
      addresses: async () => ["10.0.0.1"],
      forget: async () => undefined,
    };
    const { store, clock, by, needs, endpointId } = room;
    const run = { store, clock, by, log: needs.log, endpointId: () => endpointId, reader: reader as never };
    await updatePhoneCache(run, cluster, kind, { signal: new AbortController().signal, onWriting: () => undefined });
  }
}

async function aCallIsFollowed(): Promise<void> {
  const messageTemplateId = await room.template("A call");
  await room.create(callAwareCallRedirects, { name: "Emergency", messageTemplateId, numberPattern: "911" });
  await room.call("ringing", "911", { callingNumber: "2214", via: "redirect" });
  await room.call("ended", "911", { via: "redirect" });
  await room.call("ringing", "911", { callId: "c2", via: "redirect" });
  await room.clock.advance(5 * 3_600_000);
  await room.turns();
}

it("writes every type of activity, and none that is not in the list", () => {
  expect([...told.keys()].sort()).toEqual([...ENDPOINT_ACTIVITY_TYPES].sort());
});

it("accounts in activities for all received and sent rows", () => {
  expect(sums).toMatchObject({ rows: came, sent: arrived });
});

it("reports phones with another authentication URL as reset pending until they register again", () => {
  expect(told.get("phone-auth-url-update")).toMatchObject([
    { state: "success", value: { count: 1, phones: ["SEP0A"] } },
  ]);
  expect(told.get("phone-reset-pending")).toMatchObject([{ state: "success", value: { count: 1, phones: [] } }]);
});

it("records caller, callee, time and rules of a call once it is over or its end is not reported", () => {
  const about = { calledNumber: "911", rules: [{ name: "Emergency" }] };
  expect(told.get("callaware-recording")).toMatchObject([
    { state: "success", value: { ...about, callingNumber: "2214" } },
    { state: "fail", value: { ...about, reason: "The end of the call was not reported." } },
  ]);
});
