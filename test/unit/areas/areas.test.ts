import { afterEach, beforeEach, describe, expect, it } from "vitest";
import areasOfInterest from "../../../src/resources/areas/areas-of-interest.ts";
import boundaryTriggerActivities from "../../../src/resources/areas/boundary-trigger-activities.ts";
import boundaryTriggers from "../../../src/resources/areas/boundary-triggers.ts";
import domains from "../../../src/resources/domains/domains.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import notificationRecipients from "../../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../../src/resources/notifications/notifications.ts";
import userDevices from "../../../src/resources/people/user-devices.ts";
import users from "../../../src/resources/people/users.ts";
import { type AreasFixture, openAreas } from "./areas-fixture.ts";

const CENTRE = [179.999, -17] as const;
/** About 213 m east of the centre, beyond the antimeridian. */
const NEAR = [-179.999, -17] as const;
const FAR = [-179.9, -17] as const;

let scene: AreasFixture;
let ann: string;
let phone: string;
beforeEach(async () => {
  scene = await openAreas(true);
  ann = await scene.user("Ann");
  phone = await scene.device(ann);
});
afterEach(() => scene.close());

const acts = () => scene.store.find(boundaryTriggerActivities, {}).map(({ reason, status }) => `${reason} ${status}`);
const subjects = () => scene.store.find(notifications, {}).map(({ subject }) => subject);

describe("a report", () => {
  it("enters and leaves, and a circle of uncertainty on the edge changes nothing", async () => {
    const id = await scene.area("Field", CENTRE, 500);
    await scene.trigger(id);
    await scene.report(ann, phone, NEAR, { accuracyM: 400 });
    expect(scene.shown(phone)).toEqual([]);
    await scene.report(ann, phone, NEAR, { accuracyM: 20 });
    expect(scene.shown(phone)).toEqual([id]);
    await scene.report(ann, phone, NEAR, { accuracyM: 400 });
    expect(scene.shown(phone)).toEqual([id]);
    await scene.report(ann, phone, FAR);
    await scene.report(ann, phone, FAR);
    expect(scene.shown(phone)).toEqual([]);
    expect(subjects()).toEqual(["Ann entered Field", "Ann exited Field"]);
    expect(acts()).toEqual(["entered success", "exited success"]);
  });

  it("that is older than the last changes nothing, and one from the future counts as now", async () => {
    const id = await scene.area("Field", CENTRE, 500);
    const now = scene.clock.now();
    await scene.report(ann, phone, FAR, { at: now - 1_000 });
    await scene.report(ann, phone, NEAR, { at: now - 2_000 });
    expect(scene.shown(phone)).toEqual([]);
    await scene.report(ann, phone, NEAR, { at: now + 3_600_000 });
    expect(scene.shown(phone)).toEqual([id]);
    await scene.clock.advance(1_000);
    await scene.report(ann, phone, FAR);
    expect(scene.shown(phone)).toEqual([]);
  });

  it("counts where the area means the kind of device", async () => {
    const all = await scene.area("All", CENTRE, 500, { syncedDeviceTypes: ["mobile", "desktop"] });
    const desks = await scene.area("Desks", CENTRE, 500, { syncedDeviceTypes: ["desktop"] });
    expect(scene.store.get(areasOfInterest, all)?.syncedDeviceTypes).toEqual([]);
    const desk = await scene.device(ann, "desktop");
    await scene.report(ann, phone, NEAR);
    await scene.report(ann, desk, NEAR);
    expect([scene.shown(phone), scene.shown(desk)]).toEqual([[all], [all, desks].sort()]);
    await scene.store.update(areasOfInterest, desks, { syncedDeviceTypes: ["mobile"] }, scene.by);
    await scene.settle();
    expect([scene.shown(phone), scene.shown(desk)]).toEqual([[all, desks].sort(), [all]]);
  });

  it("leaves coordinates nowhere but with the last report, and there for a day", async () => {
    await scene.area("Field", CENTRE, 500);
    await scene.report(ann, phone, NEAR);
    await scene.report(ann, phone, [1.2345, 2.3456]);
    const known = () => scene.store.all<{ longitude: number | null }>("SELECT longitude FROM area_positions");
    expect(known()).toEqual([{ longitude: 1.2345 }]);
    const audit = JSON.stringify(scene.store.all("SELECT * FROM audit_entries"));
    expect(audit).toContain(phone);
    expect(audit).not.toMatch(/1\.2345|-179\.999/);
    await scene.clock.advance(24 * 3_600_000 + 10 * 60_000);
    expect(known()).toEqual([{ longitude: null }]);
  });
});

describe("a message of a trigger", () => {
  it("is sent in the domain of its template, or else of who crossed, so that their people see it", async () => {
    const [root] = scene.store.find(domains, {}, 1);
    const north = await scene.create(domains, { name: "North", parentId: root?.id });
    const template = await scene.store.create(
      messageTemplates,
      { name: "T", subject: "Hi", userIds: [ann] },
      scene.by,
      { domainId: north.id },
    );
    const lou = (await scene.store.create(users, { name: "Lou" }, scene.by, { domainId: north.id })).id;
    const id = await scene.area("Field", CENTRE, 500);
    const more = { notificationAction: "send-to-message-template-recipients", messageTemplateId: template.id };
    await scene.trigger(id, { ...more, action: "entered", userIds: [ann], subject: null });
    await scene.trigger(id, { action: "entered", userIds: [lou] });
    for (const user of [ann, lou]) await scene.report(user, await scene.device(user), CENTRE);
    await scene.settle();
    const homes = scene.store.find(notifications, {}).map(({ subject, domainId }) => [subject, domainId]);
    expect(homes).toEqual([
      ["Hi", north.id],
      ["Lou entered Field", north.id],
    ]);
  });
});

describe("an area", () => {
  it("that is drawn anew is compared with where everybody is, and fires nothing", async () => {
    const id = await scene.area("Field", [0, 0], 500);
    await scene.trigger(id);
    await scene.report(ann, phone, NEAR);
    const geometryValue = { geometry: { type: "Point", coordinates: CENTRE } };
    await scene.store.update(areasOfInterest, id, { geometryValue }, scene.by);
    await scene.settle();
    expect(scene.shown(phone)).toEqual([id]);
    const late = await scene.area("Late", CENTRE, 400);
    expect(scene.shown(phone)).toEqual([id, late].sort());
    await scene.store.update(areasOfInterest, id, { geometryValue: { properties: { radiusInM: 100 } } }, scene.by);
    await scene.settle();
    expect(scene.shown(phone)).toEqual([late]);
    await scene.store.remove(areasOfInterest, late, scene.by);
    await scene.settle();
    expect(scene.shown(phone)).toEqual([]);
    expect(scene.store.all("SELECT * FROM area_presence")).toEqual([]);
    expect(acts()).toEqual([]);
  });

  it("goes on being compared after a restart", async () => {
    for (let n = 0; n < 3; n++) {
      const user = await scene.user(`U${n}`);
      await scene.report(user, await scene.device(user), NEAR);
    }
    await scene.areas.stop();
    const { id } = await scene.create(areasOfInterest, {
      ...{ name: "Field", geometryType: "circle" },
      geometryValue: { geometry: { coordinates: CENTRE }, properties: { radiusInM: 500 } },
    });
    expect(scene.store.all("SELECT * FROM area_presence WHERE area = ?", id)).toEqual([]);
    await scene.restart();
    expect(scene.store.all("SELECT * FROM area_presence WHERE area = ?", id)).toHaveLength(3);
  });

  it.each([
    [{ geometryValue: { geometry: { coordinates: [0, 91] }, properties: { radiusInM: 5 } } }, "coordinates"],
    [{ geometryValue: { geometry: { coordinates: [0, 1] } } }, "radiusInM"],
    [{ geometryValue: { properties: { radiusInM: 5 } } }, "coordinates"],
    [{}, "geometryValue"],
  ])("is a whole circle: %j", async (more, field) => {
    const input = { name: "A", geometryType: "circle", ...more };
    await expect(scene.create(areasOfInterest, input)).rejects.toThrow(field);
  });

  it("as recipient means the users who are inside now, each once", async () => {
    const id = await scene.area("Field", CENTRE, 500);
    const ben = await scene.user("Ben");
    await scene.report(ann, phone, NEAR);
    await scene.report(ann, await scene.device(ann, "desktop"), NEAR);
    await scene.report(ben, await scene.device(ben), FAR);
    const list = await scene.list("Both", [ann, ben]);
    const message = { subject: "x", areaOfInterestIds: [id] };
    const send = async (input: Record<string, unknown>) => {
      await scene.areas.reportPosition(ann, phone, { longitude: NEAR[0], latitude: NEAR[1], accuracyM: 1, at: null });
      return scene.send(input);
    };
    const sentRow = await scene.run((await send(message)).id);
    const people = scene.store.find(notificationRecipients, { notificationId: sentRow.id });
    expect(people.map(({ userId }) => userId)).toEqual([ann]);
    const both = await scene.run((await send({ ...message, distributionListIds: [list] })).id);
    expect(scene.store.count(notificationRecipients, { notificationId: both.id })).toBe(2);
    const draft = await send({ ...message, draft: true });
    const { found } = scene.store.one<{ found: string }>(
      "SELECT found FROM notification_previews WHERE notification = ?",
      draft.pk,
    ) as { found: string };
    expect(JSON.parse(found)).toMatchObject({ recipientCount: 1 });
  });
});

describe("presence that an app writes", () => {
  it("is a report: it crosses edges, and unknown areas are refused", async () => {
    const id = await scene.area("Field", CENTRE, 500);
    await scene.trigger(id);
    const put = (presence: object | null) => scene.store.update(userDevices, phone, { presence }, scene.by);
    await put({ areaOfInterestIds: [id], accuracyInM: 12 });
    await scene.settle();
    expect(scene.shown(phone)).toEqual([id]);
    await expect(put({ areaOfInterestIds: ["3f2504e0-4f89-41d3-9a0c-0305e82c3301"] })).rejects.toThrow("presence");
    await put({ areaOfInterestIds: [] });
    await scene.settle();
    expect([scene.shown(phone), acts()]).toEqual([[], ["entered success", "exited success"]]);
    await scene.report(ann, phone, NEAR);
    await put(null);
    expect(scene.store.all("SELECT device FROM area_positions UNION SELECT device FROM area_presence")).toEqual([]);
    await scene.store.remove(userDevices, phone, scene.by);
  });
});

describe("a trigger", () => {
  const inAndOut = async (times: number, stepMs = 60_000) => {
    for (let n = 0; n < times; n++) {
      for (const place of [NEAR, FAR]) {
        await scene.report(ann, phone, place);
        await scene.clock.advance(stepMs);
      }
    }
  };

  it.each([
    ["entered", ["entered", "entered"]],
    ["exited", ["exited", "exited"]],
    ["both", ["entered", "exited", "entered", "exited"]],
  ])("that means %s fires for %j", async (action, expected) => {
    await scene.trigger(await scene.area("Field", CENTRE, 500), { action });
    await inAndOut(2);
    expect(acts()).toEqual(expected.map((reason) => `${reason} success`));
  });

  it("waits for its time before it fires for the same user again, also across a restart", async () => {
    await scene.trigger(await scene.area("Field", CENTRE, 500), { action: "entered", perUserThrottlingInSecs: 300 });
    const ben = await scene.user("Ben");
    const bens = await scene.device(ben);
    await inAndOut(1);
    await scene.restart();
    await inAndOut(1);
    await scene.report(ben, bens, NEAR);
    expect(scene.sent.map(({ userIds }) => userIds)).toEqual([[ann], [ben]]);
    await scene.clock.advance(60_000);
    await inAndOut(1);
    expect(scene.sent.map(({ userIds }) => userIds)).toEqual([[ann], [ben], [ann]]);
  });

  it("is fired by its users and those on its lists alone", async () => {
    const area = await scene.area("Field", CENTRE, 500);
    const [ben, eve] = [await scene.user("Ben"), await scene.user("Eve")];
    const list = await scene.list("L", [ben]);
    await scene.trigger(area, { userIds: [ann], distributionListIds: [list] });
    for (const user of [ann, ben, eve]) {
      await scene.report(user, user === ann ? phone : await scene.device(user), NEAR);
    }
    expect(scene.sent.map(({ userIds }) => userIds)).toEqual([[ann], [ben]]);
  });

  it("sends to nobody, to the user, or to the template's recipients, with its own words", async () => {
    const area = await scene.area("Field", CENTRE, 500);
    const ben = await scene.user("Ben");
    const template = { name: "T", subject: "Kept", body: "Body", userIds: [ben] };
    const messageTemplateId = (await scene.create(messageTemplates, template)).id;
    const empty = (await scene.create(messageTemplates, { name: "E", subject: "Empty" })).id;
    const action = "entered";
    const toTemplate = { action, notificationAction: "send-to-message-template-recipients" };
    await scene.trigger(area, { action, notificationAction: "send-to-none" });
    await scene.trigger(area, { action, messageTemplateId, subject: "Own", body: null });
    await scene.trigger(area, { ...toTemplate, messageTemplateId, subject: null });
    await scene.trigger(area, { ...toTemplate, messageTemplateId: empty });
    await scene.report(ann, phone, NEAR);
    const status = scene.store
      .find(boundaryTriggerActivities, {})
      .map((act) => [act.status, act.notificationId !== null]);
    expect(status).toEqual([
      ["no-recipients", false],
      ["success", true],
      ["success", true],
      ["no-recipients", false],
    ]);
    const sent = scene.store.find(notifications, {});
    expect(sent.map((row) => [row.subject, row.body, row.userIds, row.notificationSource])).toEqual([
      ["Own", "Body", [ann], "area-of-interest-boundary-trigger"],
      ["Kept", "Body", [ben], "area-of-interest-boundary-trigger"],
    ]);
    await expect(scene.store.remove(messageTemplates, messageTemplateId, scene.by)).rejects.toThrow("Still used");
  });

  it("needs something to say unless it notifies nobody", async () => {
    const area = await scene.area("Field", CENTRE, 500);
    const none = { subject: null };
    await expect(scene.trigger(area, none)).rejects.toThrow("messageTemplateId");
    await expect(scene.trigger(area, { notificationAction: "send-to-message-template-recipients" })).rejects.toThrow(
      "recipients",
    );
    const id = await scene.trigger(area, { ...none, notificationAction: "send-to-none" });
    const change = scene.store.update(boundaryTriggers, id, { notificationAction: "send-to-user" }, scene.by);
    await expect(change).rejects.toThrow("subject");
  });

  it("that fired before a crash acts once after it", async () => {
    await scene.trigger(await scene.area("Field", CENTRE, 500));
    await scene.areas.stop();
    await scene.areas.reportPosition(ann, phone, { longitude: NEAR[0], latitude: NEAR[1], accuracyM: 1, at: null });
    expect(scene.sent).toEqual([]);
    const firing = scene.store.one<Record<string, string>>("SELECT * FROM area_pending_actions") ?? {};
    await scene.restart();
    expect([scene.sent.length, acts()]).toEqual([1, ["entered success"]]);
    // As if the crash had come between the message and its account.
    await scene.store.write((tx) => {
      tx.run(
        "INSERT INTO area_pending_actions (id, trigger, user, device, reason, received) VALUES (?, ?, ?, ?, ?, ?)",
        ...["id", "trigger", "user", "device", "reason", "received"].map((name) => firing[name] as string),
      );
    });
    await scene.restart();
    expect([scene.sent.length, scene.store.count(notifications, {}), acts().length]).toEqual([1, 1, 2]);
  });
});
