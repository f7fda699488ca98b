import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMulticastAddressPool } from "../../../../src/media/multicast-address-pool.ts";
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
const ALL_PLAYING = { ...Object.fromEntries(PHONES.map((phone) => [phone, "playing"])), "zone:gym1": "sent" };

beforeEach(async () => {
  scene = await openScene(PHONES);
  ({ fixture, air, everywhere } = scene);
});
afterEach(() => scene.close());

const play = (more: Record<string, unknown> = {}) =>
  air.send({ subject: "Fire drill", ...sounding(20_000), deviceGroupIds: [everywhere], ...more });
const stored = (id: string) => fixture.store.get(notifications, id);
/** What the diary says of it in words. */
const told = (notificationId: string) =>
  fixture.store
    .find(notificationActivities, { notificationId, type: "info" })
    .map(({ details }) => (details as { message: string }).message);
/** Devices asked again (not only monitored) since the hand-over number `from`. */
const askedAnew = (from: number) =>
  air.channels.given
    .slice(from)
    .flatMap(({ items }) => items.filter(({ reached }) => !reached).map(({ device }) => device.deviceIdentifier));

describe("a crash in the middle of the audio", () => {
  it("resumes at its position with the same group, port and SSRC, without asking joined phones again", async () => {
    const id = await play();
    await fixture.clock.advance(3_000);
    air.crash();
    const [before] = air.streamer.streams;
    const handed = air.channels.given.length;
    await fixture.clock.advance(2_000);
    await air.restart();
    await fixture.clock.advance(1_000);
    const after = air.streamer.streams.filter(({ spec }) => spec.group === before?.spec.group).at(-1);
    expect(after?.spec).toMatchObject({ port: before?.spec.port, ssrc: before?.spec.ssrc });
    const t0 = before?.t0Ms ?? 0;
    const { offsetPackets = 0 } = after?.spec ?? {};
    expect(offsetPackets).toBeGreaterThan(200);
    expect(after?.t0Ms).toBe(t0 + offsetPackets * 20);
    expect(askedAnew(handed)).toEqual(["zone:gym1"]);
    expect(told(id)).toEqual([expect.stringContaining("the audio resumed at second 5")]);
    const followed = air.channels.given.slice(handed).flatMap(({ items }) => items.map(({ reached }) => reached));
    expect(followed.filter((reached) => reached === "playing")).toHaveLength(3);
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual(ALL_PLAYING);
    expect(air.rows(id).every(({ ended }) => ended)).toBe(true);
  });

  it("is over when the audio ends before its streams are open again, as on a slow machine", async () => {
    const id = await play();
    await fixture.clock.advance(3_000);
    air.crash();
    const { open } = air.streamer;
    air.streamer.open = async (spec) => {
      air.streamer.open = open;
      await fixture.clock.advance(25_000);
      return open(spec);
    };
    await air.restart();
    const at = fixture.clock.now();
    await air.untilSettled(id);
    // Not only at its deadline.
    expect(fixture.clock.now() - at).toBeLessThan(10_000);
    const failures = fixture.store.find(notificationActivities, { notificationId: id, type: "broadcast-failed" });
    expect(failures).toEqual([]);
    expect(air.rows(id).every(({ ended }) => ended)).toBe(true);
    expect(air.ledger(id)).toMatchObject({ [ONE]: "playing" });
  });

  it("asks phones that had not joined, and they join late", async () => {
    air.channels.manners.set(ONE, { answersAfterMs: 2_500 });
    const id = await play();
    await fixture.clock.advance(2_000);
    air.crash();
    const handed = air.channels.given.length;
    await air.restart();
    await fixture.clock.advance(500);
    expect(askedAnew(handed).sort()).toEqual([ONE, "zone:gym1"]);
    await air.untilSettled(id);
    expect(air.rows(id).find(({ identifier }) => identifier === ONE)).toMatchObject({
      level: "playing",
      late: true,
    });
  });

  it("ends a routine message as interrupted when the appliance recovers too late", async () => {
    const id = await play();
    await fixture.clock.advance(3_000);
    air.crash();
    const streams = air.streamer.streams.length;
    await fixture.clock.advance(60_000);
    await air.restart();
    await air.untilSettled(id);
    expect(air.streamer.streams).toHaveLength(streams);
    expect(air.ledger(id)).toEqual(ALL_PLAYING);
    expect(air.rows(id).every(({ ended, reason }) => ended && /not running/.test(reason ?? ""))).toBe(true);
    expect(air.diary(id)).toContain("broadcast-failed");
  });

  it("also silences devices that it had asked without an answer, and no others", async () => {
    air.channels.windows.set("ip-phones", 2);
    for (const phone of PHONES) air.channels.manners.set(phone, { answersAfterMs: null });
    const id = await play();
    await fixture.clock.advance(1_000);
    air.crash();
    const handed = air.channels.given.length;
    await fixture.clock.advance(600_000);
    await air.restart();
    await air.untilSettled(id);
    const followed = air.channels.given.slice(handed).flatMap(({ items }) => items);
    expect(followed.map(({ device, reached }) => [device.deviceIdentifier, reached])).toEqual([
      [ONE, "sent"],
      [TWO, "sent"],
    ]);
    expect(air.channels.stopped.flatMap(({ request }) => request.deliveryIds)).toEqual(
      followed.map(({ deliveryId }) => deliveryId),
    );
    expect(air.ledger(id)).toMatchObject({ [ONE]: "expired", [TWO]: "expired", [PHONES[2] ?? ""]: "expired" });
    expect(air.rows(id).every(({ reason }) => /not running/.test(reason ?? ""))).toBe(true);
  });

  it("starts an emergency again from the beginning", async () => {
    const id = await play({ priority: "critical" });
    await fixture.clock.advance(3_000);
    const first = stored(id);
    air.crash();
    const handed = air.channels.given.length;
    await fixture.clock.advance(3_600_000);
    await air.restart();
    await fixture.clock.advance(2_000);
    expect(askedAnew(handed).sort()).toEqual([...PHONES, "zone:gym1"].sort());
    expect(air.streamer.streams.at(-1)?.spec.offsetPackets).toBe(0);
    expect(stored(id)?.t0).toBeGreaterThan((first?.t0 ?? 0) + 3_600_000);
    expect(stored(id)?.audioGroup).toBe(first?.audioGroup);
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual(ALL_PLAYING);
  });

  it("does not reuse its group", async () => {
    const id = await play();
    await fixture.clock.advance(1_000);
    air.crash();
    const range = { firstGroup: "239.192.16.1", lastGroup: "239.192.16.2", firstPort: 20_480, lastPort: 20_480 };
    const emergency = { ...range, firstGroup: "239.192.17.1", lastGroup: "239.192.17.1" };
    fixture.needs.addresses = createMulticastAddressPool({
      clock: fixture.clock,
      routine: range,
      emergency,
      startIndex: 0,
    });
    await air.restart();
    const other = await play();
    expect(stored(id)?.audioGroup).toBe("239.192.16.1");
    expect(stored(other)?.audioGroup).toBe("239.192.16.2");
    await air.untilSettled(id);
    await air.untilSettled(other);
  });

  it("silences the devices of a message that was ended while the appliance was down", async () => {
    const id = await play();
    await fixture.clock.advance(3_000);
    const ending = air.notificationService.abort(id, fixture.by);
    air.crashAfter(1);
    await Promise.race([ending, fixture.clock.advance(100)]);
    air.channels.stopped.length = 0;
    expect(stored(id)?.stage).not.toBe("settled");
    await air.restart();
    await air.untilSettled(id);
    expect(air.channels.stopped.flatMap(({ request }) => request.deliveryIds)).toHaveLength(3);
    expect(air.rows(id).every(({ ended }) => ended)).toBe(true);
  });
});

describe("a crash before the audio", () => {
  it("resumes deliveries that waited for a channel", async () => {
    air.channels.states.set("ip-phones", "restarting");
    const id = await play();
    air.crash();
    air.channels.states.set("ip-phones", "running");
    await air.restart();
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual(ALL_PLAYING);
  });

  it("abandons a routine text past its deadline", async () => {
    air.channels.states.set("ip-phones", "restarting");
    const id = await air.send({ subject: "Lunch", deviceGroupIds: [everywhere] });
    air.crash();
    air.channels.states.set("ip-phones", "running");
    await fixture.clock.advance(600_000);
    await air.restart();
    await air.untilSettled(id);
    expect(air.ledger(id)).toMatchObject({ [ONE]: "expired", [TWO]: "expired" });
    expect(air.diary(id)).toContain("broadcast-failed");
    expect(air.channels.asked()).not.toContain(ONE);
  });
});

describe("a crash after any commit", () => {
  it("ends each device in one final state and asks none again after a committed playing state", async () => {
    let crashes = 0;
    for (let commits = 1; commits < 60; commits++) {
      // Until the addresses have rested.
      await fixture.clock.advance(300_000);
      air.crashAfter(commits);
      const input = { subject: `Crash ${commits}`, ...sounding(4_000), deviceGroupIds: [everywhere] };
      const options = { source: "api" } as const;
      const sending = air.notificationService.send(input, fixture.by, options);
      sending.catch(() => {});
      const given = air.channels.given.length;
      await air.until(() => air.channels.given.length > given || air.crashed);
      for (let step = 0; step < 300 && !air.crashed; step++) await fixture.clock.advance(20);
      const id = fixture.store.one<{ id: string }>("SELECT id FROM notifications ORDER BY pk DESC LIMIT 1")?.id ?? "";
      if (!air.crashed) break;
      crashes++;
      const playing = air.rows(id).filter(({ level }) => level === "playing");
      const handed = air.channels.given.length;
      await air.restart();
      await air.untilSettled(id);
      expect(air.stage(id), `after ${commits} commits`).toBe("settled");
      expect(air.ledger(id), `after ${commits} commits`).toEqual(ALL_PLAYING);
      expect(air.rows(id).every(({ ended }) => ended)).toBe(true);
      for (const { identifier } of playing) expect(askedAnew(handed)).not.toContain(identifier);
    }
    expect(crashes).toBeGreaterThan(10);
  });
});
