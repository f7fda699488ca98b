import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { createWav, PNG_BYTES } from "./sample-files.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

const post = async (path: string, json: object = {}) => {
  const { status, body } = await api.call("POST", path, { json });
  expect(body).toMatchObject({ id: expect.any(String) });
  expect(status).toBe(200);
  return body;
};
const get = async (path: string) => (await api.call("GET", path)).body;
/** What a copy has of its own. */
const OWN = {
  id: expect.any(String),
  name: expect.any(String),
  createdAt: expect.any(String),
  updatedAt: expect.any(String),
};

describe("clone", () => {
  it("copies a confirmation request with its replies and rules, files included", async () => {
    const list = await post("/distribution-lists", { name: "Staff" });
    const source = await post("/confirmation-requests", {
      name: "Safe?",
      options: ["Yes", "No"],
      expirationPeriod: 600,
      initiateTrackingOptions: [false, true],
    });
    const at = `/confirmation-requests/${source.id}`;
    await post(`${at}/dynamic-replies`, { optionLabel: "No", quota: 2, first: "Stay", rest: "Help comes" });
    await post(`${at}/dynamic-replies`, { optionLabel: "Yes", every: "Good" });
    const rule = await api.call("POST", `${at}/escalation-rules`, {
      multipart: [
        ["delay", "60"],
        ["optionLabel", "Yes"],
        ["comparison", "LT"],
        ["comparisonValue", "5"],
        ["subject", "Nobody answers"],
        ["distributionListIds[]", list.id],
        ["image", new File([PNG_BYTES], "map.png")],
        ["audio", new File([createWav(0.1)], "call.wav")],
      ],
    });
    expect(rule.status).toBe(200);

    const copy = await post(`${at}/clone`);
    const { dynamicReplies, escalationRules, ...rest } = await get(at);
    const made = await get(`/confirmation-requests/${copy.id}`);
    expect(made).toMatchObject({ ...rest, ...OWN, name: "Safe? (Copy)" });
    expect(copy.id).not.toBe(source.id);
    expect(made.dynamicReplies.map((reply: { first: string; every: string }) => reply.first ?? reply.every)).toEqual([
      "Stay",
      "Good",
    ]);
    expect(made.dynamicReplies[0].id).not.toBe(dynamicReplies[0].id);
    const rules = await get(`/confirmation-requests/${copy.id}/escalation-rules`);
    expect(rules.data).toHaveLength(1);
    expect(rules.data[0]).toMatchObject({
      confirmationRequestId: copy.id,
      delay: 60,
      comparison: "LT",
      comparisonValue: 5,
      distributionListIds: [list.id],
      image: PNG_BYTES.length,
      imageFiles: rule.body.imageFiles,
      audioFiles: rule.body.audioFiles,
    });
    expect(rules.data[0].id).not.toBe(escalationRules[0].id);
  });

  it("copies a list with its campaign, without subscriptions and with a new address", async () => {
    const user = await api.user("Ann");
    const source = await post("/distribution-lists", {
      name: "Parents",
      isSubscribable: true,
      campaign: { welcomeMessage: "Hello", defaultNotificationDays: 30, enrollmentEndDate: "2030-06-01T00:00:00.000Z" },
    });
    await post(`/users/${user.id}/subscriptions`, { distributionListId: source.id });
    const copy = await post(`/distribution-lists/${source.id}/clone`);
    expect(copy).toMatchObject({ name: "Parents (Copy)", isSubscribable: true });
    expect(copy.campaign).toEqual({ ...source.campaign, url: `http://localhost/join/${copy.id}` });
    expect((await get(`/distribution-lists/${copy.id}/user-subscriptions`)).total).toBe(0);
    expect((await get(`/distribution-lists/${source.id}/user-subscriptions`)).total).toBe(1);
  });

  it("copies a device group with filters, bases, additions and exclusions", async () => {
    const base = await post("/device-groups", { name: "All", filterType: "ACCEPT" });
    const filter = {
      attribute: "Name",
      comparison: "BEGINS_WITH",
      value: "SEP",
      complement: false,
      caseSensitive: true,
    };
    const source = await post("/device-groups", {
      name: "Hall",
      filterType: "LOGICAL_EXPRESSION",
      logicalExpression: "NOT 1",
      filters: [filter],
      baseDeviceGroupIds: [base.id],
      additionIds: ["SEP1", "SEP2"],
      exclusionIds: ["SEP3"],
    });
    expect(await post(`/device-groups/${source.id}/clone`)).toMatchObject({ ...source, ...OWN, name: "Hall (Copy)" });
    expect((await post(`/device-groups/${source.id}/clone`)).name).toBe("Hall (Copy 2)");
  });

  it("copies a template with its flags, and a security group with its permissions but not its members", async () => {
    const template = await post("/message-templates", {
      name: "Fire",
      subject: "Fire",
      alertTone: "bell",
      subjectCustomizable: true,
      bodyDisplay: "hide",
      metadata: { colour: "red" },
    });
    const copy = await post(`/message-templates/${template.id}/clone`);
    expect(copy).toMatchObject({ ...template, ...OWN, name: "Fire (Copy)" });

    const user = await api.user("Bob");
    const group = await post("/security-groups", { name: "Senders" });
    await post(`/security-groups/${group.id}/permissions`, { verb: "post", spec: "/notifications" });
    await post(`/security-groups/${group.id}/members`, { userId: user.id });
    const groupCopy = await post(`/security-groups/${group.id}/clone`);
    const permissions = await get(`/security-groups/${groupCopy.id}/permissions`);
    expect(permissions.data).toMatchObject([{ verb: "post", spec: "/notifications" }]);
    expect((await get(`/security-groups/${groupCopy.id}/members`)).total).toBe(0);
  });

  it("wants the permission to post to it, and is nothing but a POST", async () => {
    const source = await post("/distribution-lists", { name: "Secret" });
    const at = `/distribution-lists/${source.id}/clone`;
    const reader = await api.user("Cid", "get /distribution-lists/*", "post /distribution-lists");
    const cloner = await api.user("Dee", "get /distribution-lists/*", "post /distribution-lists/*/clone");
    expect((await api.call("POST", at, { json: {}, token: reader.token })).status).toBe(403);
    expect((await api.call("POST", at, { token: cloner.token })).body.name).toBe("Secret (Copy)");
    const missing = at.replace(source.id, "00000000-0000-4000-8000-000000000000");
    expect((await api.call("POST", missing)).body).toMatchObject({ status: 404, type: "not-found" });
    expect((await api.call("GET", at)).status).toBe(405);
    expect((await api.call("POST", "/users/00000000-0000-4000-8000-000000000000/clone")).status).toBe(404);
  });
});
