import { afterAll, beforeAll, describe, expect, it } from "vitest";
import notifications from "../../src/resources/notifications/notifications.ts";
import scenarioNotifications from "../../src/resources/scenarios/scenario-notifications.ts";
import { SITE_QUESTION_ID } from "../../src/scenarios/scenario-questions.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import type { ApiFixture } from "./api-fixture.ts";
import type { RequestOptions } from "./http-client.ts";
import { expectError } from "./resource-suite.ts";
import { PNG_BYTES } from "./sample-files.ts";
import { createScenarioFixture } from "./scenario-fixture.ts";
import { openScenarioStartFixture, type ScenarioStartFixture } from "./scenario-start-fixture.ts";

let api: ApiFixture;
let endpointId: string;
let create: ScenarioStartFixture["create"];
let starts: ScenarioStartFixture;

beforeAll(async () => {
  starts = await openScenarioStartFixture();
  ({ api, endpointId, create } = starts);
});
afterAll(() => api.close());

const start = (json: object, more: RequestOptions = {}) =>
  api.call("POST", "/scenario-notifications", { json, ...more });
const started = async (json: object) => {
  const answer = await start(json);
  expect(answer.text).toContain('"id"');
  return answer.body;
};

const scene = createScenarioFixture(() => starts);
const WHAT = [{ fieldVariable: "what", answer: "Smoke" }];
const counts = () => ({
  starts: api.store.count(scenarioNotifications, {}),
  notifications: api.store.count(notifications, {}),
});

describe("starting a scenario", () => {
  it("sends every message with its places filled, and says so afterwards", async () => {
    const { site, hall, role, ann, warden, scenario, template, roleTemplate } = await scene();
    const { id, fields } = await scenario();
    const made = await started({
      scenarioId: id,
      fields: [
        { fieldId: fields[0].id, answer: "Smoke" },
        { fieldVariable: "wing", answer: "east" },
      ],
      location: { building: { name: hall.name } },
    });
    const where = `${hall.name}, ${site.name}`;
    expect(made).toMatchObject({
      scenarioId: id,
      drill: false,
      incidentId: null,
      siteId: site.id,
      buildingId: hall.id,
      location: { site: { id: site.id, name: site.name }, building: { id: hall.id } },
      initiatorId: api.adminId,
      messagesNotSent: [],
      fields: [
        { fieldId: fields[0].id, name: "What?", variable: "what", answer: "Smoke" },
        { variable: "wing", options: ["East", "West"], answer: "East" },
      ],
      events: [
        { notification: { subject: `Smoke in ${where}`, body: "Wing East.", messageTemplateId: template.id } },
        { notification: { subject: "To the team", messageTemplateId: roleTemplate.id } },
      ],
    });
    expect((await api.call("GET", `/scenario-notifications/${made.id}`)).body).toEqual(made);
    const [toAll, toTeam] = api.store.find(notifications, { scenarioNotificationId: made.id });
    expect(toAll).toMatchObject({
      ttsCustomContent: `Attention: Smoke, ${where}`,
      userIds: [ann.id],
      notificationSource: "standard-scenario",
      priority: "normal",
      initiationSourceType: "scenario",
      initiationSourceId: id,
    });
    expect(toTeam).toMatchObject({ userIds: [warden.id], initiatorId: api.adminId });
    expect(role.id).toBeTruthy();
  });

  it("goes by a query without a body", async () => {
    const { scenario, button } = await scene();
    const { id } = await scenario();
    const asked = new URLSearchParams({ scenarioId: id, fields: JSON.stringify(WHAT), drill: "true" });
    asked.set("initiationDevice[lookupValue]", button.externalId);
    const { status, body } = await api.call("POST", `/scenario-notifications?${asked}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ drill: true, initiationDevice: { id: button.id }, events: [{}, {}] });
  });

  it("sends emergencies as critical and drills as drills, and records a pressed button", async () => {
    const { scenario, button, hall } = await scene();
    const { id } = await scenario({ emergency: true, type: "panic-button" });
    const initiationDevice = { type: "api-device", lookupValue: button.externalId.toUpperCase() };
    const made = await started({ scenarioId: id, fields: WHAT, initiationDevice, drill: true });
    expect(made).toMatchObject({ buildingId: hall.id, initiationDeviceId: button.id, drill: true });
    for (const row of api.store.find(notifications, { scenarioNotificationId: made.id })) {
      expect(row).toMatchObject({
        priority: "critical",
        drill: true,
        notificationSource: "panic-button",
        initiationSourceType: "api-device",
        initiationSourceId: button.id,
      });
    }
  });

  it("starts the incident of its plan, once for all messages", async () => {
    const { scenario, hall } = await scene();
    const plan = await create("/incident-plans", { name: "Fire plan" });
    const { id, name } = await scenario({ incidentPlanId: plan.id });
    const made = await started({ scenarioId: id, fields: WHAT, location: { building: { id: hall.id } }, drill: true });
    const incident = (await api.call("GET", `/incidents/${made.incidentId}`)).body;
    expect(incident).toMatchObject({ incidentPlanId: plan.id, name, scenarioId: id, drill: true, buildingId: hall.id });
    for (const row of api.store.find(notifications, { scenarioNotificationId: made.id })) {
      expect(row.incidentId).toBe(made.incidentId);
    }
  });

  it("takes the scenario's words over the template's, though the template keeps them", async () => {
    const { scenario, template, ann } = await scene();
    const request = await create("/confirmation-requests", { name: "Safe?", options: ["Yes", "No"] });
    const words = {
      subject: "Leave {{where}}",
      body: "Now",
      ttsCustomContent: "Out",
      confirmationRequestId: request.id,
    };
    const { id, messages } = await scenario({ messages: [{ name: "A", messageTemplateId: template.id, ...words }] });
    const bob = await api.user("Bob");
    const further = [{ messageId: messages[0].id, userIds: [bob.id] }];
    const location = { site: { name: "North 0" } };
    const made = await started({ scenarioId: id, fields: WHAT, location, messages: further });
    const [row] = api.store.find(notifications, { scenarioNotificationId: made.id });
    expect(row).toMatchObject({ ...words, subject: "Leave North 0", userIds: [ann.id, bob.id] });
  });

  it("omits notifications without recipients there, and is refused if none is left", async () => {
    const { scenario, roleTemplate, role } = await scene();
    const elsewhere = await create("/sites", { name: "Elsewhere" });
    const { id, messages } = await scenario();
    const location = { site: { id: elsewhere.id } };
    const made = await started({ scenarioId: id, fields: WHAT, location });
    expect(made.events).toHaveLength(1);
    expect(made.messagesNotSent).toEqual([{ messageId: messages[1].id, name: "To the team" }]);
    const alone = [{ name: "To the team", messageTemplateId: roleTemplate.id, siteRoleIds: [role.id] }];
    const only = await scenario({ messages: alone });
    const before = counts();
    expectError(await start({ scenarioId: only.id, fields: WHAT, location }), 400, "required", "messages");
    expect(counts()).toEqual(before);
  });

  it("cuts words that the answers make too long", async () => {
    const { scenario } = await scene();
    const { id } = await scenario();
    const answer = "x".repeat(300);
    const location = { site: { name: "North 0" } };
    const made = await started({ scenarioId: id, fields: [{ fieldVariable: "what", answer }], location });
    expect(made.events[0].notification.subject).toBe("x".repeat(255));
  });

  it("is executed once per idempotency key", async () => {
    const { scenario, hall } = await scene();
    const { id } = await scenario();
    const json = { scenarioId: id, fields: WHAT, location: { building: { id: hall.id } } };
    const before = counts();
    const headers = { "idempotency-key": `start-${id}` };
    const [first, second] = [await start(json, { headers }), await start(json, { headers })];
    expect(second.body).toEqual(first.body);
    expect(counts()).toEqual({ starts: before.starts + 1, notifications: before.notifications + 2 });
  });
});

describe("a start is refused, and nothing is sent,", () => {
  const cases: [why: string, field: string, type: string, change: object][] = [
    ["without a scenario", "scenarioId", "required", { scenarioId: undefined }],
    ["for an unknown scenario", "scenarioId", "invalid-value", { scenarioId: UNKNOWN_ID }],
    ["when a required question is open", "fields", "required", { fields: [] }],
    ["when it is answered with nothing", "fields", "required", { fields: [{ fieldVariable: "what", answer: "" }] }],
    ["for answers that are no list", "fields", "invalid-value", { fields: "x" }],
    ["for an unknown question", "fields", "invalid-value", { fields: [...WHAT, { fieldId: UNKNOWN_ID, answer: "x" }] }],
    [
      "for an unknown variable",
      "fields",
      "invalid-value",
      { fields: [...WHAT, { fieldVariable: "who", answer: "x" }] },
    ],
    ["for a question answered twice", "fields", "invalid-value", { fields: [...WHAT, ...WHAT] }],
    [
      "for another option",
      "fields",
      "invalid-value",
      { fields: [...WHAT, { fieldVariable: "wing", answer: "North" }] },
    ],
    [
      "for a very long answer",
      "fields",
      "invalid-value",
      { fields: [{ fieldVariable: "what", answer: "x".repeat(1_001) }] },
    ],
    ["for an answer that is an object", "fields", "invalid-value", { fields: [{ fieldVariable: "what", answer: {} }] }],
    ["without a location", "location", "required", { location: undefined }],
    ["for an unknown place", "location", "invalid-value", { location: { site: { name: "Nowhere" } } }],
    [
      "when the site is told twice",
      "location",
      "invalid-value",
      { fields: [...WHAT, { fieldId: SITE_QUESTION_ID, answer: "North 0" }] },
    ],
    ["for a device without a name", "initiationDevice", "invalid-value", { initiationDevice: {} }],
    [
      "for another kind of device",
      "initiationDevice",
      "invalid-value",
      { initiationDevice: { type: "lamp", lookupValue: "x" } },
    ],
    ["for messages of others", "messages", "invalid-value", { messages: [{ messageId: UNKNOWN_ID }] }],
  ];
  it.each(cases)("%s", async (_why, field, type, change) => {
    const { scenario } = await scene();
    const { id } = await scenario();
    const before = counts();
    const answer = await start({ scenarioId: id, fields: WHAT, location: { site: { name: "North 0" } }, ...change });
    expectError(answer, 400, type, field);
    expect(counts()).toEqual(before);
  });

  it("for a location of a scenario without one", async () => {
    const { scenario } = await scene();
    const { id } = await scenario({ locationEnabled: false, fields: [] });
    const told = { scenarioId: id, location: { site: { name: "North 0" } } };
    expectError(await start(told), 400, "invalid-value", "location");
    const answered = { scenarioId: id, fields: [{ fieldId: SITE_QUESTION_ID, answer: "North 0" }] };
    expectError(await start(answered), 400, "invalid-value", "fields");
  });

  it("for recipients whom the caller does not see", async () => {
    const { scenario, template } = await scene();
    const { id, messages } = await scenario({ messages: [{ name: "A", messageTemplateId: template.id }] });
    const further = [{ messageId: messages[0].id, userIds: [UNKNOWN_ID] }];
    const answer = await start({
      scenarioId: id,
      fields: WHAT,
      location: { site: { name: "North 0" } },
      messages: further,
    });
    expectError(answer, 400, "invalid-value", "messages");
  });
});

describe("the location of a start", () => {
  it("may be given by the question about the site", async () => {
    const { scenario, site } = await scene();
    const { id } = await scenario();
    for (const answer of [site.id, site.externalId, site.name]) {
      const fields = [...WHAT, { fieldId: SITE_QUESTION_ID, answer }];
      const made = await started({ scenarioId: id, fields });
      expect(made.siteId).toBe(site.id);
      expect(made.fields.at(-1)).toMatchObject({ type: "site", answer, fieldId: SITE_QUESTION_ID });
      expect(made.events[0].notification.subject).toBe(`Smoke in ${site.name}`);
    }
    const wrong = { scenarioId: id, fields: [...WHAT, { fieldId: SITE_QUESTION_ID, answer: "Nowhere" }] };
    expectError(await start(wrong), 400, "invalid-value", "fields");
  });

  it("is the given location, else the scenario's default", async () => {
    const { scenario, site, hall, button } = await scene();
    const other = await scene();
    const { id } = await scenario({ defaultBuildingId: hall.id });
    expect(await started({ scenarioId: id, fields: WHAT })).toMatchObject({ siteId: site.id, buildingId: hall.id });
    const device = { lookupValue: other.button.externalId };
    expect((await started({ scenarioId: id, fields: WHAT, initiationDevice: device })).siteId).toBe(other.site.id);
    const both = { initiationDevice: { lookupValue: button.externalId }, location: { site: { id: other.site.id } } };
    expect((await started({ scenarioId: id, fields: WHAT, ...both })).siteId).toBe(other.site.id);
  });

  it("shows the plan of its floor with the outline of its zone where a flag asks for it", async () => {
    const { scenario, site, hall } = await scene();
    const floors = `/sites/${site.id}/buildings/${hall.id}/floors`;
    const form = [
      ["name", "Ground"],
      ["floorPlanImage", new Blob([PNG_BYTES])],
    ] as const;
    const floor = (await api.call("POST", floors, { multipart: form })).body;
    const zone = await create(`${floors}/${floor.id}/zones`, { name: "Lobby", boundary: { points: [1] } });
    const { id } = await scenario({ defaultZoneId: zone.id });
    const made = await started({ scenarioId: id, fields: WHAT });
    const plan = {
      floorId: floor.id,
      floorName: "Ground",
      contentType: "image/png",
      url: `/api/v1${floors}/${floor.id}/floorPlanImage`,
      imageOrigins: null,
      boundary: { points: [1] },
    };
    const at = `/scenario-notifications/${made.id}`;
    const { body } = await api.call("GET", `${at}?includeFloorPlanWithBoundary=true`);
    expect(body.floorPlanImageWithBoundaryFile).toEqual(plan);
    expect((await api.call("GET", at)).body).not.toHaveProperty("floorPlanImageWithBoundaryFile");
    const sent = `/notifications/${made.events[0].id}`;
    const shown = (await api.call("GET", `${sent}?includeFloorPlan=true&includeServer=true`)).body;
    expect(shown).toMatchObject({ floorPlan: plan, server: { id: endpointId, name: "A" } });
  });

  it("is kept after the place is deleted", async () => {
    const { scenario, site } = await scene();
    const { id } = await scenario();
    const made = await started({ scenarioId: id, fields: WHAT, location: { site: { id: site.id } } });
    await api.call("DELETE", `/sites/${site.id}`);
    const { body } = await api.call("GET", `/scenario-notifications/${made.id}`);
    expect(body).toMatchObject({ siteId: null, location: { site: { name: site.name } } });
  });

  it("is unknown for an unregistered device, which is recorded in any case", async () => {
    const { scenario, ann } = await scene();
    const { id } = await scenario();
    const made = await started({ scenarioId: id, fields: WHAT, initiationDevice: { lookupValue: "stray" } });
    expect(made).toMatchObject({
      location: null,
      initiationDevice: null,
      initiationLookupValue: "stray",
      events: [{ notification: { subject: "Smoke in " } }],
    });
    expect(api.store.find(notifications, { scenarioNotificationId: made.id })[0]?.userIds).toEqual([ann.id]);
    expectError(await start({ scenarioId: id, initiationDevice: { lookupValue: "lost" } }), 400, "required", "fields");
    const recorded = api.store.all("SELECT scenario_id, external_id FROM scenario_unknown_devices ORDER BY seq");
    expect(recorded).toEqual([
      { scenario_id: id, external_id: "stray" },
      { scenario_id: id, external_id: "lost" },
    ]);
  });
});

describe("a PIN", () => {
  it("is required, and guessing is throttled", async () => {
    const { scenario } = await scene();
    const { id } = await scenario({ confirmationType: "pin", confirmationPin: "4711", fields: [] });
    const begin = (confirmationPin?: string) =>
      start({ scenarioId: id, location: { site: { name: "North 0" } }, confirmationPin });
    expectError(await begin(), 400, "required", "confirmationPin");
    expect((await begin("4711")).status).toBe(200);
    for (let at = 0; at < 5; at++) expectError(await begin("0000"), 400, "invalid-value", "confirmationPin");
    const made = await begin("4711");
    expectError(made, 429, "too-many-requests");
    expect(Number(made.headers.get("retry-after"))).toBeGreaterThan(0);
    const asked = new URLSearchParams({ scenarioId: id, confirmationPin: "4711" });
    expectError(await api.call("POST", `/scenario-notifications?${asked}`), 400, "required", "confirmationPin");
    expect(api.logText()).not.toContain('"confirmationPin"');
  });
});

describe("a user who starts a scenario", () => {
  it("needs the right to start, and not to read what it is made of", async () => {
    const { scenario, hall } = await scene();
    const { id } = await scenario();
    const json = { scenarioId: id, fields: WHAT, location: { building: { id: hall.id } } };
    const button = await api.user("Button", "post /scenario-notifications");
    const made = await start(json, { token: button.token });
    expect(made.body).toMatchObject({ initiatorId: button.id, siteId: hall.siteId, events: [{}, {}] });
    const stranger = await api.user("Stranger");
    expectError(await start(json, { token: stranger.token }), 403, "forbidden");
    const trainer = await api.user("Trainer", "post /drill-notifications");
    expectError(await start(json, { token: trainer.token }), 403, "forbidden");
    expect((await start({ ...json, drill: true }, { token: trainer.token })).body.drill).toBe(true);
  });

  it("may start only the scenarios that the user's security groups allow", async () => {
    const { scenario, hall } = await scene();
    const [allowed, other] = [await scenario(), await scenario()];
    const guard = await api.user("Guard", "post /scenario-notifications");
    const group = await create("/security-groups", { name: "Guards", allowedScenarioIds: [] });
    await create(`/security-groups/${group.id}/allowed-scenarios`, { id: allowed.id });
    await create(`/security-groups/${group.id}/members`, { userId: guard.id });
    const json = { fields: WHAT, location: { building: { id: hall.id } } };
    const { token } = guard;
    expect((await start({ ...json, scenarioId: allowed.id }, { token })).status).toBe(200);
    expectError(await start({ ...json, scenarioId: other.id }, { token }), 400, "invalid-value", "scenarioId");
  });
});
