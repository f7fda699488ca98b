import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { derivedId } from "../../src/lib/ids.ts";
import { createSentenceRegistry } from "../../src/lib/sentences/registry.ts";
import devices from "../../src/resources/devices/devices.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import notificationActivities from "../../src/resources/notifications/notification-activities.ts";
import notificationRecipients from "../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../src/resources/notifications/notifications.ts";
import subscriptions from "../../src/resources/people/subscriptions.ts";
import userDevices from "../../src/resources/people/user-devices.ts";
import users from "../../src/resources/people/users.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

const FORMULA = '=HYPERLINK("http://x","y")';
const at = (report: string) => `/reports/${derivedId("reports", report)}`;

const LICENCE = { phoneFilter: { filters: [{ attribute: "Name", comparison: "EQUALS", value: "SEP1" }] } };

let api: ApiFixture;
let ann: string;
let fire: string;
let template: string;
let list: string;

beforeAll(async () => {
  api = await openApi(makeTempDir());
  const { store, system } = api;
  ann = (await store.create(users, { name: FORMULA, email: "ann@example.org" }, system)).id;
  await store.create(users, { name: "Bob", lock: { start: null, end: null }, passwordResetRequired: true }, system);
  list = (await api.call("POST", "/distribution-lists", { json: { name: "Staff" } })).body.id;
  await store.create(subscriptions, { userId: ann, distributionListId: list }, system);
  template = (await api.call("POST", "/message-templates", { json: { name: "T", subject: "Fire" } })).body.id;
  const sent = { stage: "settled", createdAt: Date.UTC(2026, 2, 1) };
  fire = (await store.create(notifications, { subject: "Fire", messageTemplateId: template }, system, sent)).id;
  const { id: other } = await store.create(notifications, { subject: "Other" }, system, sent);
  const answered = {
    confirmationResponse: "Yes, now",
    confirmationResponseTimestamp: Date.UTC(2026, 2, 1, 8),
    read: true,
  };
  for (const notificationId of [fire, other]) {
    const declined = notificationId === other;
    const got = { notificationId, userId: ann, name: FORMULA, declined, ...answered };
    await store.create(notificationRecipients, {}, system, got);
  }
  const said = { notificationId: fire, type: "info", userId: ann, details: { message: "-1 lost" } } as const;
  await store.create(notificationActivities, {}, system, said);
  await store.create(notificationActivities, {}, system, { notificationId: other, type: "abort" });
  const { id: extensionId } = await store.create(extensions, { name: "E", type: "endpoint-proxy" }, system);
  const { id: endpointId } = await store.create(endpoints, { extensionId, name: "Here", config: LICENCE }, system);
  const phone = { extensionId, endpointId, type: "phones", description: "Hall" };
  await store.create(devices, { ...phone, deviceIdentifier: "SEP1" }, system, { lastSeenAt: Date.now() });
  await store.create(devices, { ...phone, deviceIdentifier: "SEP2", defunct: true }, system);
  await store.create(userDevices, { userId: ann, type: "SMS", deviceIdentifier: "+491701" }, system);
});
afterAll(() => api.close());

const report = async (name: string, query = "", token = api.token) =>
  (await api.call("GET", `${at(name)}?${query}`, { token })).body;
const column = async (name: string, query: string, of: string) => {
  const { data } = await report(name, query);
  return (data as Record<string, unknown>[]).map((line) => line[of]);
};
const csv = async (name: string, query = "") => api.call("GET", `${at(name)}?format=csv&${query}`);

describe("reports", () => {
  it("are listed", async () => {
    const { body } = await api.call("GET", "/reports");
    expect(body).toMatchObject({ total: 4, partial: false, next: null });
    expect(body.data.map(({ id }: { id: string }) => `/reports/${id}`).sort()).toEqual(
      ["notification-recipients", "users", "devices", "activity"].map(at).sort(),
    );
    expect((await api.call("GET", `/reports/${ann}`)).status).toBe(404);
  });

  it("list recipients and responses", async () => {
    expect(await report("notification-recipients", `notificationId=${fire}`)).toMatchObject({
      name: "Recipients of notifications",
      data: [
        {
          notificationId: fire,
          subject: "Fire",
          sentAt: "2026-03-01T00:00:00.000Z",
          name: FORMULA,
          read: true,
          answer: "Yes, now",
          answeredAt: "2026-03-01T08:00:00.000Z",
          declined: false,
        },
      ],
    });
    expect(await column("notification-recipients", "", "subject")).toEqual(["Fire", "Other"]);
    expect(await column("notification-recipients", "", "declined")).toEqual([false, true]);
    expect((await csv("notification-recipients")).text).toMatch(/,answeredAt,declined\r\n.*,false\r\n.*,true\r\n$/);
    expect(await column("notification-recipients", `messageTemplateId=${template}`, "subject")).toEqual(["Fire"]);
    expect(await column("notification-recipients", `userId=${api.adminId}`, "subject")).toEqual([]);
    expect(await column("notification-recipients", "endTimestamp=2020-01-01", "subject")).toEqual([]);
    expect(await column("notification-recipients", "beginTimestamp=2020-01-01", "subject")).toHaveLength(2);
    expect(await column("notification-recipients", "sentLastDays=1", "subject")).toHaveLength(2);
  });

  it("list accounts", async () => {
    expect(await column("users", "", "name")).toEqual(["Admin", FORMULA, "Bob"]);
    expect(await column("users", `distributionListIds[]=${list}`, "name")).toEqual([FORMULA]);
    const [group] = (await api.call("GET", "/security-groups")).body.data;
    expect(await column("users", `securityGroupIds[]=${group.id}`, "name")).toEqual(["Admin"]);
    expect(await column("users", `securityGroupIds[]=${group.id}&distributionListIds[]=${list}`, "name")).toHaveLength(
      2,
    );
    expect(await column("users", "isLocked=true", "name")).toEqual(["Bob"]);
    expect(await column("users", "isLocked=false", "name")).toEqual(["Admin", FORMULA]);
    expect(await column("users", "passwordResetRequired=true", "name")).toEqual(["Bob"]);
    expect(await column("users", "userTypes[]=application", "name")).toEqual([]);
    expect(await column("users", `domainId=${api.rootId}`, "name")).toHaveLength(3);
    expect(await column("users", `domainId=${ann}`, "name")).toEqual([]);
  });

  it("list devices", async () => {
    const names = (query: string) => column("devices", query, "deviceIdentifier");
    expect(await names("")).toEqual(["SEP1", "SEP2", "+491701"]);
    expect(await names("includeUserDevices=false")).toEqual(["SEP1", "SEP2"]);
    expect(await names("includeEndpointDevices=false")).toEqual(["+491701"]);
    expect(await names("devicesDisabled=true")).toEqual(["SEP2"]);
    expect(await names("devicesUnverified=true")).toEqual(["+491701"]);
    expect(await names("devicesExcluded=true")).toEqual(["SEP2"]);
    expect(await names("devicesExcluded=false")).toEqual(["SEP1", "+491701"]);
    expect(await names("receivedLastDays=1")).toEqual(["SEP1"]);
    expect(await column("devices", "includeEndpointDevices=false", "owner")).toEqual([FORMULA]);
  });

  it("list what happened to notifications", async () => {
    expect(await column("activity", "", "type")).toEqual(["info", "abort"]);
    expect(await report("activity", "type=info")).toMatchObject({
      data: [{ notificationId: fire, subject: "Fire", user: FORMULA, words: "-1 lost" }],
    });
    expect(await column("activity", `notificationId=${fire}`, "type")).toEqual(["info"]);
    expect(await column("activity", "filterSms=true", "type")).toEqual([]);
  });

  it.each([
    ["users", "format=xml", "format"],
    ["activity", "type=dance", "type"],
    ["activity", "sentLastDays=0", "sentLastDays"],
    ["activity", "beginTimestamp=soon", "beginTimestamp"],
    ["notification-recipients", "notificationId=x", "notificationId"],
  ])("of %s refuse %s", async (name, query, field) => {
    expect(await report(name, query)).toMatchObject({ status: 400, errors: [{ field }] });
  });

  it("escape CSV cells that a spreadsheet would run", async () => {
    const { headers, text } = await csv("notification-recipients", `notificationId=${fire}`);
    expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(headers.get("content-disposition")).toBe('attachment; filename="recipients-of-notifications.csv"');
    expect(text).toBe(
      `notificationId,subject,sentAt,name,email,type,read,readAt,answer,answeredAt,declined\r\n${fire},Fire,2026-03-01T00:00:00.000Z,"'=HYPERLINK(""http://x"",""y"")",,,true,,"Yes, now",2026-03-01T08:00:00.000Z,false\r\n`,
    );
    expect((await csv("activity", "type=info")).text).toContain(",'-1 lost\r\n");
    expect((await csv("devices", "includeEndpointDevices=false")).text).toContain(",'+491701,");
    expect((await csv("users", "userTypes[]=support")).text.split("\r\n")).toHaveLength(2);
  });

  it("hold only what the caller may see", async () => {
    const { token } = await api.user("Reporter", "get /reports/*");
    expect((await report("activity", "", token)).data).toEqual([]);
    expect((await report("users", "", token)).data).toHaveLength(1);
    const nobody = await api.user("Nobody");
    expect((await api.call("GET", at("users"), { token: nobody.token })).status).toBe(403);
  });

  it("hold more rows than a page, each once", async () => {
    await api.store.write((tx) => {
      for (let n = 0; n < 450; n++) tx.create(users, { name: `Extra ${n}`, type: "support" }, api.system);
    });
    const names = await column("users", "userTypes[]=support", "name");
    expect(names).toHaveLength(450);
    expect(new Set(names).size).toBe(450);
  });
});

describe("reports of extensions", () => {
  const badges = { key: "badges", name: "Badges", description: "Used badges.", columns: ["person", "=door"] };
  const asked: unknown[] = [];
  const offered = {
    ...{ ...badges, id: derivedId("reports", "doors/badges") },
    parameters: [
      { name: "building", description: "Only this building.", required: true },
      { name: "floor", description: "Only this floor.", required: false },
    ],
  };
  let other: ApiFixture;
  beforeAll(async () => {
    other = await openApi(makeTempDir(), {
      needs: {
        plugins: {
          ...{ handleRequest: async () => null, configFields: () => ({}), profileSchema: () => null },
          sentences: createSentenceRegistry(),
          ...{ restart: async () => {}, readLog: () => null, reports: () => [offered] },
          async readReport(id, request) {
            asked.push(request);
            if (request.parameters.building === "gone") return null;
            if (request.parameters.building === "down") return { problem: "the service responded with HTTP 500" };
            const lines = Array.from({ length: 700 }, (_, at) => [FORMULA, at]);
            return id === offered.id ? { lines: [...lines, ["short"], "no line", [{}, true, "more"]] as never } : null;
          },
        },
      },
    });
  });
  afterAll(() => other.close());
  const read = (query: string) => other.call("GET", `/reports/${offered.id}?${query}`);

  it("are listed with their parameters, like the others", async () => {
    const { body } = await other.call("GET", "/reports");
    expect(body.total).toBe(5);
    expect(body.data.at(-1)).toEqual({
      ...{ id: offered.id, name: "Badges", description: "Used badges." },
      parameters: [
        { name: "parameters[building]", description: "Only this building.", required: true },
        { name: "parameters[floor]", description: "Only this floor.", required: false },
      ],
    });
    expect(body.data[0].parameters).toContainEqual({
      ...{ name: "userId", description: "Only this user.", required: false },
    });
  });

  it("are read as JSON and as CSV, line by line", async () => {
    const { status, body } = await read("parameters[building]=A&strict=true");
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: offered.id, name: "Badges" });
    expect(body.data).toHaveLength(703);
    expect(body.data[699]).toEqual({ person: FORMULA, "=door": 699 });
    expect(body.data.slice(700)).toEqual([
      { person: "short", "=door": null },
      { person: null, "=door": null },
      { person: null, "=door": true },
    ]);
    expect(asked.at(-1)).toEqual({ parameters: { building: "A" }, userId: other.adminId });
    const csv = await read("parameters[building]=A&parameters[floor]=2&format=csv");
    expect(csv.text.split("\r\n").slice(0, 2)).toEqual(["person,'=door", `"'=HYPERLINK(""http://x"",""y"")",0`]);
  });

  it.each([
    ["", 400, "required", "parameters.building"],
    ["parameters[building]=", 400, "required", "parameters.building"],
    ["parameters[building]=A&parameters[room]=1", 400, "invalid-value", "parameters.room"],
    ["parameters[building][]=A", 400, "invalid-value", "parameters.building"],
    ["parameters=A", 400, "invalid-value", "parameters"],
    ["parameters[building]=gone", 404, "not-found", undefined],
    ["parameters[building]=down", 502, "upstream", undefined],
  ])("refuse %s", async (query, status, type, field) => {
    const { body, status: found } = await read(query);
    expect([found, body.type, body.errors?.[0]?.field]).toEqual([status, type, field]);
  });

  it("take none of these parameters when they are built in", async () => {
    const { status, body } = await api.call("GET", `${at("users")}?parameters[building]=A`);
    expect([status, body.type]).toEqual([400, "invalid-value"]);
  });
});
