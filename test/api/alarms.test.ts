import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UNACKNOWLEDGED } from "../../src/alarms/acknowledgement.ts";
import alarmActionRows from "../../src/resources/alarms/alarm-actions.ts";
import alarmEvents from "../../src/resources/alarms/alarm-events.ts";
import { ALARM_IDS } from "../../src/resources/alarms/alarm-types.ts";
import alarms from "../../src/resources/alarms/alarms.ts";
import systemHealthEvents from "../../src/resources/alarms/system-health-events.ts";
import deviceGroups from "../../src/resources/devices/device-groups.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import messageTemplates from "../../src/resources/messages/message-templates.ts";
import users from "../../src/resources/people/users.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

const SPEAKERS = `/alarms/${ALARM_IDS.speakers_unregistered}`;
const RED = `/alarms/${ALARM_IDS.onprem_server_red}`;
const UNKNOWN = `/alarms/${ALARM_IDS.scenario_device_resolution_failed}`;

describe("alarms", () => {
  let api: ApiFixture;
  let endpointId: string;
  let messageTemplateId: string;
  beforeAll(async () => {
    api = await openApi(makeTempDir());
    const { store, system } = api;
    const extension = await store.create(extensions, { name: "onprem", type: "endpoint-proxy" }, system);
    endpointId = (await store.create(endpoints, { extensionId: extension.id, name: "Here" }, system)).id;
    messageTemplateId = (await store.create(messageTemplates, { name: "Alarm", subject: "S", body: "B" }, system)).id;
  });
  afterAll(() => api.close());

  it("have fixed ids, and include thresholds and actions only on request", async () => {
    const { body } = await api.call("GET", "/alarms");
    expect(body.total).toBe(13);
    expect(Object.fromEntries(body.data.map(({ type, id }: Record<string, string>) => [type, id]))).toEqual(ALARM_IDS);
    for (const alarm of body.data) {
      expect(alarm).toMatchObject({ status: "OK", muted: false, reasons: [], permissions: ["get", "put"] });
      expect(alarm).not.toHaveProperty("alarmThresholds");
      expect(alarm).not.toHaveProperty("alarmActionIds");
    }
    for (const flag of ["includeThresholds", "includeAlarmThresholds"]) {
      const asked = await api.call("GET", `${SPEAKERS}?${flag}=true&includeActions=true`);
      expect(asked.body).toMatchObject({ alarmThresholds: [], alarmActionIds: [] });
    }
    expectError(await api.call("POST", "/alarms", { json: {} }), 405, "method-not-allowed");
    expectError(await api.call("DELETE", RED), 405, "method-not-allowed");
  });

  it("take a threshold as number or text in each media type, show it as text, and change nothing else", async () => {
    const other = { status: "ACTIVE", type: "token_expiration", id: ALARM_IDS.speakers_unregistered };
    const id = async (sending: object): Promise<string> => {
      expect((await api.call("PUT", SPEAKERS, sending)).body).toMatchObject({ muted: true, status: "OK" });
      const { body } = await api.call("GET", `${SPEAKERS}?includeThresholds=true`);
      expect(body.type).toBe("speakers_unregistered");
      const [shown] = body.alarmThresholds;
      expect(body.alarmThresholds).toEqual([
        { id: shown.id, alarmId: ALARM_IDS.speakers_unregistered, endpointId, threshold: "7" },
      ]);
      return shown.id as string;
    };
    const given = await id({ json: { ...other, muted: true, alarmThresholds: [{ endpointId, threshold: 7 }] } });
    const pairs = [
      ["muted", "true"],
      ["alarmThresholds[0][id]", given],
      ["alarmThresholds[0][endpointId]", endpointId],
      ["alarmThresholds[0][threshold]", "7"],
    ] as const;
    expect(await id({ form: pairs })).toBe(given);
    expect(await id({ multipart: pairs })).toBe(given);
    const wrong = await api.call("PUT", RED, { json: { alarmThresholds: [{ endpointId, threshold: 7 }] } });
    expectError(wrong, 400, "invalid-value", "alarmThresholds");
    const none = await api.call("PUT", SPEAKERS, { json: { muted: false, alarmThresholds: null } });
    expect(none.body.muted).toBe(false);
    expect((await api.call("GET", `${SPEAKERS}?includeThresholds=true`)).body.alarmThresholds).toEqual([]);
  });

  it("are acknowledged while active, with a note and the acknowledging user, and not by an update", async () => {
    const at = `${RED}/acknowledge`;
    expectError(await api.call("POST", at, { json: {} }), 409, "conflict");
    const id = ALARM_IDS.onprem_server_red;
    await api.store.write((tx) => void tx.update(alarms, id, {}, api.system, { status: "ACTIVE" }));
    expectError(await api.call("POST", at, { json: { note: "x".repeat(256) } }), 400, "invalid-value", "note");
    expectError(await api.call("POST", at, { json: {}, token: (await api.user("Bob")).token }), 403, "forbidden");
    const forged = await api.call("PUT", RED, { json: { acknowledgedBy: "Somebody else" } });
    expect(forged.body).toMatchObject({ acknowledgedAt: null, acknowledgedBy: null });
    const { status, body } = await api.call("POST", at, { json: { note: "On my way" } });
    expect(status).toBe(200);
    const by = api.store.get(users, api.adminId)?.name;
    expect(body).toMatchObject({ id, status: "ACTIVE", acknowledgedBy: by, acknowledgementNote: "On my way" });
    expect(body.acknowledgedAt).toMatch(/^\d{4}-.*Z$/);
    const again = await api.call("POST", at, { json: {} });
    expect(again.body).toMatchObject({ acknowledgedBy: by, acknowledgementNote: null });
    await api.store.write((tx) => void tx.update(alarms, id, {}, api.system, { status: "OK", ...UNACKNOWLEDGED }));
  });

  it("have actions; a change of one returns the alarm", async () => {
    const group = await api.store.create(deviceGroups, { name: "Halls" }, api.system);
    const userIds = [api.adminId];
    const blank = await api.call("POST", `${RED}/actions`, { json: { triggerOnStatus: "ACTIVE", userIds } });
    expectError(blank, 400, "invalid-value", "userIds");
    const input = { alarmId: ALARM_IDS.onprem_server_red, triggerOnStatus: "ACTIVE", messageTemplateId };
    const made = await api.call("POST", `${RED}/actions`, { json: { ...input, userIds, deviceGroupIds: [group.id] } });
    expect(made.body).toMatchObject({
      ...input,
      userIds,
      users: [{ id: api.adminId }],
      messageTemplate: { name: "Alarm" },
    });
    const at = `${RED}/actions/${made.body.id}`;
    const changed = await api.call("PUT", at, { form: [["trigger-on-status", "OK"]] });
    expect(changed.body).toMatchObject({
      id: ALARM_IDS.onprem_server_red,
      type: "onprem_server_red",
      alarmActionIds: [made.body.id],
      alarmThresholds: [],
    });
    expect(api.store.get(alarmActionRows, made.body.id)?.triggerOnStatus).toBe("OK");
    expectError(await api.call("PUT", at, { json: { messageTemplateId: null } }), 400, "invalid-value", "userIds");
    for (const path of [
      `/message-templates/${messageTemplateId}/alarm-dependents`,
      `/device-groups/${group.id}/alarm-action-dependents`,
    ]) {
      expect((await api.call("GET", path)).body.data).toMatchObject([
        { resourceId: made.body.id, resourceName: "onprem_server_red", parentResourceId: ALARM_IDS.onprem_server_red },
      ]);
    }
    expectError(await api.call("DELETE", `/message-templates/${messageTemplateId}`), 409, "conflict");
    expect((await api.call("DELETE", at)).body.message).toBe(`deleted ${made.body.id}`);
  });

  it("show the administration's list once an action goes to it", async () => {
    const flag = "includeAdministrationDistributionList=true";
    expect((await api.call("GET", `${RED}?${flag}`)).body.administrationDistributionList).toBeNull();
    await api.call("POST", `${RED}/actions`, { json: { triggerOnStatus: "OK" } });
    const { id, name } = (await api.call("GET", `${RED}?${flag}`)).body.administrationDistributionList;
    expect(name).toBe("Administration");
    const subscribed = await api.call("GET", `/users/${api.adminId}/subscriptions`);
    expect(subscribed.body.data).toMatchObject([{ distributionListId: id }]);
  });

  it("let people set one of them OK, while it is active", async () => {
    const post = (path: string, status: string) => api.call("POST", `${path}/events`, { json: { status } });
    expectError(await post(RED, "OK"), 400, "invalid-value", "alarmId");
    expectError(await post(UNKNOWN, "ACTIVE"), 400, "invalid-value", "status");
    expectError(await post(UNKNOWN, "BROKEN"), 400, "invalid-value", "status");
    expectError(await post(UNKNOWN, "OK"), 409, "conflict");
  });

  it("show events with all members of `event`, and what a mute would have kept quiet", async () => {
    const alarmId = ALARM_IDS.onprem_server_red;
    const reasons = ["The disk is full."];
    const about = { endpointId, endpointName: "Here", reasons };
    const { id } = await api.store.create(alarmEvents, { alarmId, status: "ACTIVE" }, api.system, about);
    await api.store.create(alarmEvents, { alarmId, status: "OK" }, api.system, about);
    expect((await api.call("GET", `${RED}/events/${id}`)).body).toMatchObject({
      ...{ alarmId, status: "ACTIVE", ...about, permissions: ["get"] },
      event: { scenarioId: null, scenarioName: null, reasons },
    });
    expect((await api.call("GET", `${RED}/events?createdAt__gt=2000-01-01`)).body.total).toBe(2);
    const preview = async (query: string) => (await api.call("GET", `${RED}/mute-preview?${query}`)).body;
    expect(await preview("reason=disk")).toMatchObject({ total: 2, withheld: 1, events: [{ status: "OK" }, { id }] });
    expect(await preview(`reason=memory&endpointId=${endpointId}`)).toEqual({ events: [], total: 0, withheld: 0 });
    expect(await preview(`endpointId=${ALARM_IDS.token_expiration}`)).toMatchObject({ total: 0 });
  });

  it("are returned with the history of health", async () => {
    const alarmIds = [ALARM_IDS.onprem_server_red];
    const status = "RED" as const;
    const row = { endpointId, endpointName: "Here", status, reasons: ["Full."], alarmIds, event: {} };
    const { id } = await api.store.create(systemHealthEvents, {}, api.system, row);
    const shown = { ...row, alarmId: alarmIds[0], permissions: ["get"] };
    expect((await api.call("GET", `/system-health-events/${id}`)).body).toMatchObject(shown);
    expect((await api.call("GET", "/system-health-events?createdAt__gte=2000-01-01")).body.data).toMatchObject([shown]);
  });

  it("are returned with the runs of the appliance and how they ended", async () => {
    const run = { startedAt: "1970-01-01T00:00:00.000Z", endedAt: null, ending: null, version: "0" };
    expect((await api.call("GET", "/runs?limit=5")).body).toEqual({ runs: [run] });
    expectError(await api.call("GET", "/runs?limit=10001"), 400, "invalid-value", "limit");
  });

  it("are visible to monitoring: the overall state to everyone, numbers with permission", async () => {
    const root = api.base.replace(/\/api\/v1$/, "");
    for (const path of ["/health", "/api/health"]) {
      const answer = await fetch(`${root}${path}`);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toEqual({ status: "GREEN", version: "0", since: "1970-01-01T00:00:00.000Z" });
    }
    expect((await fetch(`${root}/metrics`)).status).toBe(401);
    const headers = { authorization: `Bearer ${(await api.user("Nobody")).token}` };
    expect((await fetch(`${root}/metrics`, { headers })).status).toBe(403);
    const able = { authorization: `Bearer ${(await api.user("Graphs", "get /metrics")).token}` };
    expect((await fetch(`${root}/metrics`, { headers: able })).status).toBe(200);
  });
});
