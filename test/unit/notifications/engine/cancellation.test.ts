import { afterEach, beforeEach, describe, expect, it } from "vitest";
import messageTemplates from "../../../../src/resources/messages/message-templates.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import type { BroadcastFixture } from "../notification-fixture.ts";
import { type AirFixture, openScene, type Scene, sounding } from "./engine-fixture.ts";

let scene: Scene;
let fixture: BroadcastFixture;
let air: AirFixture;
let everywhere: string;
const PHONES = [1, 2, 3].map((n) => `SEP00112233440${n}`);
const [ONE = "", TWO = ""] = PHONES;

beforeEach(async () => {
  scene = await openScene(PHONES);
  ({ fixture, air, everywhere } = scene);
});
afterEach(() => scene.close());

const stops = (reason: string) =>
  air.channels.stopped.filter(({ request }) => request.reason === reason).flatMap(({ request }) => request.deliveryIds);
const row = (id: string, identifier: string) => air.rows(id).find((each) => each.identifier === identifier);
const play = (more: Record<string, unknown> = {}) =>
  air.send({ subject: "Fire drill", ...sounding(20_000), deviceGroupIds: [everywhere], ...more });

describe("abort", () => {
  it("silences everything at once and keeps proven states", async () => {
    air.channels.manners.set(ONE, { answersAfterMs: null });
    const id = await play();
    await fixture.clock.advance(3_000);
    const activity = await air.notificationService.abort(id, fixture.by);
    expect(activity).toMatchObject({ type: "abort", notificationId: id });
    expect(air.streamer.streams.map(({ ended }) => ended)).toEqual(["stopped", "stopped"]);
    expect(stops("aborted")).toHaveLength(4);
    await air.untilSettled(id, 1_000);
    expect(air.ledger(id)).toEqual({
      [ONE]: "expired",
      [TWO]: "playing",
      [PHONES[2] ?? ""]: "playing",
      "zone:gym1": "sent",
    });
    expect(row(id, ONE)).toMatchObject({ ended: true, reason: "The message was ended by a user." });
    expect(fixture.store.get(notifications, id)?.abortedAt).not.toBeNull();
  });

  it("is recorded once", async () => {
    const id = await play();
    const first = await air.notificationService.abort(id, fixture.by);
    const again = await air.notificationService.expire(id, fixture.by);
    expect(again.id).toBe(first.id);
    expect(fixture.store.count(notificationActivities, { notificationId: id, type: "abort" })).toBe(1);
    await air.untilSettled(id);
  });

  it("does not ask the remaining devices", async () => {
    air.channels.states.set("ip-phones", "restarting");
    const id = await air.send({ subject: "Hello", deviceGroupIds: [everywhere] });
    await air.notificationService.abort(id, fixture.by);
    air.channels.states.set("ip-phones", "running");
    fixture.needs.events.emit("plugin.changed", { plugin: "ip-phones", state: "running", reason: null });
    await air.untilSettled(id, 1_000);
    expect(air.channels.asked()).toEqual(["zone:gym1"]);
    expect(row(id, ONE)).toMatchObject({ level: "expired", attempt: 0 });
  });

  it("rejects a missing notification and a preview", async () => {
    await expect(
      air.notificationService.abort("0190a6f0-0000-7000-8000-000000000000", fixture.by),
    ).rejects.toMatchObject({
      type: "not-found",
    });
    const draft = await fixture.send({ subject: "x", draft: true, deviceGroupIds: [everywhere] });
    await expect(air.notificationService.abort(draft.id, fixture.by)).rejects.toMatchObject({ type: "conflict" });
  });
});

describe("expiry", () => {
  it("ends a message in the middle of its audio", async () => {
    const id = await play({ expiration: 5 });
    await fixture.clock.advance(5_500);
    await air.untilSettled(id, 1_000);
    expect(stops("expired")).toHaveLength(4);
    expect(air.ledger(id)).toMatchObject({ [ONE]: "playing", "zone:gym1": "sent" });
    expect(air.diary(id)).toContain("expire");
  });

  it("clears displays long after the deliveries ended", async () => {
    const id = await air.send({ subject: "Hello", expiration: 600, deviceGroupIds: [everywhere] });
    await air.untilSettled(id);
    expect(stops("expired")).toEqual([]);
    await fixture.clock.advance(600_000);
    expect(stops("expired")).toHaveLength(3);
    expect(air.ledger(id)).toMatchObject({ [ONE]: "accepted", [TWO]: "accepted" });
  });

  it("is caught up after a restart", async () => {
    const id = await air.send({ subject: "Hello", expiration: 600, deviceGroupIds: [everywhere] });
    await air.untilSettled(id);
    air.crash();
    await fixture.clock.advance(700_000);
    expect(air.diary(id)).not.toContain("expire");
    await air.restart();
    await fixture.clock.advance(100);
    expect(air.diary(id)).toContain("expire");
    expect(stops("expired")).toHaveLength(3);
  });
});

describe("a template that cancels others", () => {
  const template = async (more: object = {}) => {
    const input = { name: "T", subject: "T", deviceGroupIds: [everywhere], ...more };
    return (await fixture.create(messageTemplates, input)).id;
  };
  const sendOf = (messageTemplateId: string, more: object = {}) => air.send({ messageTemplateId, ...more });
  const over = (id: string) => fixture.store.get(notifications, id)?.abortedAt !== null;

  it("cancels all that are in progress or unexpired, but no drills, previews or ended ones", async () => {
    const gone = await air.send({ subject: "Gone", deviceGroupIds: [everywhere] });
    await air.untilSettled(gone);
    const shown = await air.send({ subject: "Shown", expiration: 600, deviceGroupIds: [everywhere] });
    await air.untilSettled(shown);
    const [loud, drill] = [await play(), await play({ drill: true })];
    await fixture.clock.advance(1_000);
    const clear = await template({ cancelNotificationsType: "all" });
    await fixture.send({ messageTemplateId: clear, draft: true });
    expect([gone, shown, loud, drill].map(over)).toEqual([false, false, false, false]);
    const id = await sendOf(clear);
    expect([gone, shown, loud, drill, id].map(over)).toEqual([false, true, true, false, false]);
    expect(air.diary(loud)).toContain("abort");
    await sendOf(clear, { drill: true });
    expect([drill, id].map(over)).toEqual([true, false]);
  });

  it("cancels an emergency only if it is an emergency or an all-clear", async () => {
    const fire = await template({ expiration: 600 });
    const emergency = () => sendOf(fire, { priority: "critical" });
    const [first, routine] = [await emergency(), await play()];
    const clear = await template({ cancelNotificationsType: "all" });
    await sendOf(clear);
    expect([first, routine].map(over)).toEqual([false, true]);
    await sendOf(clear, { priority: "critical" });
    expect(over(first)).toBe(true);
    const second = await emergency();
    const named = { cancelNotificationsType: "specific", messageTemplateCancellationIds: [fire] };
    await sendOf(await template(named));
    expect(over(second)).toBe(false);
    await sendOf(await template({ ...named, alertTone: "all-clear1" }));
    expect(over(second)).toBe(true);
  });

  it("cancels only those of the templates it names", async () => {
    const lasting = { expiration: 600 };
    const [fire, storm] = [await template(lasting), await template(lasting)];
    const named = { cancelNotificationsType: "specific", messageTemplateCancellationIds: [fire] };
    const sent = [await sendOf(fire), await sendOf(storm), await play()];
    await sendOf(await template(named));
    expect(sent.map(over)).toEqual([true, false, false]);
    await sendOf(await template({ ...named, cancelNotificationsType: "none" }));
    expect(sent.map(over)).toEqual([true, false, false]);
  });
});
