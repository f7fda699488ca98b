import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SendOptions } from "../../../../src/notifications/notification-service.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import users from "../../../../src/resources/people/users.ts";
import auditEntries from "../../../../src/resources/security/audit-entries.ts";
import type { ActorContext } from "../../../../src/store/store.ts";
import { type AirFixture, openScene, type Scene } from "../engine/engine-fixture.ts";
import type { BroadcastFixture } from "../notification-fixture.ts";

const PHONES = Array.from({ length: 4 }, (_, n) => `SEP0011223344${String(n).padStart(2, "0")}`);
const WITHIN_MS = 120_000;

let scene: Scene;
let fixture: BroadcastFixture;
let air: AirFixture;
let everywhere: string;
let somewhere: string;
let ann: ActorContext;
let bob: ActorContext;

beforeEach(async () => {
  scene = await openScene(PHONES, { secondPerson: { withinMs: WITHIN_MS } });
  ({ fixture, air, everywhere } = scene);
  somewhere = await fixture.group("Office", PHONES.slice(0, 3));
  [ann, bob] = [await person("Ann"), await person("Bob")];
});
afterEach(() => scene.close());

async function person(name: string): Promise<ActorContext> {
  const { id } = await fixture.store.create(users, { name }, fixture.by);
  return { actor: { kind: "user", userId: id, name, address: null }, scope: fixture.by.scope };
}

const EMERGENCY = { subject: "Lockdown", priority: "critical" };
const send = (input: object, by = ann, options: Partial<SendOptions> = {}) =>
  air.notificationService.send({ deviceGroupIds: [somewhere], ...input }, by, { source: "api", ...options });
const row = (id: string) => fixture.store.get(notifications, id);
const words = (id: string) =>
  fixture.store
    .find(notificationActivities, { notificationId: id })
    .map(({ details }) => (details as { message?: string })?.message);

describe("approval by a second person", () => {
  it("is required for live emergencies and all-calls of people only", async () => {
    expect((await send(EMERGENCY)).approval).toBe("waiting");
    expect((await send({ subject: "Hello", deviceGroupIds: [everywhere] })).approval).toBe("waiting");
    expect((await send({ subject: "Hello" })).approval).toBeNull();
    expect((await send({ ...EMERGENCY, drill: true })).approval).toBeNull();
    expect((await send({ ...EMERGENCY, draft: true })).approval).toBeNull();
    expect((await send(EMERGENCY, fixture.by, { source: "m2m" })).approval).toBeNull();
    expect((await send(EMERGENCY, ann, { source: "panic-button" })).approval).toBeNull();
    expect((await send(EMERGENCY, ann, { source: "standard-scenario", byMachine: true })).approval).toBeNull();
  });

  it("rejects a live page, which cannot wait", async () => {
    const speaking = air.notificationService.speak(
      { ...EMERGENCY, deviceGroupIds: [somewhere] },
      ann,
      { source: "api" },
      () => {},
    );
    await expect(speaking).rejects.toMatchObject({
      type: "conflict",
      message: expect.stringContaining("a voice can't wait"),
    });
    expect(fixture.store.count(notifications, {})).toBe(0);
  });

  it("holds a whole scenario if one of its messages requires approval", async () => {
    const options = { source: "standard-scenario" } as const;
    const messages = [EMERGENCY, { subject: "To the office" }].map((input) => ({
      input: { ...input, deviceGroupIds: [somewhere] },
      options,
    }));
    const rows = await air.notificationService.sendBatch(messages, ann, () => ({}));
    expect(rows.map(({ approval }) => approval)).toEqual(["waiting", "waiting"]);
  });
});

describe("a message that waits for approval", () => {
  it("reaches nobody before it is approved, and then has its full time", async () => {
    const { id } = await send({ ...EMERGENCY, expiration: 60 });
    await fixture.clock.advance(90_000);
    expect(air.channels.asked()).toEqual([]);
    await expect(air.notificationService.decideApproval(id, "approve", ann)).rejects.toMatchObject({
      type: "conflict",
    });
    const approvedAt = fixture.clock.now();
    const approved = await air.notificationService.decideApproval(id, "approve", bob);
    expect(approved).toMatchObject({ approval: "approved", approverId: bob.actor.userId });
    expect(approved.expiresAt).toBe(approvedAt + 60_000);
    await air.untilHanded(id);
    expect(air.channels.asked().sort()).toEqual(PHONES.slice(0, 3));
    expect(words(id)).toContain("Bob approved the message.");
    await expect(air.notificationService.decideApproval(id, "refuse", bob)).rejects.toMatchObject({ type: "conflict" });
    const audit = fixture.store.find(auditEntries, { rowId: id });
    expect(audit.map(({ actorName }) => actorName).slice(0, 2)).toEqual(["Ann", "Bob"]);
    await air.untilSettled(id);
  });

  it("is refused by another person, or withdrawn", async () => {
    const [refused, back] = [await send(EMERGENCY), await send(EMERGENCY)];
    await air.notificationService.decideApproval(refused.id, "refuse", bob);
    await air.notificationService.decideApproval(back.id, "refuse", ann);
    expect(row(refused.id)).toMatchObject({ approval: "refused", approverId: bob.actor.userId, stage: "settled" });
    expect(words(refused.id)).toContain("Bob refused the message; it was not sent.");
    expect(words(back.id)).toContain("The message was withdrawn and was not sent.");
    await fixture.clock.advance(1_000);
    expect(air.channels.asked()).toEqual([]);
    await expect(air.notificationService.sendAllClear(back.id, {}, ann, { source: "api" })).rejects.toMatchObject({
      type: "conflict",
    });
  });

  it("expires with a reason, also after a restart", async () => {
    const { id } = await send(EMERGENCY);
    air.crash();
    await air.restart();
    expect(row(id)).toMatchObject({ approval: "waiting", stage: "approval" });
    await fixture.clock.advance(WITHIN_MS + 100);
    expect(row(id)).toMatchObject({ approval: "expired", stage: "settled" });
    expect(words(id)).toContain("The message was not approved in time and was not sent.");
    await expect(air.notificationService.decideApproval(id, "approve", bob)).rejects.toMatchObject({
      type: "conflict",
    });
    expect(air.channels.asked()).toEqual([]);
  });
});
