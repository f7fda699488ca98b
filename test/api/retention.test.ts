import { afterAll, beforeAll, describe, expect, it } from "vitest";
import incidents from "../../src/resources/incidents/incidents.ts";
import notifications from "../../src/resources/notifications/notifications.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
const AGED_MS = 100 * 86_400_000;

beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

describe("retention of history over the API", () => {
  it("shows what is due, removes it on request, and shows what was removed", async () => {
    const createdAt = Date.now() - AGED_MS;
    const { id } = await api.store.create(notifications, { subject: "Old" }, api.system, {
      createdAt,
      stage: "settled",
    });
    const before = await api.call("GET", "/retention");
    expect(before.status).toBe(200);
    expect(before.body).toMatchObject({
      ...{ schedule: "15 4 * * *", running: false, lastRun: null, answersDays: 1_095, positionsDays: 30 },
      heldNotifications: 0,
    });
    expect(before.body.due).toContainEqual({
      ...{ kind: "messages", days: 90, notifications: 1, deliveries: 0, recipients: 0 },
      oldestAt: new Date(createdAt).toISOString(),
    });
    const begun = await api.call("POST", "/retention/runs", { json: {} });
    expect(begun.status).toBe(200);
    await expect.poll(async () => (await api.call("GET", "/retention")).body.running).toBe(false);
    const after = (await api.call("GET", "/retention")).body;
    expect(after.lastRun).toMatchObject({ notifications: 1, deliveries: 0 });
    expect(after.due).toContainEqual(expect.objectContaining({ kind: "messages", notifications: 0, oldestAt: null }));
    expect((await api.call("GET", `/notifications/${id}`)).body).toMatchObject({ subject: "Old" });
  });

  it("is open to those with the permission only", async () => {
    const { token } = await api.user("Ann", "get /notifications");
    expect((await api.call("GET", "/retention", { token })).status).toBe(403);
    expect((await api.call("POST", "/retention/runs", { token, json: {} })).status).toBe(403);
  });

  it("keeps an incident under legal hold from being deleted until it is lifted", async () => {
    const { id } = await api.store.create(incidents, { name: "Fire" }, api.system);
    const held = await api.call("PUT", `/incidents/${id}`, { json: { legalHold: true } });
    expect([held.status, held.body.legalHold]).toEqual([200, true]);
    expect((await api.call("DELETE", `/incidents/${id}`)).status).toBe(409);
    await api.call("PUT", `/incidents/${id}`, { json: { legalHold: false } });
    expect((await api.call("DELETE", `/incidents/${id}`)).status).toBe(200);
  });
});
