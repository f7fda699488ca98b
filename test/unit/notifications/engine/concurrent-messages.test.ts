import { afterEach, beforeEach, describe, expect, it } from "vitest";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import { all, ONE, openStories, PHONES, type Stories, THREE, TWO, ZONES } from "./delivery-scene.ts";
import { sounding } from "./engine-fixture.ts";

let fixture: Stories["fixture"];
let air: Stories["air"];
let phonesOnly: Stories["phonesOnly"];
let zonesOnly: Stories["zonesOnly"];
let manners: Stories["manners"];
let row: Stories["row"];
let stops: Stories["stops"];
let play: Stories["play"];
let close: Stories["close"];

beforeEach(async () => {
  ({ fixture, air, phonesOnly, zonesOnly, manners, row, stops, play, close } = await openStories());
});
afterEach(() => close());

describe("two messages", () => {
  it("lets the more urgent one take over the devices at once", async () => {
    const low = await play({}, 8_000);
    await fixture.clock.advance(2_500);
    const high = await play({ priority: "critical" }, 2_000);
    await fixture.clock.advance(1_000);
    expect(stops("preempted")).toHaveLength(6);
    expect(
      air.rows(low).every(({ ended, reason }) => ended && reason === "A more urgent message took over the device."),
    ).toBe(true);
    expect(air.ledger(low)).toEqual({ ...all(PHONES, "playing"), ...all(ZONES, "sent") });
    expect(air.streamer.streams.slice(0, 3).map(({ ended }) => ended)).toEqual(["stopped", "stopped", "stopped"]);
    await air.untilSettled(high);
    await air.untilSettled(low);
    expect(air.ledger(high)).toEqual({ ...all(PHONES, "playing"), ...all(ZONES, "sent") });
  });

  it("plays an emergency in the group that phones listen to, unless another phone listens there", async () => {
    const low = await play({ deviceGroupIds: [phonesOnly] }, 8_000);
    await fixture.clock.advance(2_500);
    const groupOf = (id: string) => fixture.store.get(notifications, id)?.audioGroup;
    const sentTo = (group: string | null | undefined, id: string) =>
      air.streamer.streams.filter(({ spec }) => spec.group === group && spec.streamId.startsWith(id));
    const one = fixture.store.all<{ id: string }>("SELECT id FROM devices WHERE device_identifier = ?", ONE);
    const few = await play(
      { priority: "critical", deviceGroupIds: [], additionalDeviceIds: one.map(({ id }) => id) },
      2_000,
    );
    await fixture.clock.advance(1_000);
    expect(sentTo(groupOf(low), few)).toEqual([]);
    const high = await play({ priority: "critical" }, 2_000);
    await fixture.clock.advance(1_000);
    const [taken, ...more] = sentTo(groupOf(low), high);
    const [own] = sentTo(groupOf(high), high);
    expect(more).toEqual([]);
    expect(taken?.t0Ms).toBe(own?.t0Ms);
    expect(taken?.spec.ssrc).toBe(own?.spec.ssrc);
    expect(sentTo(groupOf(low), low).map(({ ended }) => ended)).toEqual(["stopped"]);
    await air.untilSettled(high);
    await air.untilSettled(low);
  });

  it("moves phones from the other group after the start; asks phones that refused the other message at once", async () => {
    manners(ONE, { answersAfterMs: 20 });
    manners(TWO, { answersAfterMs: 300 });
    manners(THREE, { answersAfterMs: 400, fails: { reason: "connection refused", retryable: true, times: 1 } });
    const low = await play({ deviceGroupIds: [phonesOnly] }, 8_000);
    await fixture.clock.advance(100);
    const high = await play({ priority: "critical" }, 8_000);
    const asked = () =>
      air.channels.given
        .flatMap(({ items }) => items)
        .filter(({ notificationId, audio }) => notificationId === high && audio !== null)
        .map(({ device: { deviceIdentifier } }) => deviceIdentifier);
    expect(asked()).not.toContain(TWO);
    await fixture.clock.advance(450);
    expect(fixture.store.get(notifications, high)?.t0).not.toBeNull();
    expect(asked()).toContain(THREE);
    expect(asked().filter((name) => [ONE, TWO].includes(name))).toEqual([]);
    expect(row(low, TWO)?.level).toBe("accepted");
    await fixture.clock.advance(550);
    expect(asked()).toEqual(expect.arrayContaining([ONE, TWO]));
    await air.untilSettled(high);
    await air.untilSettled(low);
    expect(air.ledger(high)).toEqual({ ...all(PHONES, "playing"), ...all(ZONES, "sent") });
  });

  it("starts as soon as phones asked by another message have answered it", async () => {
    for (const phone of PHONES) manners(phone, { answersAfterMs: 150 });
    const low = await play({ deviceGroupIds: [phonesOnly] }, 8_000);
    await fixture.clock.advance(100);
    const began = fixture.clock.now();
    const high = await play({ priority: "critical" }, 8_000);
    await fixture.clock.advance(200);
    expect((fixture.store.get(notifications, high)?.t0 ?? Number.NaN) - began).toBeLessThan(150);
    await air.untilSettled(high);
    await air.untilSettled(low);
    expect(air.ledger(high)).toEqual({ ...all(PHONES, "playing"), ...all(ZONES, "sent") });
  });

  it("leaves zones to less urgent audio when it is text-only", async () => {
    const low = await play({ deviceGroupIds: [zonesOnly] }, 8_000);
    await fixture.clock.advance(1_000);
    const high = await air.send({ subject: "Evacuate", priority: "critical", deviceGroupIds: [zonesOnly] });
    await air.untilSettled(high);
    expect(air.rows(low).some(({ ended }) => ended)).toBe(false);
    await air.untilSettled(low);
    expect(air.ledger(low)).toEqual(all(ZONES, "sent"));
  });

  it("makes a message of the same priority wait, and reaches the devices then", async () => {
    const first = await play({}, 3_000);
    await fixture.clock.advance(1_000);
    const second = await play({}, 3_000);
    await air.untilSettled(first);
    await air.untilSettled(second);
    expect(Object.values(air.ledger(second)).every((level) => level !== "skipped" && level !== "failed")).toBe(true);
  });

  it("does not reach busy devices when queueing is not allowed", async () => {
    const first = await play({}, 3_000);
    await fixture.clock.advance(1_000);
    const second = await play(sounding(3_000, { queueingAllowed: false }));
    await air.untilSettled(second);
    expect(air.ledger(second)).toEqual(all([...PHONES, ...ZONES], "failed"));
    await air.untilSettled(first);
  });
});
