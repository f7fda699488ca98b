import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ConflictError, invalidValue } from "../../src/lib/errors.ts";
import { notificationHooks } from "../../src/notifications/engine/notification-hooks.ts";
import type { NotificationService, SendOptions } from "../../src/notifications/notification-service.ts";
import notificationActivities from "../../src/resources/notifications/notification-activities.ts";
import notificationRecipients from "../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../src/resources/notifications/notifications.ts";
import { UploadedFile } from "../../src/schema/uploaded-file.ts";
import type { ActorContext, ResourceHooks } from "../../src/store/store.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { createWav, PNG_BYTES } from "./sample-files.ts";

const NOBODY = "00000000-0000-4000-8000-000000000000";

const ALONE = { code: "no-recipients", message: "This message would reach no one: its groups and lists are empty." };

let api: ApiFixture;
let sent: { input: Record<string, unknown>; by: ActorContext; options: SendOptions }[] = [];
let told: unknown[] = [];

/** Stores what it is told, sends nothing. */
const notificationService = {
  async send(input: Record<string, unknown>, by: ActorContext, options: SendOptions) {
    sent.push({ input, by, options });
    return api.store.create(notifications, input, by);
  },
  countRecipients: async () => null,
  findReachWarnings: async ({ subject }: { subject: string | null }) => (subject === "Alone" ? [ALONE] : []),
  abort: (id: string, by: ActorContext) => activity({ notificationId: id, type: "abort" }, by),
  expire: (id: string, by: ActorContext) => activity({ notificationId: id, type: "expire" }, by),
  async recordAnswer(notificationId: string, userId: string, confirmationOption: string, by: ActorContext) {
    if (confirmationOption === "Perhaps") throw invalidValue("confirmationOption");
    return activity({ notificationId, userId, type: "confirmation", confirmationOption }, by);
  },
  setReadStatus: (notificationId: string, userId: string, read: boolean, by: ActorContext) =>
    activity({ notificationId, userId, type: "set-read-status", readStatus: read ? "read" : "unread" }, by),
  async retry(id: string, by: ActorContext) {
    if (api.store.get(notifications, id)?.subject === "Reached") throw new ConflictError("Every device was reached.");
    told.push({ retry: id, by: by.actor.userId });
    return api.store.get(notifications, id);
  },
  async decideApproval(id: string, decision: string, by: ActorContext) {
    told.push({ decideApproval: id, decision, by: by.actor.userId });
    return api.store.get(notifications, id);
  },
  async sendAllClear(id: string, words: object, by: ActorContext) {
    told.push({ allClear: id, words, by: by.actor.userId });
    return api.store.create(notifications, { subject: "All clear" }, by);
  },
} as unknown as NotificationService;

function activity(input: object, by: ActorContext) {
  told.push({ ...input, by: by.actor.userId });
  return api.store.create(notificationActivities, input, api.system);
}

beforeAll(async () => {
  const behaviours = { notifications: { present: notificationHooks.present } as unknown as ResourceHooks };
  api = await openApi(makeTempDir(), { needs: { notificationService }, behaviours });
});
beforeEach(() => {
  sent = [];
  told = [];
});
afterAll(() => api.close());

const send = async (json: object) => (await api.call("POST", "/notifications", { json })).body;
const reach = (notificationId: string, userId: string, row: object = {}) =>
  api.store.create(notificationRecipients, { notificationId }, api.system, { userId, name: "R", ...row });

describe("sending", () => {
  it("hands the same message over from JSON, form and multipart", async () => {
    const json = { subject: "Fire", userIds: [api.adminId], expiration: 60, draft: false, customVars: { room: "12" } };
    const form = [
      ["custom-vars", '{"room":"12"}'],
      ["draft", "false"],
      ["user-ids[]", api.adminId],
      ["expiration", "60"],
      ["subject", "Fire"],
    ] as const;
    for (const sending of [{ json }, { form }, { multipart: form }]) {
      const { status, body } = await api.call("POST", "/notifications", sending);
      expect(status).toBe(200);
      expect(body).toMatchObject({ subject: "Fire", userIds: [api.adminId], permissions: ["get", "delete"] });
    }
    expect(sent.map(({ input }) => input)).toEqual([json, json, json]);
    expect(sent[0]?.options).toEqual({ source: "api" });
    expect(sent[0]?.by.actor).toMatchObject({ kind: "user", userId: api.adminId, address: "127.0.0.1" });
  });

  it("says in the response why a message reaches no one, and sends it", async () => {
    for (const draft of [false, true]) {
      const { status, body } = await api.call("POST", "/notifications", { json: { subject: "Alone", draft } });
      expect([status, body.warnings]).toEqual([
        200,
        [{ ...ALONE, messageSentence: { code: "reach.empty", params: {} } }],
      ]);
    }
    expect(sent).toHaveLength(2);
    expect((await send({ subject: "Fire" })).warnings).toEqual([]);
  });

  it("accepts a recording and a picture and detects their types by content", async () => {
    const upload = (audio: Uint8Array<ArrayBuffer>, name: string) =>
      api.call("POST", "/notifications", {
        multipart: [
          ["subject", "S"],
          ["audio", new File([audio], name)],
          ["image", new File([PNG_BYTES], "a.png")],
        ],
      });
    const first = await upload(createWav(0.1), "first.wav");
    expect(first.body).toMatchObject({ audio: createWav(0.1).length, image: PNG_BYTES.length });
    expect(sent[0]?.input.audio).toBeInstanceOf(UploadedFile);
  });

  it("requires the permission to send; with the permission to drill, sends drills", async () => {
    const sender = await api.user("Ann", "post /notifications", "get /notifications/*");
    const driller = await api.user("Bob", "post /drill-notifications", "get /notifications/*");
    const nobody = await api.user("Cid");
    const post = async (token: string, drill?: unknown) =>
      (await api.call("POST", "/notifications", { json: { subject: "S", drill }, token })).status;
    expect(await post(sender.token)).toBe(200);
    expect(await post(sender.token, true)).toBe(200);
    expect(await post(driller.token, true)).toBe(200);
    expect(await post(driller.token, "true")).toBe(200);
    expect(await post(driller.token, "yes")).toBe(403);
    expect(await post(driller.token)).toBe(403);
    expect(await post(nobody.token, true)).toBe(403);
    expect(sent).toHaveLength(4);
  });

  it("answers 4xx to an invalid notification", async () => {
    const bad = [
      [{ json: [] }, 400],
      [{ body: "{", headers: { "content-type": "application/json" } }, 400],
      [{ body: "x", headers: { "content-type": "text/plain" } }, 415],
      [{ json: { subject: "S", audio: "text" } }, 400],
      [{ multipart: [["audio", new File([PNG_BYTES], "a.wav")]] as const }, 415],
    ] as const;
    for (const [sending, status] of bad) {
      const { body } = await api.call("POST", "/notifications", sending);
      expect(body).toMatchObject({ status, requestId: expect.any(String) });
    }
  });
});

describe("ending", () => {
  it.each(["abort", "expire"])("by %s is written to the diary", async (type) => {
    const { id } = await send({ subject: "S" });
    const at = `/notifications/${id}/activities`;
    const { status, body } = await api.call("POST", at, { form: [["type", type]] });
    expect(status).toBe(200);
    expect(body).toMatchObject({ type, notificationId: id, permissions: ["get"] });
    expect(told).toEqual([{ notificationId: id, type, by: api.adminId }]);
    expect((await api.call("GET", `${at}/${body.id}`)).body).toEqual(body);
    expect((await api.call("GET", at)).body.data).toEqual([body]);
  });

  it("is refused for other types, other notifications and other users", async () => {
    const { id } = await send({ subject: "S" });
    const at = `/notifications/${id}/activities`;
    const reader = await api.user("Dee", "get /notifications/*");
    const typeFault = (type: string) => ({ status: 400, errors: [{ field: "type", type }] });
    expect((await api.call("POST", at, { json: {} })).body).toMatchObject(typeFault("required"));
    expect((await api.call("POST", at, { json: { type: "info" } })).body).toMatchObject(typeFault("invalid-value"));
    expect((await api.call("POST", at, { json: { type: "abort" }, token: reader.token })).status).toBe(403);
    const other = at.replace(id, NOBODY);
    expect((await api.call("POST", other, { json: { type: "abort" } })).status).toBe(404);
    expect(told).toEqual([]);
  });

  it("requires the permission to abort for an emergency; its all-clear needs the permission to send", async () => {
    const { id } = await send({ subject: "Lockdown", priority: "critical" });
    const { token } = await api.user("Eve", "post /notifications", "get /notifications/*");
    const denied = { status: 403, type: "forbidden", message: "Permission denied." };
    for (const type of ["abort", "expire"]) {
      const at = `/notifications/${id}/activities`;
      expect((await api.call("POST", at, { json: { type }, token })).body).toMatchObject(denied);
    }
    expect((await api.call("DELETE", `/notifications/${id}`, { token })).body).toMatchObject(denied);
    expect((await api.call("POST", `/notifications/${id}/all-clear`, { token })).status).toBe(200);
    expect(told).toMatchObject([{ allClear: id }]);
  });
});

describe("a notification that waits for approval", () => {
  it("is approved with the permission to send live", async () => {
    const { id } = await send({ subject: "Lockdown", priority: "critical" });
    const at = `/notifications/${id}/approval`;
    const driller = await api.user("Finn", "post /drill-notifications", "get /notifications/*");
    const second = await api.user("Gil", "post /notifications", "get /notifications/*");
    expect((await api.call("POST", at, { json: { decision: "approve" }, token: driller.token })).status).toBe(403);
    expect((await api.call("POST", at, { json: { decision: "perhaps" }, token: second.token })).status).toBe(400);
    expect((await api.call("POST", at, { json: {}, token: second.token })).status).toBe(400);
    for (const decision of ["approve", "refuse"]) {
      expect((await api.call("POST", at, { json: { decision }, token: second.token })).status).toBe(200);
    }
    expect(told).toEqual(["approve", "refuse"].map((decision) => ({ decideApproval: id, decision, by: second.id })));
    const waiting = await api.call("GET", "/notifications?approval=waiting");
    expect(waiting.body).toMatchObject({ total: 0, data: [] });
  });
});

describe("a recipient", () => {
  it("answers and reads, with the particulars inside details or beside them", async () => {
    const ann = await api.user("Ann");
    const { id } = await send({ subject: "S" });
    await reach(id, ann.id);
    const at = `/users/${ann.id}/notifications/${id}/activities`;
    const post = (sending: object) => api.call("POST", at, { ...sending, token: ann.token });
    const answers = [
      await post({ json: { type: "confirmation", details: { confirmationOption: "Yes" } } }),
      await post({
        form: [
          ["type", "confirmation"],
          ["details[confirmationOption]", "Yes"],
        ],
      }),
      await post({
        multipart: [
          ["type", "confirmation"],
          ["confirmation-option", "Yes"],
        ],
      }),
      await post({ json: { type: "set-read-status", details: { readStatus: "read" } } }),
      await post({ json: { type: "set-read-status", readStatus: "unread" } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const confirmation = { notificationId: id, userId: ann.id, type: "confirmation", confirmationOption: "Yes" };
    const reading = { notificationId: id, userId: ann.id, type: "set-read-status" };
    expect(told).toEqual([
      ...[confirmation, confirmation, confirmation, { ...reading, readStatus: "read" }].map((each) => ({
        ...each,
        by: ann.id,
      })),
      { ...reading, readStatus: "unread", by: ann.id },
    ]);
    expect(answers[0]?.body).toMatchObject(confirmation);
    const own = await api.call("GET", at, { token: ann.token });
    expect(own.body.data.map((each: { type: string }) => each.type)).toHaveLength(5);
  });

  it("gets an error that names the problem of a response", async () => {
    const bob = await api.user("Bob");
    const { id } = await send({ subject: "S" });
    const at = `/users/${bob.id}/notifications/${id}/activities`;
    const post = async (json: object, token = bob.token) => (await api.call("POST", at, { json, token })).body;
    const yes = { type: "confirmation", details: { confirmationOption: "Yes" } };
    expect(await post(yes)).toMatchObject({ status: 404 });
    await reach(id, bob.id);
    expect(await post({ type: "confirmation" })).toMatchObject({
      errors: [{ field: "confirmationOption", type: "required" }],
    });
    expect(await post({ type: "confirmation", details: { confirmationOption: 3 } })).toMatchObject({ status: 400 });
    expect(await post({ type: "confirmation", details: "Yes" })).toMatchObject({ status: 400 });
    expect(await post({ type: "confirmation", details: { confirmationOption: "Perhaps" } })).toMatchObject({
      status: 400,
    });
    expect(await post({ type: "set-read-status", details: { readStatus: "maybe" } })).toMatchObject({ status: 400 });
    expect(await post({ type: "abort" })).toMatchObject({ status: 400, errors: [{ field: "type" }] });
    expect(await post(yes, (await api.user("Cid")).token)).toMatchObject({ status: 403 });
    expect(told).toEqual([]);
  });

  it("sees the own part of a notification, and hides it from the own list alone", async () => {
    const [ann, bob] = [await api.user("Ann"), await api.user("Bob")];
    const { id } = await send({ subject: "One" });
    const second = await send({ subject: "Two" });
    const at = Date.parse("2026-01-12T08:00:00.000Z");
    await reach(id, ann.id, {
      confirmationResponse: "Yes",
      confirmationResponseTimestamp: at,
      dynamicReply: "Good",
      read: true,
      readTimestamp: at,
    });
    await reach(id, bob.id);
    await reach(second.id, ann.id);
    const list = (who: typeof ann) => api.call("GET", `/users/${who.id}/notifications`, { token: who.token });
    const mine = await list(ann);
    expect(mine.body.total).toBe(2);
    expect(mine.body.data[0]).toMatchObject({
      id,
      subject: "One",
      confirmationResponse: "Yes",
      confirmationResponseTimestamp: "2026-01-12T08:00:00.000Z",
      dynamicReplyText: "Good",
      readTimestamp: "2026-01-12T08:00:00.000Z",
      permissions: ["get", "delete"],
    });
    expect(mine.body.data[1]).toMatchObject({ confirmationResponse: null, readTimestamp: null });
    expect((await api.call("GET", `/notifications/${id}`)).body).not.toHaveProperty("confirmationResponse");

    const own = `/users/${ann.id}/notifications/${id}`;
    expect((await api.call("DELETE", own, { token: bob.token })).status).toBe(403);
    const gone = await api.call("DELETE", own, { token: ann.token });
    expect(gone.body).toEqual({ status: 200, message: `deleted ${id}`, resources: [{ id }] });
    expect((await list(ann)).body).toMatchObject({ total: 1, data: [{ id: second.id }] });
    expect((await api.call("GET", own, { token: ann.token })).status).toBe(404);
    expect((await api.call("DELETE", own, { token: ann.token })).status).toBe(404);
    expect((await list(bob)).body.total).toBe(1);
    expect((await api.call("GET", `/notifications/${id}`)).status).toBe(200);
  });
});

describe("follow-up actions of a notification", () => {
  it("retries with the permission to send the notification", async () => {
    const live = await send({ subject: "S" });
    const drill = await send({ subject: "S", drill: true });
    const driller = await api.user("Bob", "post /drill-notifications", "get /notifications/*");
    const reader = await api.user("Ann", "get /notifications/*");
    const stranger = await api.user("Cid", "post /notifications");
    const retry = (id: string, token = api.token) => api.call("POST", `/notifications/${id}/retry`, { token });
    const answer = await retry(live.id);
    expect([answer.status, answer.body.id]).toEqual([200, live.id]);
    expect((await retry(drill.id, driller.token)).status).toBe(200);
    expect((await retry(live.id, driller.token)).status).toBe(403);
    expect((await retry(drill.id, reader.token)).status).toBe(403);
    expect((await retry(live.id, stranger.token)).status).toBe(404);
    expect((await retry(NOBODY)).status).toBe(404);
    expect(told).toEqual([
      { retry: live.id, by: api.adminId },
      { retry: drill.id, by: driller.id },
    ]);
  });

  it("says in words why a retry makes no sense", async () => {
    const { id } = await send({ subject: "Reached" });
    const { body } = await api.call("POST", `/notifications/${id}/retry`);
    expect(body).toMatchObject({ status: 409, type: "conflict", message: "Every device was reached." });
  });

  it("sends an all-clear with the sender's text", async () => {
    const { id } = await send({ subject: "S" });
    const at = `/notifications/${id}/all-clear`;
    expect((await api.call("POST", at)).body).toMatchObject({ subject: "All clear" });
    const headers = { "Idempotency-Key": "tap" };
    await api.call("POST", at, { json: { subject: "It is over", drill: true, again: true }, headers });
    const reader = await api.user("Ann", "get /notifications/*");
    expect((await api.call("POST", at, { token: reader.token })).status).toBe(403);
    expect((await api.call("POST", at, { json: { subject: "x".repeat(256) } })).body).toMatchObject({
      status: 400,
      errors: [{ field: "subject" }],
    });
    expect(told).toEqual([
      { allClear: id, words: { subject: null, body: null }, by: api.adminId },
      { allClear: id, words: { subject: "It is over", body: null }, by: api.adminId },
    ]);
  });

  it("streams growing counters to users who see the notification", async () => {
    const { id } = await send({ subject: "S" });
    const at = `/notifications/${id}/progress`;
    const { status, body } = await api.call("GET", at);
    expect(status).toBe(200);
    expect(body.points.length).toBeGreaterThan(0);
    expect(body.points[0]).toEqual({
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      sent: 0,
      accepted: 0,
      playing: 0,
      missed: 0,
      passedOver: 0,
    });
    expect((await api.call("GET", at, { token: (await api.user("Bob")).token })).status).toBe(404);
  });
});
