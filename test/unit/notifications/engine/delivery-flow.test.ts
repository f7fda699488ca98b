import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AudioCodec } from "../../../../src/plugin-api/index.ts";
import { all, ONE, openStories, PHONES, type Stories, THREE, TWO, ZONES } from "./delivery-scene.ts";
import { sounding } from "./engine-fixture.ts";

let fixture: Stories["fixture"];
let air: Stories["air"];
let everywhere: Stories["everywhere"];
let phonesOnly: Stories["phonesOnly"];
let zonesOnly: Stories["zonesOnly"];
let manners: Stories["manners"];
let device: Stories["device"];
let row: Stories["row"];
let stops: Stories["stops"];
let play: Stories["play"];
let close: Stories["close"];

beforeEach(async () => {
  ({ fixture, air, everywhere, phonesOnly, zonesOnly, manners, device, row, stops, play, close } = await openStories());
});
afterEach(() => close());

describe("audio", () => {
  it("plays on all phones and zones from one start time, then ends every row at its proven state", async () => {
    const id = await play();
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual({ ...all(PHONES, "playing"), ...all(ZONES, "sent") });
    expect(air.rows(id).every(({ ended, late, attempt }) => ended && !late && attempt === 1)).toBe(true);
    expect(new Set(air.streamer.streams.map(({ t0Ms }) => t0Ms)).size).toBe(1);
    expect(air.streamer.streams).toHaveLength(3);
    expect(stops("ended")).toHaveLength(4);
    expect(air.diary(id)).toEqual(expect.arrayContaining(["broadcast-started", "broadcast-finished"]));
  });

  it("starts as soon as the zones are open when there are no phones", async () => {
    const id = await play({ deviceGroupIds: [zonesOnly] });
    const sentAt = fixture.clock.now();
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual(all(ZONES, "sent"));
    expect(air.streamer.streams.map(({ t0Ms }) => (t0Ms ?? 0) - sentAt <= 20)).toEqual([true, true]);
  });

  it.each([
    ["normal", 700],
    ["critical", 400],
  ])("waits for slow phones of a %s message no longer than %d ms; they join late", async (priority, waitMs) => {
    for (const phone of [ONE, TWO]) manners(phone, { answersAfterMs: 1_500 });
    const began = fixture.clock.now();
    const id = await play({ priority });
    await air.untilSettled(id);
    const t0 = air.streamer.streams[0]?.t0Ms ?? 0;
    expect(t0 - began).toBeGreaterThanOrEqual(waitMs);
    expect(t0 - began).toBeLessThanOrEqual(waitMs + 50);
    expect(row(id, ONE)).toMatchObject({ level: "playing", late: true });
    expect(row(id, THREE)).toMatchObject({ level: "playing", late: false });
  });

  it("does not wait for failed devices", async () => {
    manners(ONE, { answersAfterMs: 50, fails: { reason: "no such host", retryable: false } });
    const began = fixture.clock.now();
    const id = await play();
    await air.untilSettled(id);
    expect((air.streamer.streams[0]?.t0Ms ?? 0) - began).toBeLessThan(200);
  });

  it("keeps a mute phone at accepted", async () => {
    manners(ONE, { playsAfterMs: null });
    const id = await play();
    await air.untilSettled(id);
    expect(row(id, ONE)).toMatchObject({ level: "accepted", ended: true });
    expect(row(id, TWO)).toMatchObject({ level: "playing", ended: true });
  });

  it("sends only the text to devices asked after the audio", async () => {
    air.channels.windows.set("ip-phones", 1);
    for (const phone of PHONES) manners(phone, { answersAfterMs: 1_500 });
    const id = await play({ deviceGroupIds: [phonesOnly] }, 1_000);
    await air.untilSettled(id);
    const given = air.channels.given.flatMap(({ items }) => items.map(({ audio }) => audio !== null));
    expect(given).toEqual([true, true, false, false]);
    expect(Object.values(air.ledger(id)).slice(2)).toEqual(["accepted", "accepted"]);
    const missed = { late: true, reason: "The audio had ended before this device was contacted; text only." };
    expect(air.rows(id).slice(2)).toMatchObject([missed, missed]);
    // It has not failed: the others heard it, and these show it.
    expect(air.diary(id)).toContain("info");
    expect(air.diary(id)).not.toContain("broadcast-failed");
  });

  it("repeats an emergency for phones that would miss it, until all have heard it", async () => {
    air.channels.windows.set("ip-phones", 1);
    for (const phone of PHONES) manners(phone, { answersAfterMs: 1_500, playsAfterMs: 100 });
    const id = await play({ priority: "critical" }, 1_000);
    await air.untilSettled(id);
    const given = air.channels.given.flatMap(({ items }) => items.map(({ audio }) => audio !== null));
    expect(given).toEqual([true, true, true, true, true, true]);
    expect(air.ledger(id)).toEqual({ ...all(PHONES, "playing"), ...all(ZONES, "sent") });
    expect(air.rows(id).filter(({ reason }) => reason !== null)).toEqual([]);
    expect(new Set(air.streamer.streams.map(({ spec }) => spec.repeats))).toEqual(new Set([5]));
    expect(air.diary(id)).not.toContain("info");
  });

  it("does not repeat an emergency if all have heard most of it, or do not answer", async () => {
    manners(ONE, { answersAfterMs: 600 });
    manners(TWO, { answersAfterMs: null });
    const id = await play({ priority: "critical" }, 4_000);
    await air.untilSettled(id);
    expect(row(id, ONE)).toMatchObject({ level: "playing", late: true });
    expect(air.streamer.streams.every(({ spec }) => spec.repeats === 1)).toBe(true);
  });

  it("lets a late stream join at its position, rejects one after the end, and opens each address once", async () => {
    const id = await play({}, 8_000);
    await fixture.clock.advance(3_000);
    const target = { group: "239.8.8.8", port: 6_000, codec: "PCMU", ttl: 4 } as const;
    const opened = Promise.all([
      air.notificationService.openStream("multicast-zones", target, id),
      air.notificationService.openStream("multicast-zones", target, id),
    ]);
    await fixture.clock.advance(0);
    await fixture.clock.advance(500);
    await opened;
    const late = air.streamer.streams.filter(({ spec }) => spec.group === target.group);
    expect(late).toHaveLength(1);
    const { offsetPackets = 0 } = late[0]?.spec ?? {};
    expect(offsetPackets).toBeGreaterThan(100);
    expect(late[0]?.t0Ms).toBe((air.streamer.streams[0]?.t0Ms ?? 0) + offsetPackets * 20);
    await air.untilSettled(id);
    await expect(air.notificationService.openStream("multicast-zones", target, id)).rejects.toMatchObject({
      type: "upstream",
    });
  });

  it("waits for phones only and ends with the last device without a synchronized start", async () => {
    for (const phone of PHONES) manners(phone, { answersAfterMs: 300 });
    const id = await play(sounding(4_000, { synchronizedDelivery: false }));
    const target = { group: "239.8.8.8", port: 6_000, codec: "PCMU", ttl: 4 } as const;
    await fixture.clock.advance(3_000);
    const [first] = air.streamer.streams;
    void air.notificationService.openStream("multicast-zones", target, id);
    await fixture.clock.advance(0);
    await fixture.clock.advance(500);
    const alone = air.streamer.streams.at(-1);
    expect(alone?.spec.offsetPackets).toBe(0);
    expect((alone?.t0Ms ?? 0) - (first?.t0Ms ?? 0)).toBeGreaterThan(2_000);
    await air.untilSettled(id);
    expect(alone?.ended).toBe("finished");
    expect(air.rows(id).some(({ late }) => late)).toBe(false);
  });

  it("sends each stream in the requested codec, with one rendition per codec", async () => {
    const id = await play({}, 8_000);
    await fixture.clock.advance(3_000);
    const ask = (port: number, codec: AudioCodec): Promise<void> =>
      air.notificationService.openStream("multicast-zones", { group: "239.8.8.8", port, codec, ttl: 4 }, id);
    const opened = Promise.all([ask(6_000, "G722"), ask(6_002, "G722"), ask(6_004, "PCMA"), ask(6_006, "PCMU")]);
    await expect.poll(() => air.streamer.streams.filter(({ spec }) => spec.group === "239.8.8.8").length).toBe(4);
    await fixture.clock.advance(500);
    await opened;
    const specs = air.streamer.streams.map(({ spec }) => spec).filter(({ group }) => group === "239.8.8.8");
    const by = new Map(specs.map(({ port, payloadType, payload }) => [port, { payloadType, payload }]));
    expect([6_000, 6_002, 6_004, 6_006].map((port) => by.get(port)?.payloadType)).toEqual([9, 9, 8, 0]);
    expect(by.get(6_000)?.payload).toBe(by.get(6_002)?.payload);
    expect(new Set(specs.map(({ payload }) => payload.length)).size).toBe(1);
    expect(new Set(specs.map(({ ssrc }) => ssrc)).size).toBe(1);
  });

  it("rejects a stream to an address of a message with the same or higher priority", async () => {
    const first = await play({ deviceGroupIds: [phonesOnly] }, 8_000);
    const second = await play({ deviceGroupIds: [zonesOnly] }, 8_000);
    const urgent = await play({ deviceGroupIds: [zonesOnly], priority: "critical" }, 8_000);
    await fixture.clock.advance(1_000);
    const target = { group: "239.8.8.8", port: 6_000, codec: "PCMU", ttl: 4 } as const;
    const open = (id: string) => air.notificationService.openStream("multicast-zones", target, id);
    const [own, refused] = [open(first), open(second)];
    await expect(refused).rejects.toMatchObject({ type: "upstream" });
    await fixture.clock.advance(200);
    await own;
    const taken = open(urgent);
    await fixture.clock.advance(0);
    await fixture.clock.advance(200);
    await taken;
    const there = air.streamer.streams.filter(({ spec }) => spec.group === target.group);
    expect(there.map(({ ended }) => ended)).toEqual(["stopped", null]);
  });

  it("silences a device that joins after the end at once", async () => {
    manners(ONE, { answersAfterMs: 4_000 });
    const id = await play({ deviceGroupIds: [phonesOnly] }, 1_000);
    await air.untilSettled(id);
    expect(row(id, ONE)).toMatchObject({ level: "accepted", late: true });
    expect(stops("ended")).toHaveLength(4);
  });

  it("falls back to text when the stream cannot be opened", async () => {
    air.streamer.refuses = true;
    const id = await play({ deviceGroupIds: [phonesOnly] });
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual(all(PHONES, "accepted"));
    expect(air.diary(id)).toContain("broadcast-failed");
  });
});

describe("text", () => {
  it("ends at accepted; a zone has no display", async () => {
    const id = await air.send({ subject: "Hello", body: "World", deviceGroupIds: [everywhere] });
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual({ ...all(PHONES, "accepted"), ...all(ZONES, "skipped") });
    expect(row(id, ZONES[0] ?? "")?.reason).toBe("a zone has no display");
    expect(air.streamer.streams).toEqual([]);
  });

  it("settles without recipients", async () => {
    const id = await air.send({ subject: "Hello", deviceGroupIds: [await fixture.group("Nobody", [])] });
    await air.untilSettled(id);
    expect(air.stage(id)).toBe("settled");
  });
});

describe("devices that do not answer", () => {
  it("retries retryable failures, and keeps the reason in the end", async () => {
    manners(ONE, { fails: { reason: "connection refused", retryable: true } });
    manners(TWO, { fails: { reason: "connection refused", retryable: true, times: 1 } });
    const id = await play();
    await air.untilSettled(id);
    expect(row(id, ONE)).toMatchObject({ level: "failed", reason: "connection refused", attempt: 3, ended: true });
    expect(row(id, TWO)).toMatchObject({ level: "playing", reason: null, attempt: 2, late: true });
    expect(air.channels.asked().filter((asked) => asked === ONE)).toHaveLength(3);
    expect(device(ONE)).toMatchObject({ state: "silent", lastLevel: "failed", lastSeenAt: null, failures: 1 });
    expect(device(TWO)).toMatchObject({ state: "answering", lastLevel: "playing", failures: 0 });
    expect(device(TWO)?.lastSeenAt).toBeGreaterThan(0);
    expect(device(ZONES[0] as string)).toMatchObject({ state: "sent", lastLevel: "sent", lastSeenAt: null });
  });

  it("asks unresponsive devices last and counts their failures", async () => {
    air.channels.windows.set("ip-phones", 1);
    manners(ONE, { fails: { reason: "no answer", retryable: false } });
    for (let time = 0; time < 2; time++) {
      const id = await air.send({ subject: "Hello", deviceGroupIds: [phonesOnly] });
      await air.untilSettled(id);
    }
    expect(device(ONE)?.failures).toBe(2);
    const asked = air.channels.asked().length;
    const id = await air.send({ subject: "Hello", deviceGroupIds: [phonesOnly] });
    await air.untilSettled(id);
    expect(air.channels.asked().slice(asked)).toEqual([...PHONES.slice(1), ONE]);
  });

  it("expires a silent device at the deadline", async () => {
    manners(ONE, { answersAfterMs: null });
    const id = await air.send({ subject: "Hello", deviceGroupIds: [phonesOnly] });
    await air.untilSettled(id, 200_000);
    expect(row(id, ONE)).toMatchObject({ level: "expired", reason: "No answer in time.", ended: true });
    expect(device(ONE)).toMatchObject({ state: "silent", lastLevel: "expired", failures: 1 });
    expect(air.stage(id)).toBe("settled");
  });

  it("keeps the window, and a dead device delays no other", async () => {
    air.channels.windows.set("ip-phones", 2);
    manners(ONE, { answersAfterMs: null });
    const id = await air.send({ subject: "Hello", deviceGroupIds: [phonesOnly] });
    await fixture.clock.advance(200);
    expect(air.channels.maxOut).toBeLessThanOrEqual(2);
    expect(air.ledger(id)).toMatchObject(all(PHONES.slice(1), "accepted"));
  });
});

describe("channels", () => {
  it("fails the deliveries of a disabled channel with a reason", async () => {
    air.channels.states.set("ip-phones", "restarting");
    const id = await air.send({ subject: "Hello", deviceGroupIds: [phonesOnly] });
    air.channels.states.set("ip-phones", "disabled");
    fixture.needs.events.emit("plugin.changed", { plugin: "ip-phones", state: "disabled", reason: null });
    await air.untilSettled(id);
    expect(row(id, ONE)).toMatchObject({ level: "failed", ended: true });
    expect(row(id, ONE)?.reason).toMatch(/is disabled/);
  });

  it("waits for a restarting channel", async () => {
    air.channels.states.set("ip-phones", "restarting");
    const id = await air.send({ subject: "Hello", deviceGroupIds: [phonesOnly] });
    await fixture.clock.advance(5_000);
    expect(air.channels.asked()).toEqual([]);
    air.channels.states.set("ip-phones", "running");
    fixture.needs.events.emit("plugin.changed", { plugin: "ip-phones", state: "running", reason: null });
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual(all(PHONES, "accepted"));
  });

  it("waits until the deadline of the message only", async () => {
    air.channels.states.set("ip-phones", "restarting");
    const id = await air.send({ subject: "Hello", deviceGroupIds: [phonesOnly] });
    await air.untilSettled(id, 200_000);
    expect(air.ledger(id)).toEqual(all(PHONES, "expired"));
    expect(row(id, ONE)?.reason).toMatch(/did not accept it in time/);
  });

  it("accepts reports only from the delivery's own channel, and none after its end", async () => {
    manners(ONE, { answersAfterMs: null });
    const id = await air.send({ subject: "Hello", deviceGroupIds: [phonesOnly] });
    await fixture.clock.advance(500);
    const [first, second] = fixture.store.all<{ pk: number }>("SELECT pk FROM deliveries ORDER BY pk");
    const at = fixture.clock.now();
    air.notificationService.handleOutcomes([
      { provider: "multicast-zones", deliveryId: first?.pk ?? 0, level: "accepted", details: {}, at },
      { provider: "ip-phones", deliveryId: second?.pk ?? 0, level: "failed", details: { reason: "late" }, at },
      { provider: "ip-phones", deliveryId: 999_999, level: "accepted", details: {}, at },
    ]);
    await fixture.clock.advance(500);
    expect(air.ledger(id)).toMatchObject({ [ONE]: "planned", [TWO]: "accepted" });
  });
});
