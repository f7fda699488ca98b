import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SITE_QUESTION_ID } from "../../src/scenarios/scenario-questions.ts";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

let api: ApiFixture;
let templateId: string;
let userId: string;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  userId = (await api.user("Ann")).id;
  const template = { name: "Alarm", subject: "Alarm in {{where}}", body: "{{what}} burns.", userIds: [userId] };
  templateId = (await create("/message-templates", template)).id;
});
afterAll(() => api.close());

const create = async (path: string, json: object) => {
  const answer = await api.call("POST", path, { json });
  expect(answer.text).toContain('"id"');
  return answer.body;
};
const bare = () => ({
  name: "Fire",
  backgroundColor: "#ff0000",
  type: "standard",
  messages: [{ name: "To all", messageTemplateId: templateId }],
});
const WHAT = { name: "What burns?", variable: "what", type: "text", required: true };
const FLOOR = { name: "Which wing?", variable: "wing", type: "option", options: ["East", "West"] };
const refused = async (more: object, field: string, type = "invalid-value") =>
  expectError(await api.call("POST", "/scenarios", { json: { ...bare(), ...more } }), 400, type, field);

describe("a scenario", () => {
  it("returns questions in order of rank, with stable ids", async () => {
    const made = await create("/scenarios", { ...bare(), fields: [{ ...FLOOR, rank: 7 }, WHAT] });
    expect(made.fields).toMatchObject([
      { variable: "what", type: "text", options: [], rank: 1, required: true },
      { variable: "wing", options: ["East", "West"], rank: 7, required: false },
    ]);
    const renamed = made.fields.map((field: object) => ({ ...field, name: "Again?" }));
    const { body } = await api.call("PUT", `/scenarios/${made.id}`, { json: { fields: renamed } });
    expect(body.fields.map(({ id }: { id: string }) => id)).toEqual(made.fields.map(({ id }: { id: string }) => id));
    const untouched = await api.call("PUT", `/scenarios/${made.id}`, { json: { name: "Blaze" } });
    expect(untouched.body.fields).toEqual(body.fields);
  });

  it.each([
    ["no list", "x"],
    ["no object", ["x"]],
    ["without a name", [{ ...WHAT, name: "" }]],
    ["a short variable", [{ ...WHAT, variable: "ab" }]],
    ["a variable that begins with a digit", [{ ...WHAT, variable: "1abc" }]],
    ["a long variable", [{ ...WHAT, variable: "a".repeat(33) }]],
    ["the same variable twice", [WHAT, { ...FLOOR, variable: "WHAT" }]],
    ["another type", [{ ...WHAT, type: "number" }]],
    ["a question for a site", [{ ...WHAT, type: "site" }]],
    ["options that are missing", [{ ...FLOOR, options: [] }]],
    ["options of a text", [{ ...WHAT, options: ["a"] }]],
    ["an option twice", [{ ...FLOOR, options: ["East", "EAST"] }]],
    ["17 options", [{ ...FLOOR, options: Array.from({ length: 17 }, (_, at) => `Option ${at}`) }]],
    ["an option of 65 characters", [{ ...FLOOR, options: ["x".repeat(65)] }]],
    ["51 questions", Array.from({ length: 51 }, (_, at) => ({ ...WHAT, variable: `what${at}` }))],
  ])("refuses questions with %s", async (_why, fields) => {
    expect.hasAssertions();
    const answer = await api.call("POST", "/scenarios", { json: { ...bare(), fields } });
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].field).toMatch(/^fields/);
  });

  it("takes 16 options of 64 characters", async () => {
    const options = Array.from({ length: 16 }, (_, at) => `${at}`.padEnd(64, "x"));
    expect((await create("/scenarios", { ...bare(), fields: [{ ...FLOOR, options }] })).fields[0].options).toEqual(
      options,
    );
  });

  it("requires existing templates for its messages", async () => {
    await refused({ messages: [] }, "messages");
    await refused({ messages: [{ messageTemplateId: templateId }] }, "messages", "required");
    await refused({ messages: [{ name: "A" }] }, "messages", "required");
    await refused({ messages: [{ name: "A", messageTemplateId: UNKNOWN_ID }] }, "messages");
    await refused({ messages: [{ name: "A", messageTemplateId: templateId, siteRoleIds: [UNKNOWN_ID] }] }, "messages");
    await refused({ messages: [{ name: "A", messageTemplateId: templateId, subject: "x".repeat(256) }] }, "messages");
    const role = await create("/site-roles", { name: "Wardens" });
    const messages = [{ name: "A", "message-template-id": templateId, "site-role-ids": [role.id] }];
    const made = await create("/scenarios", { ...bare(), messages });
    expect(made.messages).toMatchObject([
      { messageTemplate: { id: templateId, name: "Alarm" }, siteRoles: [{ id: role.id, name: "Wardens" }] },
    ]);
    await api.call("DELETE", `/site-roles/${role.id}`);
    const { body } = await api.call("GET", `/scenarios/${made.id}`);
    expect(body.messages).toMatchObject([{ siteRoleIds: [], siteRoles: [] }]);
  });

  it("keeps its templates from being deleted", async () => {
    const template = await create("/message-templates", { name: "Kept", subject: "S" });
    const messages = [{ name: "A", messageTemplateId: template.id }];
    const { id } = await create("/scenarios", { ...bare(), messages });
    expectError(await api.call("DELETE", `/message-templates/${template.id}`), 409, "conflict");
    await api.call("DELETE", `/scenarios/${id}`);
    expect((await api.call("DELETE", `/message-templates/${template.id}`)).status).toBe(200);
  });

  it("never returns its PIN", async () => {
    await refused({ confirmationType: "pin" }, "confirmationPin", "required");
    for (const confirmationPin of ["123", "12a4", "1234567890123"]) {
      await refused({ confirmationType: "pin", confirmationPin }, "confirmationPin");
    }
    const made = await create("/scenarios", { ...bare(), confirmationType: "pin", confirmationPin: "4711" });
    expect(JSON.stringify(made)).not.toContain("4711");
    expect(made).not.toHaveProperty("confirmationPin");
    const clear = { json: { confirmationPin: null } };
    expectError(await api.call("PUT", `/scenarios/${made.id}`, clear), 400, "required", "confirmationPin");
    expect((await api.call("GET", "/audit-entries")).text).not.toContain("4711");
  });

  it("has one default location", async () => {
    const [here, there] = [await create("/sites", { name: "Here" }), await create("/sites", { name: "There" })];
    const hall = await create(`/sites/${here.id}/buildings`, { name: "Hall" });
    await refused({ defaultSiteId: there.id, defaultBuildingId: hall.id }, "defaultBuildingId");
    const made = await create("/scenarios", { ...bare(), locationEnabled: true, defaultBuildingId: hall.id });
    expect(made).toMatchObject({
      defaultSiteId: here.id,
      defaultLocation: { site: { name: "Here" }, building: { name: "Hall" } },
    });
    await refused({ locationEnabled: true, locationVariable: "what", fields: [WHAT] }, "locationVariable");
    await refused({ locationEnabled: true, locationVariable: "x y" }, "locationVariable");
  });

  it("is cloned with its PIN", async () => {
    const made = await create("/scenarios", {
      ...bare(),
      fields: [WHAT],
      confirmationType: "pin",
      confirmationPin: "4711",
    });
    const copy = await create(`/scenarios/${made.id}/clone`, {});
    expect(copy).toMatchObject({ name: "Fire (Copy)", fields: made.fields, messages: made.messages });
    const start = { scenarioId: copy.id, fields: [{ fieldVariable: "what", answer: "x" }], confirmationPin: "0000" };
    expectError(await api.call("POST", "/scenario-notifications", { json: start }), 400, "invalid-value");
  });
});

describe("the question about the site", () => {
  it("is reported last, only for scenarios with a location", async () => {
    const made = await create("/scenarios", {
      ...bare(),
      fields: [WHAT],
      locationEnabled: true,
      locationQuestionName: "Where?",
      locationVariable: "where",
    });
    expect(made.fields).toHaveLength(2);
    expect(made.fields[1]).toMatchObject({
      id: SITE_QUESTION_ID,
      type: "site",
      name: "Where?",
      variable: "where",
      rank: 1,
    });
    // What was read can be sent back.
    const { body } = await api.call("PUT", `/scenarios/${made.id}`, { json: { fields: made.fields } });
    expect(body.fields).toEqual(made.fields);
    expect((await create("/scenarios", { ...bare(), fields: [WHAT] })).fields).toHaveLength(1);
    const real = { ...made.fields[1], id: UNKNOWN_ID };
    await refused({ locationEnabled: true, fields: [real] }, "fields");
  });
});

describe("a preview", () => {
  it("says who would be reached and with which words, and sends nothing", async () => {
    const site = await create("/sites", { name: "North" });
    const hall = await create(`/sites/${site.id}/buildings`, { name: "Main hall" });
    const role = await create("/site-roles", { name: "Team" });
    const warden = await api.user("Warden");
    await create(`/sites/${site.id}/recipients`, { siteRoleId: role.id, userIds: [warden.id] });
    const messages = [
      { name: "To all", messageTemplateId: templateId },
      { name: "To the team", messageTemplateId: templateId, subject: "Go to {{where}}", siteRoleIds: [role.id] },
    ];
    const scenario = { ...bare(), messages, fields: [WHAT], locationEnabled: true, locationVariable: "where" };
    const { id } = await create("/scenarios", scenario);
    expect((await api.call("GET", `/scenarios/${id}`)).body).not.toHaveProperty("preview");
    const query = (answers: unknown, location: unknown) =>
      `/scenarios/${id}?${new URLSearchParams({
        simulatedAnswers: JSON.stringify(answers),
        location: JSON.stringify(location),
      })}`;
    const { body } = await api.call(
      "GET",
      query([{ fieldVariable: "what", answer: "Paper" }], { building: { id: hall.id } }),
    );
    expect(body.preview).toMatchObject({
      location: { site: { id: site.id }, building: { name: "Main hall" } },
      locationText: "Main hall, North",
      messages: [
        { subject: "Alarm in Main hall, North", body: "Paper burns.", users: { count: 1 }, devices: { count: 0 } },
        { subject: "Go to Main hall, North", users: { count: 2 } },
      ],
    });
    const open = await api.call("GET", `/scenarios/${id}?simulatedAnswers=[]`);
    expect(open.body.preview.messages[0]).toMatchObject({ subject: "Alarm in {{where}}", body: "{{what}} burns." });
    expectError(
      await api.call("GET", query([{ fieldVariable: "who", answer: "x" }], {})),
      400,
      "invalid-value",
      "fields",
    );
    expectError(await api.call("GET", query([], { site: { name: "Nowhere" } })), 400, "invalid-value", "location");
    expect((await api.call("GET", "/notifications")).body.total).toBe(0);
  });
});
