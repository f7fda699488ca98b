import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ssrcOf } from "../../../../../src/media/rtp.ts";
import confirmationRequests from "../../../../../src/resources/confirmations/confirmation-requests.ts";
import messageTemplates from "../../../../../src/resources/messages/message-templates.ts";
import notificationActivities from "../../../../../src/resources/notifications/notification-activities.ts";
import notifications from "../../../../../src/resources/notifications/notifications.ts";
import type { ActorContext } from "../../../../../src/store/store.ts";
import { FAKE_CLOCK_START } from "../../../../support/fake-clock.ts";
import { type BroadcastFixture, openBroadcasts } from "../../notification-fixture.ts";

let fixture: BroadcastFixture;
let listId: string;
let otherListId: string;
let requestId: string;

beforeAll(async () => {
  fixture = await openBroadcasts();
  listId = await fixture.list("Staff");
  otherListId = await fixture.list("Guests");
  requestId = (await fixture.create(confirmationRequests, { name: "Safe?", options: ["Yes", "No"] })).id;
});
afterAll(() => fixture.close());

const template = async (more: object = {}): Promise<string> =>
  (
    await fixture.create(messageTemplates, {
      name: "Fire",
      subject: "Fire in {{ where }}",
      body: "Leave {{where}} by {{door}}.",
      confirmationRequestId: requestId,
      distributionListIds: [listId],
      ...more,
    })
  ).id;

const faultOf = async (input: Record<string, unknown>): Promise<string> =>
  fixture.send(input).then(
    () => "accepted",
    (error: { type: string; message: string; faults?: { field: string }[] }) =>
      `${error.type} ${error.faults?.map(({ field }) => field).join(",")}`,
  );

describe("accept", () => {
  it("stores the template's message with its recipients, an activity log entry and an event", async () => {
    const messageTemplateId = await template();
    const customVars = { where: "lab 3", door: 2 };
    const row = await fixture.send({ messageTemplateId, customVars }, { source: "scheduled-notification" });
    expect(fixture.store.get(notifications, row.id)).toEqual(row);
    expect(row).toMatchObject({
      messageTemplateId,
      subject: "Fire in lab 3",
      body: "Leave lab 3 by 2.",
      confirmationRequestId: requestId,
      distributionListIds: [listId],
      alertTone: "default",
      priority: "normal",
      priorityLevel: 5,
      notificationSource: "scheduled-notification",
      initiatingEndpointId: fixture.endpointId,
      stage: "resolve",
      ssrc: ssrcOf(row.id),
      expiresAt: null,
      notAfter: FAKE_CLOCK_START + 120_000,
    });
    const entries = fixture.store.find(notificationActivities, { notificationId: row.id });
    expect(entries.map(({ type }) => type)).toEqual(["init-services"]);
    expect(fixture.told).toContainEqual({
      name: "notification.accepted",
      payload: { notificationId: row.id, priority: 5 },
    });
    expect(fixture.store.one("SELECT op FROM changes WHERE row_id = ?", row.id)).toEqual({ op: "create" });
  });

  it.each([
    [{ priority: "critical" }, "api", 0, 900_000],
    [{}, "bell-schedule", 4, 120_000],
    [{ priority: "critical" }, "bell-schedule", 0, 900_000],
    [{ expiration: 30 }, "api", 5, 30_000],
    [{ priority: "critical", expiration: 3_600 }, "api", 0, 3_600_000],
  ] as const)("gives %j from %s the level %d and %d ms of use", async (more, source, level, usefulMs) => {
    const row = await fixture.send({ subject: "Test", distributionListIds: [listId], ...more }, { source });
    expect([row.priorityLevel, (row.notAfter ?? 0) - FAKE_CLOCK_START]).toEqual([level, usefulMs]);
    expect(row.expiresAt).toBe("expiration" in more ? row.notAfter : null);
  });

  const kept: [string, (id: { other: string; list: string; request: string }) => Record<string, unknown>, string][] = [
    ["another subject", () => ({ subject: "Flood" }), "invalid-value subject"],
    ["another list", ({ other }) => ({ distributionListIds: [other] }), "invalid-value distributionListIds"],
    ["no list", () => ({ distributionListIds: [] }), "invalid-value distributionListIds"],
    ["no request", () => ({ confirmationRequestId: null }), "invalid-value confirmationRequestId"],
    ["metadata", () => ({ metadata: { a: 1 } }), "invalid-value metadata"],
    ["two at once", () => ({ body: "x", alertTone: "bell" }), "invalid-value body,alertTone"],
    ["the same subject", () => ({ subject: "Fire in {{ where }}" }), "accepted"],
    ["the same list", ({ list }) => ({ distributionListIds: [list.toUpperCase()] }), "accepted"],
    ["the same request", ({ request }) => ({ confirmationRequestId: request }), "accepted"],
    ["nothing where nothing is", () => ({ userIds: [], expiration: null }), "accepted"],
    ["an urgency", () => ({ priority: "critical" }), "accepted"],
  ];
  it.each(kept)("checks %s against a template that allows no change", async (_what, more, verdict) => {
    const messageTemplateId = await template();
    const input = { messageTemplateId, ...more({ other: otherListId, list: listId, request: requestId }) };
    expect(await faultOf(input)).toBe(verdict);
  });

  it("accepts the same lists in another order, and the same recording", async () => {
    const messageTemplateId = await template({
      distributionListIds: [listId, otherListId],
      audio: await fixture.recording(40),
    });
    const same = { distributionListIds: [otherListId, listId], audio: await fixture.recording(40) };
    expect(await faultOf({ messageTemplateId, ...same })).toBe("accepted");
    const other = { audio: await fixture.recording(60) };
    expect(await faultOf({ messageTemplateId, ...other })).toBe("invalid-value audio");
  });

  it("accepts what the template lets senders change", async () => {
    const messageTemplateId = await template({
      subjectCustomizable: true,
      distributionListIdsCustomizable: true,
      confirmationRequestIdCustomizable: true,
    });
    const changes = { subject: "Flood", distributionListIds: [otherListId], confirmationRequestId: null };
    expect(await fixture.send({ messageTemplateId, ...changes })).toMatchObject(changes);
  });

  it.each([
    ["no subject", { body: "x", distributionListIds: ["L"] }, "required subject"],
    ["nobody to go to", { subject: "x" }, "required distributionListIds"],
    ["an unknown tone", { subject: "x", distributionListIds: ["L"], alertTone: "moo" }, "invalid-value alertTone"],
    [
      "an unknown list",
      { subject: "x", distributionListIds: ["0190aaaa-0000-7000-8000-000000000000"] },
      "invalid-value distributionListIds",
    ],
    [
      "an unknown template",
      { messageTemplateId: "0190aaaa-0000-7000-8000-000000000000" },
      "invalid-value messageTemplateId",
    ],
    [
      "variables that are no object",
      { subject: "x", distributionListIds: ["L"], customVars: [1] },
      "invalid-value customVars",
    ],
    [
      "a variable that is an object",
      { subject: "x", distributionListIds: ["L"], customVars: { a: {} } },
      "invalid-value customVars",
    ],
    [
      "a variable that is too long",
      { subject: "{{a}}", distributionListIds: ["L"], customVars: { a: "é".repeat(256) } },
      "invalid-value customVars",
    ],
    [
      "settings that are no object",
      { subject: "x", distributionListIds: ["L"], extensionSettingsOverrides: 3 },
      "invalid-value extensionSettingsOverrides",
    ],
    [
      "areas before there are any",
      { subject: "x", areaOfInterestIds: ["0190aaaa-0000-7000-8000-000000000000"] },
      "invalid-value areaOfInterestIds",
    ],
  ])("refuses %s", async (_what, input, verdict) => {
    const before = fixture.store.count(notifications, {});
    const given: Record<string, unknown> = { ...input };
    if ("distributionListIds" in input && input.distributionListIds[0] === "L") given.distributionListIds = [listId];
    expect(await faultOf(given)).toBe(verdict);
    expect(fixture.store.count(notifications, {})).toBe(before);
  });

  it("lets a sender use a template's invisible lists, but not name them", async () => {
    const messageTemplateId = await template({ distributionListIdsCustomizable: true });
    const blind: ActorContext = {
      ...fixture.by,
      scope: {
        ...fixture.by.scope,
        visible: (resource) => (resource.name === "distribution-lists" ? "none" : "all"),
      },
    };
    expect((await fixture.send({ messageTemplateId }, {}, blind)).distributionListIds).toEqual([listId]);
    const named = fixture.send({ messageTemplateId, distributionListIds: [otherListId] }, {}, blind);
    await expect(named).rejects.toMatchObject({ faults: [{ field: "distributionListIds" }] });
    const some: ActorContext = {
      ...blind,
      scope: { ...blind.scope, visible: () => ({ sql: "t.id = ?", params: [messageTemplateId] }) },
    };
    const seen = fixture.send({ messageTemplateId, distributionListIds: [otherListId] }, {}, some);
    await expect(seen).rejects.toMatchObject({ faults: [{ field: "distributionListIds" }] });
  });

  it("accepts a recording, and rejects one that cannot be played", async () => {
    const audio = await fixture.recording(100);
    const row = await fixture.send({ subject: "Hear", distributionListIds: [listId], audio });
    expect(row.audio?.size).toBe(audio.file.size);
    const noise = (async function* () {
      yield Buffer.from("RIFF\x10\0\0\0WAVEfmt nothing that sounds");
    })();
    const broken = await fixture.store.files.put(noise, { fileName: "b.wav", maxBytes: 1e6, types: ["audio/wav"] });
    expect(await faultOf({ subject: "Hear", distributionListIds: [listId], audio: broken })).toBe(
      "invalid-value audio",
    );
  });
});
