import { expect, it } from "vitest";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { many, ref, text } from "../../../src/schema/field.ts";
import { defineResource } from "../../../src/schema/resource.ts";
import { setSiteScopes } from "../../../src/sync/hub/handshake.ts";
import { initializeFeed, publishRows } from "../../../src/sync/hub/publish.ts";
import { DECIDED_EDITS, EDIT_CONFLICTS, WAITING_EDITS } from "../../../src/sync/hub/tables.ts";
import { applyUpstreamPage, retryWaitingEdit } from "../../../src/sync/hub/upstream-feed.ts";
import { diffRows } from "../../../src/sync/protocol/field-merge.ts";
import type { UpstreamRow } from "../../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import { type RowBody, scanRecords } from "../../../src/sync/storage/transaction-program.ts";
import { createMemoryStore } from "../../sim/memory-store.ts";

const resource = (name: string, fields: Parameters<typeof defineResource>[0]["fields"]) =>
  defineResource({
    name,
    replicate: "B",
    doc: "Rows.",
    paths: [{ at: name }],
    idParam: "rowId",
    scope: "organisation",
    fields,
  });
const CATALOGUE = createCatalogue([
  resource("templates", { note: text("Any."), planId: ref("Plan.", "plans"), cancelIds: many("Others.", "templates") }),
  resource("plans", { note: text("Any."), scenarioIds: many("Scenarios.", "scenarios") }),
  resource("scenarios", {
    note: text("Any."),
    templateId: ref("Template.", "templates", { required: true }),
    planId: ref("Plan.", "plans"),
  }),
]);
const TYPES = readReplicatedTypes(CATALOGUE);

function cloud() {
  const store = createMemoryStore(CATALOGUE);
  store.perform(() => initializeFeed("first"));
  for (const endpoint of ["own", "other"]) store.perform(() => setSiteScopes(endpoint, null));
  const sent = { own: 0, other: 0 };
  const send = (type: string, id: string, set: RowBody, op = "create", endpoint: keyof typeof sent = "own"): void => {
    const at = sent[endpoint]++;
    const seen = op === "update" ? (store.rows.get(`${type}/${id}`) ?? null) : null;
    const edit = diffRows(seen, { ...seen, ...set }, new Set()) ?? { op, set, add: {}, remove: {}, was: {} };
    const body = { type, id, edit, actor: "x", at: 1, wins: false };
    const row = ["p", "edit", `e${at}`, at + 1, `${endpoint}${at}`, body] as unknown as UpstreamRow;
    const page = { t: "rows", feed: "up.hot", from: at, to: at + 1, tail: "t", rows: [row] } as const;
    store.perform(() => applyUpstreamPage(page, { endpoint, sess: 1 }, TYPES, 1_000));
  };
  const decided = () => store.perform(() => scanRecords(DECIDED_EDITS)).map(({ result }) => result);
  const waiting = () => store.perform(() => scanRecords(WAITING_EDITS)).length;
  return { store, send, decided, waiting };
}

const ROWS: readonly (readonly [string, string, RowBody])[] = [
  ["templates", "t1", { id: "t1", note: "One", planId: "p", cancelIds: ["t2"] }],
  ["templates", "t2", { id: "t2", note: "Two", planId: null, cancelIds: ["t1"] }],
  ["plans", "p", { id: "p", note: "Plan", scenarioIds: ["s", "s2"] }],
  ["scenarios", "s", { id: "s", note: "Lockdown", templateId: "t1", planId: "p" }],
  ["scenarios", "s2", { id: "s2", note: "Fire", templateId: "t2", planId: null }],
];

function orders<T>(of: readonly T[]): T[][] {
  if (of.length < 2) return [[...of]];
  return of.flatMap((first, at) => orders([...of.slice(0, at), ...of.slice(at + 1)]).map((rest) => [first, ...rest]));
}

it("keeps every row of a circle of references, in whatever order they arrive", () => {
  for (const order of orders(ROWS)) {
    const { store, send, decided, waiting } = cloud();
    for (const row of order) send(...row);
    const arrived = order.map(([type, id]) => store.rows.get(`${type}/${id}`));
    expect([order.map(([, id]) => id), arrived]).toEqual([order.map(([, id]) => id), order.map(([, , body]) => body)]);
    expect([decided(), waiting()]).toEqual([ROWS.map(() => "merged"), 0]);
  }
});

it("lets edits of a row follow its creation", () => {
  const { store, send, waiting } = cloud();
  send("scenarios", "s", { id: "s", note: "Lockdown", templateId: "t2", planId: null });
  send("scenarios", "s", { note: "Lockdown" }, "update");
  expect(waiting()).toBe(2);
  send("templates", "t2", { id: "t2", note: "Two", planId: null, cancelIds: [] });
  expect([store.rows.get("scenarios/s")?.note, waiting()]).toEqual(["Lockdown", 0]);
});

it("refuses a reference to a row that was deleted in the cloud, with the reason", () => {
  const { store, send, decided } = cloud();
  for (const body of [{ id: "t", note: "One" }, null])
    store.perform(() => publishRows([{ type: "templates", id: "t", body, scope: null, at: 0 }], TYPES));
  send("scenarios", "s", { id: "s", templateId: "t" });
  const [conflict] = store.perform(() => scanRecords(EDIT_CONFLICTS));
  expect([decided(), conflict?.lost]).toEqual([["refused"], ["*"]]);
  expect(conflict?.reason).toBe("`templateId` refers to templates/t, which does not exist in the cloud.");
});

it("do not hold up edits of another appliance", () => {
  const { store, send, waiting } = cloud();
  send("templates", "t", { id: "t", note: "One", planId: null, cancelIds: [] });
  send("templates", "t", { planId: "never" }, "update");
  send("templates", "t", { note: "Two" }, "update");
  send("templates", "t", { note: "Three" }, "update", "other");
  expect([store.rows.get("templates/t")?.note, waiting()]).toEqual(["Three", 2]);
});

it("are tried again in turn, find rows of the cloud, and are refused after 30 days", () => {
  const { store, send, decided, waiting } = cloud();
  for (const at of [1, 2, 3]) send("scenarios", `s${at}`, { id: `s${at}`, templateId: `t${at}` });
  const body = { id: "t3", note: "Of the cloud", planId: null, cancelIds: [] };
  store.perform(() => publishRows([{ type: "templates", id: "t3", body, scope: null, at: 0 }], TYPES));
  expect(waiting()).toBe(3);
  const retryAll = (now: number): number => {
    let tried = 0;
    while (store.perform(() => retryWaitingEdit(TYPES, now))) tried += 1;
    return tried;
  };
  expect([retryAll(2_000), retryAll(2_000), decided()]).toEqual([3, 0, ["merged"]]);
  const month = 30 * 24 * 3_600_000;
  expect([retryAll(1_000 + month), waiting()]).toEqual([2, 2]);
  expect([retryAll(1_001 + month), waiting(), decided().sort()]).toEqual([2, 0, ["merged", "refused", "refused"]]);
});
