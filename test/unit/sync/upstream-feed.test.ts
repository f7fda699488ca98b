import { beforeEach, expect, it } from "vitest";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { json, ref, text } from "../../../src/schema/field.ts";
import { defineResource } from "../../../src/schema/resource.ts";
import { setSiteScopes } from "../../../src/sync/hub/handshake.ts";
import { initializeFeed, publishRows } from "../../../src/sync/hub/publish.ts";
import { ADOPTIONS, DECIDED_EDITS } from "../../../src/sync/hub/tables.ts";
import { applyUpstreamPage } from "../../../src/sync/hub/upstream-feed.ts";
import type { RowEdit } from "../../../src/sync/protocol/field-merge.ts";
import type { UpstreamRow } from "../../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import { applyRow, getRecord, putRecord, type RowBody } from "../../../src/sync/storage/transaction-program.ts";
import { createMemoryStore, type MemoryStore } from "../../sim/memory-store.ts";

const resource = (name: string, replicate: "A" | "C" | "D", fields: readonly string[]) =>
  defineResource({
    ...{ name, replicate, doc: "Rows.", paths: [{ at: name }], idParam: "rowId", scope: "organisation" },
    fields: {
      lock: json("Any.", { maxBytes: 100 }),
      ...Object.fromEntries(fields.map((field) => [field, text("Any.")])),
    },
  });
const CATALOGUE = createCatalogue([
  resource("users", "A", ["name", "source", "passwordHash"]),
  resource("security-group-members", "A", ["userId"]),
  defineResource({
    ...{ name: "user-permissions", replicate: "A", doc: "Rows.", paths: [{ at: "user-permissions" }] },
    ...{ idParam: "rowId", scope: "organisation" },
    fields: { userId: ref("Whose it is.", "users", { required: true, onDelete: "cascade" }) },
  }),
  resource("devices", "C", ["endpointId"]),
  resource("notifications", "D", ["initiatingEndpointId"]),
  resource("endpoint-activities", "D", ["endpointId", "state"]),
]);
const TYPES = readReplicatedTypes(CATALOGUE);

let cloud: MemoryStore;
let at: { hot: number; bulk: number };
beforeEach(() => {
  cloud = createMemoryStore(CATALOGUE);
  at = { hot: 0, bulk: 0 };
  cloud.perform(() => initializeFeed("first"));
  cloud.perform(() => setSiteScopes("own", null));
});

function tell(lane: "hot" | "bulk", type: string, id: string, body?: RowBody): void {
  const from = at[lane]++;
  const row = [body ? "p" : "d", type, id, from + 1, `${lane}${from}`, body] as unknown as UpstreamRow;
  const page = { t: "rows", feed: `up.${lane}`, from, to: from + 1, tail: "t", rows: [row] } as const;
  cloud.perform(() => applyUpstreamPage(page, { endpoint: "own", sess: 1 }, TYPES, 1_000));
}

function edit(type: string, id: string, made: Partial<RowEdit>, beside: RowBody = {}): string | undefined {
  const whole = { op: "update", set: {}, add: {}, remove: {}, was: {}, ...made };
  tell("hot", "edit", "e", { type, id, edit: whole, actor: "x", at: 1, wins: true, ...beside });
  return cloud.perform(() => getRecord(DECIDED_EDITS, "own", 0, at.hot))?.result;
}

const make = (type: string, id: string, body: RowBody): void =>
  void cloud.perform(() => publishRows([{ type, id, body: { id, ...body }, scope: null, at: 0 }], TYPES));

it("accepts only site-editable changes of users and users of its importers in class A", () => {
  make("users", "boss", { name: "Boss", source: "manual" });
  expect(edit("users", "boss", { set: { lock: { start: 1 } } })).toBe("merged");
  expect(edit("users", "boss", { set: { passwordHash: "x" }, was: { passwordHash: "other" } })).toBe("merged");
  expect(edit("users", "boss", { set: { name: "Me" } })).toBe("refused");
  expect(edit("users", "boss", { op: "delete" })).toBe("refused");
  expect(edit("users", "new", { op: "create", set: { name: "New", source: "manual" } })).toBe("refused");
  expect(edit("users", "led", { op: "create", set: { name: "Led", source: "user-loader" } })).toBe("merged");
  expect(edit("users", "led", { set: { name: "Lead" } })).toBe("merged");
  expect(edit("security-group-members", "m", { op: "create", set: { userId: "led" } })).toBe("refused");
  expect(cloud.rows.get("users/boss")).toMatchObject({ name: "Boss", lock: { start: 1 }, passwordHash: "x" });
});

it("refuses a malformed edit and continues", () => {
  make("users", "boss", { name: "Boss" });
  expect(edit("users", "boss", {}, { edit: null })).toBe("refused");
  expect(edit("users", "boss", { set: { id: "other", lock: null } })).toBe("refused");
  expect(edit("users", "boss", { add: { lock: ["x"] } })).toBe("refused");
  expect(edit("users", "boss", { set: { lock: null } })).toBe("merged");
});

it("accepts everything that the organisation's first appliance adopts, up to its end", () => {
  cloud.perform(() => putRecord(ADOPTIONS, { endpoint: "own", upTo: 2 }));
  expect(edit("security-group-members", "m1", { op: "create", set: { userId: "u" } })).toBe("merged");
  expect(edit("security-group-members", "m2", { op: "create", set: { userId: "u" } })).toBe("merged");
  expect(cloud.perform(() => getRecord(ADOPTIONS, "own"))).toBeNull();
  expect(edit("security-group-members", "m3", { op: "create", set: { userId: "u" } })).toBe("refused");
});

it("accepts a refused row of the adoption again, once the cause is mended, and no other", () => {
  cloud.perform(() => putRecord(ADOPTIONS, { endpoint: "own", upTo: 1 }));
  make("users", "boss", { name: "Boss" });
  cloud.perform(() => publishRows([{ type: "users", id: "boss", body: null, scope: null, at: 0 }], TYPES));
  const bring = (id: string) => edit("user-permissions", id, { op: "create", set: { id, userId: "boss" } });
  expect(bring("p1")).toBe("refused");
  expect(bring("p2")).toBe("refused");
  make("users", "boss", { name: "Boss" });
  expect(bring("p2")).toBe("refused");
  expect(bring("p1")).toBe("merged");
  cloud.perform(() => publishRows([{ type: "user-permissions", id: "p1", body: null, scope: null, at: 0 }], TYPES));
  expect(bring("p1")).toBe("refused");
});

it("accepts only rows about the reporting appliance", () => {
  cloud.perform(() => applyRow("notifications", "theirs", { initiatingEndpointId: "cloud" }));
  cloud.perform(() => applyRow("endpoint-activities", "order", { endpointId: "own", state: "pending" }));
  tell("bulk", "notifications", "theirs");
  tell("bulk", "endpoint-activities", "order", { endpointId: "own", state: "success" });
  tell("bulk", "endpoint-activities", "forged", { endpointId: "other", state: "pending" });
  tell("bulk", "devices", "device", { endpointId: "own" });
  expect([...cloud.rows.keys()].sort()).toEqual([
    "devices/device",
    "endpoint-activities/order",
    "notifications/theirs",
  ]);
  expect(cloud.rows.get("endpoint-activities/order")).toMatchObject({ state: "success" });
});
