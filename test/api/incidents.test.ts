import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accept } from "../../src/notifications/engine/stages/accept.ts";
import type { NotificationService, SendOptions } from "../../src/notifications/notification-service.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../src/resources/devices/on-premises-extension.ts";
import notifications from "../../src/resources/notifications/notifications.ts";
import type { ActorContext } from "../../src/store/store.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { PNG_BYTES } from "./sample-files.ts";

let api: ApiFixture;
let endpointId: string;
/** Accepts messages and carries none. */
const notificationService = {
  countRecipients: async () => null,
  findReachWarnings: async () => [],
  send: (input: Record<string, unknown>, by: ActorContext, options: SendOptions) =>
    accept(input, by, options, {
      store: api.store,
      clock: { now: Date.now },
      endpointId: () => endpointId,
      laneOf: () => "normal",
    } as never),
  sendAllClear: async (id: string, { subject }: { subject: string }, by: ActorContext, { source }: SendOptions) => {
    const input = { subject, followUpForNotificationId: id };
    return notificationService.send(input, by, { source, sameRecipientsAs: [id] } as SendOptions);
  },
} as unknown as NotificationService;
const NOTHING = "00000000-0000-7000-8000-000000000000";

beforeAll(async () => {
  api = await openApi(makeTempDir(), { needs: { notificationService } });
  const onprem = { name: "onprem", type: "endpoint-proxy" };
  await api.store.create(extensions, onprem, api.system, { id: ONPREM_EXTENSION_ID });
  const here = { extensionId: ONPREM_EXTENSION_ID, name: "Here" };
  endpointId = (await api.store.create(endpoints, here, api.system)).id;
});
afterAll(() => api.close());

const post = async (path: string, json: object, token = api.token) =>
  (await api.call("POST", path, { json, token })).body;
const get = async (path: string, token = api.token) => (await api.call("GET", path, { token })).body;
const newPlan = async (more: object = {}) => (await post("/incident-plans", { name: "Fire", ...more })).id as string;
const send = (more: object) => post("/notifications", { subject: "Fire", userIds: [api.adminId], ...more });

describe("an incident plan", () => {
  it("lists what it offers, as far as the caller sees that", async () => {
    const template = await post("/message-templates", { name: "Evacuate", subject: "Out" });
    const other = await post("/message-templates", { name: "Other", subject: "Other" });
    const id = await newPlan({ messageTemplateIds: [template.id] });
    const at = `/incident-plans/${id}/message-templates`;
    expect(await get(at)).toMatchObject({ total: 1, data: [{ id: template.id, permissions: ["get"] }] });
    expect(await get(`${at}/${template.id}`)).toMatchObject({ id: template.id, name: "Evacuate" });
    expect((await api.call("GET", `${at}/${other.id}`)).status).toBe(404);
    expect((await api.call("POST", at, { json: {} })).status).toBe(405);
    expect(await get(`/incident-plans/${id}/scenarios`)).toMatchObject({ total: 0, data: [] });
    const stranger = await api.user("Plans only", "get /incident-plans/*", "get /incident-plans/*/message-templates");
    expect(await get(at, stranger.token)).toMatchObject({ total: 0 });
    expect(await get(`/incident-plans/${id}`)).toMatchObject({
      messageTemplates: [{ name: "Evacuate" }],
      scenarios: [],
    });
    const bare = await get(`/incident-plans/${id}?includeMessageTemplates=false&includeScenarios=false`);
    expect(bare).not.toHaveProperty("messageTemplates");
    expect(bare).not.toHaveProperty("scenarios");
  });

  it("keeps files and links, whose bytes are read back as they came", async () => {
    const id = await newPlan();
    const at = `/incident-plans/${id}/resources`;
    const map = new File([PNG_BYTES], "map.png", { type: "image/png" });
    const made = await api.call("POST", at, {
      multipart: [
        ["name", "Map"],
        ["type", "file"],
        ["file", map],
      ],
    });
    expect(made.body).toMatchObject({
      file: PNG_BYTES.length,
      fileName: "map.png",
      contentType: "image/png",
      size: PNG_BYTES.length,
    });
    await post(at, { name: "Site", type: "hyperlink", hyperlink: "https://example.org/" });
    expect((await api.call("GET", `${at}/${made.body.id}/file`)).headers.get("content-type")).toBe("image/png");
    expect(await post(at, { name: "x", type: "file" })).toMatchObject({
      type: "required",
      errors: [{ field: "file" }],
    });
    expect(await post(at, { name: "x", type: "hyperlink" })).toMatchObject({ errors: [{ field: "hyperlink" }] });
    expect(await get(`/incident-plans/${id}`)).not.toHaveProperty("resources");
    const { resources } = await get(`/incident-plans/${id}?includeResources=true`);
    expect(resources.map(({ name }: { name: string }) => name)).toEqual(["Map", "Site"]);
    const incident = await post("/incidents", { incidentPlanId: id });
    const copied = await get(`/incidents/${incident.id}/resources`);
    expect(copied).toMatchObject({ total: 2, data: [{ name: "Map", size: PNG_BYTES.length }, { name: "Site" }] });
    const bytes = await api.call("GET", `/incidents/${incident.id}/resources/${copied.data[0].id}/file`);
    expect(bytes.headers.get("content-length")).toBe(String(PNG_BYTES.length));
  });
});

describe("an incident", () => {
  it("accounts for who plays a role of its plan at its site", async () => {
    const [ann, bob] = [await api.user("Ann"), await api.user("Bob")];
    const list = await post("/distribution-lists", { name: "Wing" });
    await post(`/users/${bob.id}/subscriptions`, { distributionListId: list.id });
    const role = await post("/site-roles", { name: "Staff" });
    const site = await post("/sites", { name: "West" });
    const players = { siteRoleId: role.id, userIds: [ann.id], distributionListIds: [list.id] };
    await post(`/sites/${site.id}/recipients`, players);
    const rostering = { type: "roll-call", statuses: ["safe", "missing"], locations: ["Gym"] };
    const roles = { rosterMemberSiteRoleIds: [role.id] };
    expect(
      await post("/incident-plans", { name: "X", rostering: { rosterMemberSiteRoleIds: [NOTHING] } }),
    ).toMatchObject({
      errors: [{ field: "rostering.rosterMemberSiteRoleIds" }],
    });
    const plan = await newPlan({ rostering: { ...rostering, ...roles } });
    expect(await get(`/incident-plans/${plan}?includeRostering=true`)).toMatchObject({
      rosterMemberSiteRoles: [{ id: role.id, name: "Staff" }],
      rosterManagerSiteRoles: [],
    });
    const incident = await post("/incidents", { incidentPlanId: plan });
    expect(incident.rostering).toEqual(rostering);
    const at = `/incidents/${incident.id}`;
    await post(`${at}/site`, { siteId: site.id });
    const say = (details: object) => post(`${at}/activities`, { type: "roster-status", details });
    expect(await say({ userId: ann.id, status: "missing" })).toMatchObject({ details: { message: "Ann: missing" } });
    expect(await say({ userId: ann.id, status: "safe", location: "Gym" })).toMatchObject({ type: "roster-status" });
    expect((await get(`${at}/roster`)).data).toMatchObject([
      { userId: ann.id, name: "Ann", status: "safe", location: "Gym", at: expect.stringMatching(/Z$/) },
      { userId: bob.id, name: "Bob", status: null, location: null, at: null },
    ]);
    for (const [field, details] of [
      ["details.userId", { userId: NOTHING, status: "safe" }],
      ["details.status", { userId: ann.id, status: "fine" }],
      ["details.location", { userId: ann.id, status: "safe", location: "Moon" }],
    ] as const) {
      expect(await say(details)).toMatchObject({ status: 400, errors: [{ field }] });
    }
    const plain = await post("/incidents", { name: "Plain" });
    const step = { type: "roster-status", details: { userId: ann.id, status: "safe" } };
    expect(await post(`/incidents/${plain.id}/activities`, step)).toMatchObject({ status: 409 });
  });

  it("is started, placed, annotated and ended once, and listed while active", async () => {
    const made = await post("/incidents", { name: "Smoke" });
    expect(made).toMatchObject({ name: "Smoke", drill: false, endedAt: null, startedBy: { id: api.adminId } });
    const site = await post("/sites", { name: "North" });
    const at = `/incidents/${made.id}`;
    expect(await post(`${at}/site`, { siteId: site.id })).toMatchObject({ siteId: site.id, site: { name: "North" } });
    expect((await api.call("POST", `${at}/site`, { json: { siteId: made.id } })).body).toMatchObject({
      errors: [{ field: "siteId" }],
    });
    expect(await post(`${at}/activities`, { type: "note", details: { detail: "Door 3" } })).toMatchObject({
      type: "note",
      user: { id: api.adminId },
    });
    const ongoing = async () =>
      (await get("/incidents?ongoingOnly=true&limit=1000")).data.map(({ id }: { id: string }) => id);
    expect(await ongoing()).toContain(made.id);
    expect(await get(`/incidents?siteId=${site.id}`)).toMatchObject({ total: 1 });
    await post(`${at}/activities`, { type: "end-incident" });
    expect((await get(at)).endedAt).not.toBeNull();
    expect((await api.call("POST", `${at}/activities`, { json: { type: "end-incident" } })).status).toBe(409);
    expect(await ongoing()).not.toContain(made.id);
    expect((await get("/incidents?limit=1000")).data.map(({ id }: { id: string }) => id)).toContain(made.id);
    expect((await get(`${at}/activities`)).data.map(({ type }: { type: string }) => type)).toEqual([
      "start-incident",
      "note",
      "end-incident",
    ]);
  });

  it("is started by a notification, whose Idempotency-Key stays valid", async () => {
    const incidentPlanId = await newPlan();
    const sending = {
      json: { subject: "Fire", userIds: [api.adminId], incidentPlanId },
      headers: { "idempotency-key": "one" },
    };
    const [first, again] = [
      await api.call("POST", "/notifications", sending),
      await api.call("POST", "/notifications", sending),
    ];
    expect(again.body.id).toBe(first.body.id);
    const incident = await get(`/incidents/${first.body.incidentId}?includeNotificationCount=true`);
    expect(incident).toMatchObject({
      notificationId: first.body.id,
      notificationCount: 1,
      incidentPlan: { name: "Fire" },
    });
    expect(incident.notificationCreatedAt).toBe(first.body.createdAt);
    await send({ incidentId: incident.id });
    const sent = await get(`/notifications?incidentId=${incident.id}`);
    expect(sent.data.map(({ notificationSource }: { notificationSource: string }) => notificationSource)).toEqual([
      "api",
      "incident",
    ]);
  });

  it("may be run as a drill with the permission to drill, and makes its notifications drills", async () => {
    const { id } = await post("/incidents", { drill: true });
    const rights = [
      "post /drill-notifications",
      "get /incidents/*",
      "get /notifications/*",
      "post /incidents/*/activities",
      "get /users/*",
    ];
    const { token } = await api.user("Driller", ...rights);
    expect(
      await post("/notifications", { subject: "x", userIds: [api.adminId], incidentId: id, drill: true }, token),
    ).toMatchObject({ drill: true });
    const clear = await post(`/incidents/${id}/activities`, { type: "all-clear" }, token);
    expect(api.store.get(notifications, clear.notificationId)).toMatchObject({
      drill: true,
      incidentId: id,
      userIds: [api.adminId],
    });
    const live = await post("/incidents", {});
    await send({ incidentId: live.id });
    expect(
      (await api.call("POST", `/incidents/${live.id}/activities`, { json: { type: "all-clear" }, token })).status,
    ).toBe(403);
    expect(
      await post("/notifications", { subject: "x", userIds: [api.adminId], incidentId: id, drill: false }),
    ).toMatchObject({ errors: [{ field: "drill" }] });
  });

  it("offers the templates of its plan", async () => {
    const one = await post("/message-templates", { name: "1", subject: "a" });
    const two = await post("/message-templates", { name: "2", subject: "b", followUp: true });
    const { id } = await post("/incidents", {
      incidentPlanId: await newPlan({ messageTemplateIds: [one.id, two.id] }),
    });
    const offered = async () =>
      (await get(`/incidents/${id}/message-templates`)).data.map(({ name }: { name: string }) => name);
    expect(await offered()).toEqual(["1"]);
    await send({ incidentId: id });
    expect(await offered()).toEqual(["1", "2"]);
  });
});

describe("the report of an incident", () => {
  it("is served as JSON, and as a page without scripts", async () => {
    const { id } = await post("/incidents", { name: "<b>Smoke</b>" });
    await send({ incidentId: id });
    const timeline = await get(`/incidents/${id}/timeline`);
    expect(timeline.data.map(({ kind }: { kind: string }) => kind)).toEqual(["step", "message"]);
    const report = await get(`/incidents/${id}/report?timeZone=Asia/Tokyo`);
    expect(report).toMatchObject({
      timeZone: "Asia/Tokyo",
      incident: { id },
      messages: [{ subject: "Fire", deliveries: [], people: [] }],
    });
    const page = await api.call("GET", `/incidents/${id}/report/page?timeZone=Asia/Tokyo`);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'none'/,
    );
    expect(page.text).toContain("&#60;b&#62;Smoke");
    expect(page.text).toContain("GMT+9");
  });

  it("requires the permission to read and an existing time zone", async () => {
    const { id } = await post("/incidents", {});
    const { token } = await api.user("Looker", "get /incidents/*");
    for (const part of ["timeline", "report", "report/page"]) {
      expect((await api.call("GET", `/incidents/${id}/${part}`, { token })).status).toBe(403);
      expect((await api.call("GET", `/incidents/${NOTHING}/${part}`)).status).toBe(404);
    }
    for (const part of ["report", "report/page"]) {
      const wrong = await api.call("GET", `/incidents/${id}/${part}?timeZone=Mars/Base`);
      expect(wrong).toMatchObject({ status: 400, body: { errors: [{ field: "timeZone" }] } });
    }
  });
});
