import { describe, expect, it } from "vitest";
import { canonicalPath, createCatalogue } from "../../src/schema/catalogue.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import { expectError } from "./resource-suite.ts";
import { openSampleFixture } from "./sample-fixture.ts";

const { api, rows } = openSampleFixture();

const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));

/** Families that rooms alone write, and what a row of theirs shows. */
const KEPT: Readonly<Record<string, Record<string, unknown>>> = {
  "active-callaware-calls": { type: "endpoint-rule", details: { calledNumber: "911", state: "ringing" } },
  "appliance-upgrades": { version: "2.0.0", state: "stopped", reason: "Hall: it is RED", wave: 2 },
  "appliance-upgrade-turns": { state: "failed", reason: "it is RED", fromVersion: "1.9.0" },
  "boundary-trigger-activities": { reason: "exited", status: "no-recipients" },
  "bulk-upload-logs": { line: 2, resourceCreated: false, resourceName: "Hall", resourceResponse: "No such list." },
  inputs: { plugin: "http-input", source: "Door 1", details: { state: "open" }, outcome: "nothing" },
  "notification-activities": { type: "abort" },
  "trigger-deliveries": { event: "users.updated", state: "dead", attempts: 7, lastStatus: 503 },
  "tts-voices": { name: "Ada", gender: "female", language: "en-GB", synthesisProvider: "espeak" },
};

/** Makes a row as its room does, below new parents; answers where it is listed. */
async function keep(name: string, at = 0): Promise<{ collection: string; id: string }> {
  const resource = catalogue.byName(name);
  const path = resource.paths[at] ?? canonicalPath(resource);
  const { collection, parents } = await rows.place(path, resource);
  const needed = name === "appliance-upgrade-turns" ? { endpointId: await anAppliance() } : {};
  const { id } = await api().store.create(resource, { ...parents, ...needed }, api().system, {
    ...parents,
    ...KEPT[name],
  } as object);
  return { collection, id };
}

async function anAppliance(): Promise<string> {
  const endpoints = catalogue.byName("endpoints");
  return (await rows.post(endpoints, await rows.place(canonicalPath(endpoints), endpoints))).body.id;
}

describe.each(Object.entries(KEPT))("%s", (name, shown) => {
  it("are readable by id with the permission only", async () => {
    const { collection, id } = await keep(name);
    const at = `${collection}/${id}`;
    const one = await api().call("GET", at);
    expect([one.status, one.body]).toEqual([200, expect.objectContaining({ id, ...shown, permissions: ["get"] })]);
    const listed = await api().call("GET", `${collection}?ids[]=${id}`);
    expect(listed.body).toMatchObject({ total: 1, data: [{ id, ...shown }] });

    expectError(await api().call("GET", at, { token: null }), 401, "unauthorized");
    const stranger = await api().user("Stranger");
    expect([403, 404]).toContain((await api().call("GET", at, { token: stranger.token })).status);
    for (const unknown of [UNKNOWN_ID, "none", "%00"]) {
      expectError(await api().call("GET", `${collection}/${unknown}`), 404, "not-found");
    }
    for (const method of ["PUT", "DELETE"]) {
      expectError(await api().call(method, at, { json: {} }), 405, "method-not-allowed");
    }
    expect((await api().call("GET", at)).body).toEqual(one.body);
  });
});

it("lists the activities of a notification below the recipient, also for that user without any permission", async () => {
  const ann = await api().user("Ann");
  const [notifications, recipients, activities] = [
    catalogue.byName("notifications"),
    catalogue.byName("notification-recipients"),
    catalogue.byName("notification-activities"),
  ];
  const sent = await api().store.create(notifications, { subject: "Fire" }, api().system, {
    stage: "settled",
  } as object);
  const both = { notificationId: sent.id, userId: ann.id };
  await api().store.create(recipients, both, api().system, both as object);
  const said = { type: "confirmation", confirmationOption: "Safe" };
  const { id } = await api().store.create(activities, { ...both, ...said }, api().system);
  const at = `/users/${ann.id}/notifications/${sent.id}/activities/${id}`;
  for (const token of [api().token, ann.token]) {
    const { status, body } = await api().call("GET", at, { token });
    expect([status, body]).toEqual([200, expect.objectContaining({ id, ...both, ...said })]);
  }
  const ben = await api().user("Ben");
  expectError(await api().call("GET", at, { token: ben.token }), 404, "not-found");
  expectError(await api().call("GET", at.replace(id, UNKNOWN_ID)), 404, "not-found");
  expectError(await api().call("GET", at.replace(ann.id, ben.id)), 404, "not-found");
});

it("returns an audit entry with its hash, with the permission only", async () => {
  const { body: made } = await api().call("POST", "/sites", { json: { name: "Audited" } });
  const [entry] = (await api().call("GET", `/audit?rowId=${made.id}`)).body.data;
  const at = `/audit/${entry.id}`;
  const { status, body } = await api().call("GET", at);
  expect(status).toBe(200);
  expect(body).toMatchObject({ id: entry.id, op: "create", resource: "sites", rowId: made.id, before: null });
  expect(body.hash).toMatch(/^[0-9a-f]{64}$/);
  const stranger = await api().user("Stranger");
  expect([403, 404]).toContain((await api().call("GET", at, { token: stranger.token })).status);
  expectError(await api().call("GET", `/audit/${UNKNOWN_ID}`), 404, "not-found");
  expectError(await api().call("DELETE", at), 405, "method-not-allowed");
});

it("returns the follow-ups of a scenario without its id in the path", async () => {
  const resource = catalogue.byName("rule-actions");
  const { body: made } = await rows.post(resource, await rows.place(canonicalPath(resource), resource));
  const { status, body } = await api().call("GET", `/rule-actions/${made.id}`);
  expect([status, body]).toEqual([
    200,
    expect.objectContaining({ id: made.id, scenarioId: made.scenarioId, action: made.action, permissions: ["get"] }),
  ]);
  const listed = await api().call("GET", `/rule-actions?ids[]=${made.id}`);
  expect([listed.status, listed.body]).toMatchObject([200, { total: 1, data: [{ id: made.id }] }]);
  const stranger = await api().user("Stranger");
  expectError(await api().call("GET", `/rule-actions/${made.id}`, { token: stranger.token }), 404, "not-found");
  expectError(await api().call("GET", `/rule-actions/${UNKNOWN_ID}`), 404, "not-found");
});

it("reads, changes and clears the default voice", async () => {
  const resource = catalogue.byName("tts-defaults");
  const { id } = await api().store.create(resource, {}, api().system);
  const voice = await keep("tts-voices");
  const at = `/tts-defaults/${id}`;
  expect((await api().call("GET", at)).body).toMatchObject({ id, ttsVoiceId: null });
  for (const [path, json] of [
    [at, { ttsVoiceId: voice.id }],
    ["/tts-defaults", { id, ttsVoiceId: voice.id }],
  ] as const) {
    const { status, body } = await api().call("PUT", path, { json });
    expect([status, body]).toEqual([200, expect.objectContaining({ id, ttsVoiceId: voice.id })]);
    expect((await api().call("PUT", path, { json: { ...json, ttsVoiceId: null } })).body.ttsVoiceId).toBeNull();
  }
  for (const wrong of ["x", UNKNOWN_ID]) {
    expectError(await api().call("PUT", at, { json: { ttsVoiceId: wrong } }), 400, "invalid-value", "ttsVoiceId");
  }
  const stranger = await api().user("Stranger", "get /tts-defaults/*");
  expectError(await api().call("PUT", at, { json: {}, token: stranger.token }), 403, "forbidden");
});

it("returns the domain of an upload", async () => {
  const hall = (await api().call("POST", "/domains", { json: { name: "Hall" } })).body.id;
  const json = { resourceType: "device-groups" };
  const headers = { "x-service-domain": hall };
  const made = await api().call("POST", "/bulk-uploads", { json, headers });
  expect((await api().call("GET", `/bulk-uploads/${made.body.id}`)).body.domainId).toBe(hall);
});

it("serves the complete API description with an ETag", async () => {
  const { status, body, headers } = await api().call("GET", "/openapi.json");
  expect([status, body.openapi]).toEqual([200, "3.1.0"]);
  const parameters = body.paths["/v1/alarms"].get.parameters.map(({ name }: { name?: string }) => name);
  expect(parameters).toEqual(expect.arrayContaining(["includeThresholds", "includeAlarmThresholds"]));
  const { status: health } = body.components.schemas.Endpoint.properties;
  expect(health).toMatchObject({ type: ["string", "null"], enum: ["GREEN", "YELLOW", "RED", null] });
  const again = await api().call("GET", "/openapi.json", { headers: { "if-none-match": headers.get("etag") ?? "" } });
  expect([again.status, again.text]).toEqual([304, ""]);
  expectError(await api().call("POST", "/openapi.json", { json: {} }), 405, "method-not-allowed");
});
