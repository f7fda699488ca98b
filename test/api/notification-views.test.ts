import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ALARM_IDS } from "../../src/resources/alarms/alarm-types.ts";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

let api: ApiFixture;
let ann: { id: string; token: string };
let ben: { id: string; token: string };
let sent: string;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  [ann, ben] = [await api.user("Ann"), await api.user("Ben")];
  sent = await sendTo(ann.id);
});
afterAll(() => api.close());

const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));

/** Stores a message as the notificationService does. */
async function sendTo(userId: string): Promise<string> {
  const made = { subject: "Fire", stage: "settled" };
  const { id } = await api.store.create(
    catalogue.byName("notifications"),
    { subject: "Fire" },
    api.system,
    made as object,
  );
  const values = { notificationId: id, userId, name: "Ann" };
  await api.store.create(catalogue.byName("notification-recipients"), values, api.system, values as object);
  return id;
}

async function make(path: string, json: object): Promise<string> {
  const { status, text, body } = await api.call("POST", path, { json });
  expect([path, status, text]).toEqual([path, 200, expect.anything()]);
  return body.id;
}

describe("a message seen by places", () => {
  it.each([
    [
      "roll-call",
      {
        total: 1,
        answered: 0,
        rooms: [{ room: null, total: 1, people: [{ name: "Ann", answer: null, read: false }] }],
      },
    ],
    ["rooms", { unplaced: 0, rooms: [] }],
    ["tracks", { tracks: [], positions: [] }],
    ["starts", { t0: null, models: [], data: [] }],
  ])("%s", async (part, shown) => {
    const at = `/notifications/${sent}/${part}`;
    const { status, body } = await api.call("GET", at);
    expect(status).toBe(200);
    expect(body).toMatchObject(shown);
    expectError(await api.call("GET", at.replace(sent, UNKNOWN_ID)), 404, "not-found");
    expectError(await api.call("GET", at, { token: null }), 401, "unauthorized");
    expect([403, 404]).toContain((await api.call("GET", at, { token: ben.token })).status);
  });

  it("refuses bounds and people that are none", async () => {
    for (const limit of ["0", "1001", "x"])
      expectError(
        await api.call("GET", `/notifications/${sent}/roll-call?limit=${limit}`),
        400,
        "invalid-value",
        "limit",
      );
    expectError(await api.call("GET", `/notifications/${sent}/tracks?userId=${UNKNOWN_ID}`), 404, "not-found");
  });
});

describe("deleting a received notification", () => {
  it("removes it from the caller's list by its id in the query, and keeps it for others", async () => {
    const own = `/users/${ann.id}/notifications`;
    const id = await sendTo(ann.id);
    expectError(await api.call("DELETE", own, { token: ann.token }), 400, "required", "id");
    expectError(await api.call("DELETE", `${own}?id=${UNKNOWN_ID}`, { token: ann.token }), 404, "not-found");
    expect([403, 404]).toContain((await api.call("DELETE", `${own}?id=${id}`, { token: ben.token })).status);
    const { status, body } = await api.call("DELETE", `${own}?id=${id}`, { token: ann.token });
    expect([status, body.message]).toEqual([200, `deleted ${id}`]);
    expectError(await api.call("GET", `${own}/${id}`, { token: ann.token }), 404, "not-found");
    expect((await api.call("GET", `/notifications/${id}`)).status).toBe(200);
  });

  it.each(["in the path", "in the query"])("by its id %s, for everybody", async (where) => {
    const id = await sendTo(ann.id);
    const at = where === "in the path" ? `/notifications/${id}` : `/notifications?id=${id}`;
    expect([403, 404]).toContain((await api.call("DELETE", at, { token: ben.token })).status);
    const { status, body } = await api.call("DELETE", at);
    expect([status, body.message]).toEqual([200, `deleted ${id}`]);
    expectError(await api.call("DELETE", at), 404, "not-found");
    expectError(await api.call("GET", `/notifications/${id}`), 404, "not-found");
  });
});

it("mutes an alarm by its id in the body", async () => {
  const id = ALARM_IDS.license_violation;
  expectError(await api.call("PUT", "/alarms", { json: { muted: true } }), 400, "required", "id");
  expectError(await api.call("PUT", "/alarms", { json: { id: UNKNOWN_ID, muted: true } }), 404, "not-found");
  const json = { id, muted: true };
  expect([403, 404]).toContain((await api.call("PUT", "/alarms", { json, token: ben.token })).status);
  const { status, body } = await api.call("PUT", "/alarms", { json });
  expect([status, body]).toEqual([200, expect.objectContaining({ id, muted: true })]);
  expect((await api.call("GET", `/alarms/${id}`)).body.muted).toBe(true);
});

describe("derived fields", () => {
  it("scenarios of a plan, and those that members of a group may start", async () => {
    const messageTemplateId = await make("/message-templates", { name: "Fire", subject: "Fire" });
    const messages = [{ name: "First", messageTemplateId }];
    const look = { type: "standard", backgroundColor: "#aa0000" };
    const scenario = await make("/scenarios", { name: "Fire", ...look, messages });
    const plan = await make("/incident-plans", { name: "Fire", scenarioIds: [scenario] });
    const one = await api.call("GET", `/incident-plans/${plan}/scenarios/${scenario}`);
    expect([one.status, one.body]).toEqual([200, expect.objectContaining({ id: scenario, name: "Fire" })]);
    expectError(await api.call("GET", `/incident-plans/${plan}/scenarios/${UNKNOWN_ID}`), 404, "not-found");

    const at = `/security-groups/${await make("/security-groups", { name: "Wardens" })}/allowed-scenarios`;
    expectError(await api.call("POST", at, { json: { id: UNKNOWN_ID } }), 400, "invalid-value", "id");
    expect((await api.call("POST", at, { json: { id: scenario } })).body.id).toBe(scenario);
    expect((await api.call("GET", at)).body).toMatchObject({ total: 1, data: [{ id: scenario }] });
    expect((await api.call("GET", `${at}/${scenario}`)).body).toMatchObject({ id: scenario, name: "Fire" });
    expect([403, 404]).toContain((await api.call("GET", at, { token: ben.token })).status);
    expect([403, 404]).toContain((await api.call("DELETE", `${at}/${scenario}`, { token: ben.token })).status);
    expect((await api.call("DELETE", `${at}/${scenario}`)).body.message).toBe(`deleted ${scenario}`);
    expectError(await api.call("GET", `${at}/${scenario}`), 404, "not-found");
    expect((await api.call("GET", at)).body.total).toBe(0);
  });

  it("shows the file of a user source, uploaded by PUT or POST", async () => {
    const id = await make("/load-definitions", { name: "School", type: "table" });
    const at = `/load-definitions/${id}/file`;
    const sent = {
      headers: { "content-type": "text/csv", "x-file-name": "people.csv" },
      body: "name,email\nEve,e@b.org",
    };
    const { status, body } = await api.call("POST", at, sent);
    expect([status, body]).toEqual([200, expect.objectContaining({ id, name: "School" })]);
    expectError(await api.call("POST", at, { json: {} }), 415, "unsupported-media-type");
    expectError(await api.call("POST", at.replace(id, UNKNOWN_ID), sent), 404, "not-found");
    expect([403, 404]).toContain((await api.call("POST", at, { ...sent, token: ben.token })).status);
  });

  it("shows a list that a user may join", async () => {
    const id = await make("/distribution-lists", { name: "Choir", isSubscribable: true });
    const at = `/users/${ann.id}/subscribable-distribution-lists`;
    const { status, body } = await api.call("GET", `${at}/${id}`, { token: ann.token });
    const shown = { userId: ann.id, distributionListId: id, distributionListName: "Choir", subscribed: false };
    expect([status, body]).toEqual([200, expect.objectContaining(shown)]);
    expectError(await api.call("GET", `${at}/${UNKNOWN_ID}`, { token: ann.token }), 404, "not-found");
    expect([403, 404]).toContain((await api.call("GET", `${at}/${id}`, { token: ben.token })).status);
  });
});
