import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openScene, type Scene, sounding } from "./engine-fixture.ts";

let scene: Scene;
beforeEach(async () => {
  scene = await openScene([]);
});
afterEach(() => scene.close());

const WORD = { subject: "Word" };
let bells = 0;

/** A bell so many ms ahead, made ready as the bells' room does it, and its id. */
async function bell(aheadMs: number, priority = 5): Promise<{ id: string; at: number }> {
  const { fixture, air, everywhere } = scene;
  const at = fixture.clock.now() + aheadMs;
  const id = `01900000-0000-7000-8000-0000000000${String(++bells).padStart(2, "0")}`;
  const input = { ...WORD, ...sounding(2_000, { priority }), deviceGroupIds: [everywhere] };
  const held = { id, at, usefulMs: 30_000, description: "Every day" };
  await air.notificationService.send(input, fixture.by, { source: "bell-schedule", overrules: true, held });
  await air.until(() => air.stage(id) === "deliver");
  return { id, at };
}

/** Lets time pass up to `at` (epoch ms); bells are armed and begun on the way. */
async function passTo(at: number, ...rings: { id: string; at: number }[]): Promise<void> {
  const { fixture, air } = scene;
  const moments = rings.flatMap((ring) => [
    { at: ring.at - 2_000, act: () => air.notificationService.releaseHold(ring.id) },
    { at: ring.at - 50, act: () => air.notificationService.startHeldAt(ring.id, ring.at) },
  ]);
  for (const moment of moments.sort((a, b) => a.at - b.at)) {
    if (moment.at < fixture.clock.now() || moment.at > at) continue;
    await fixture.clock.advance(moment.at - fixture.clock.now());
    moment.act();
    for (let round = 0; round < 30; round++) await fixture.clock.advance(0);
  }
  while (fixture.clock.now() < at) await fixture.clock.advance(Math.min(50, at - fixture.clock.now()));
}

/** Something more urgent than bells, unless `settings` say otherwise. */
const send = (ms = 2_000, more: Record<string, unknown> = {}, settings: object = { priority: 3 }): Promise<string> =>
  scene.air.send({ ...WORD, ...sounding(ms, settings), deviceGroupIds: [scene.everywhere], ...more });
const line = (id: string) => scene.air.rows(id)[0];
const begunAt = (id: string): (number | null)[] =>
  scene.air.streamer.streams.filter(({ spec }) => spec.streamId.startsWith(id)).map(({ t0Ms }) => t0Ms);

it("discards a held bell and prepares it again, without leaking its address", async () => {
  await scene.close();
  scene = await openScene(["SEP001122334499"]);
  const { fixture, air, everywhere } = scene;
  const { addresses } = fixture.needs;
  const { allocate, release } = addresses;
  const lent: unknown[] = [];
  const given: unknown[] = [];
  addresses.allocate = (isEmergency) => {
    const address = allocate(isEmergency);
    lent.push(address);
    return address;
  };
  addresses.release = (address) => {
    given.push(address);
    release(address);
  };
  const ring = await bell(30_000);
  const input = { ...WORD, ...sounding(2_000), deviceGroupIds: [everywhere] };
  const held = { ...ring, usefulMs: 30_000, description: "Every day" };
  await air.notificationService.discardHeld(ring.id);
  await air.notificationService.send(input, fixture.by, { source: "bell-schedule", overrules: true, held });
  await air.until(() => air.stage(ring.id) === "deliver");
  await air.notificationService.discardHeld(ring.id);
  expect(lent).toHaveLength(2);
  expect(given).toEqual(lent);
});

describe("a bell whose zone is busy when it is armed", () => {
  it("plays at its time if the zone is free by then", async () => {
    const ring = await bell(3_000);
    // 1.5 s of sound that begins 2.5 s before the ring: half a second of it is left when devices are asked.
    await passTo(ring.at - 2_500, ring);
    const page = await send();
    await passTo(ring.at - 1_500, ring);
    expect([line(page)?.level, line(ring.id)?.ended]).toEqual(["sent", false]);
    await passTo(ring.at + 2_000, ring);
    expect([line(ring.id)?.level, line(ring.id)?.late, begunAt(ring.id)]).toEqual(["sent", false, [ring.at]]);
  });

  it("plays every ring when rings are three seconds apart", async () => {
    const rings = [];
    for (const nth of [1, 2, 3, 4, 5]) rings.push(await bell(3_000 * nth));
    const last = rings.at(-1)?.at ?? 0;
    await passTo(last + 2_000, ...rings);
    expect(rings.map(({ id }) => line(id)?.level)).toEqual(Array(5).fill("sent"));
    expect(rings.flatMap(({ id }) => begunAt(id))).toEqual(rings.map(({ at }) => at));
  });

  it("is skipped at its time if other audio still plays, and does not play later", async () => {
    const ring = await bell(3_000);
    await passTo(ring.at - 2_500, ring);
    await send(4_000);
    await passTo(ring.at + 100, ring);
    expect(line(ring.id)?.ended).toBe(false);
    await passTo(ring.at + 4_000, ring);
    expect(line(ring.id)).toMatchObject({ level: "skipped", reason: "The device is busy with another message." });
    expect(begunAt(ring.id)).toEqual([]);
  });

  it("preempts a less urgent message at its time, not when it is armed", async () => {
    const ring = await bell(3_000);
    await passTo(ring.at - 2_500, ring);
    const page = await send(4_000, {}, {});
    await passTo(ring.at - 100, ring);
    expect(line(page)?.ended).toBe(false);
    await passTo(ring.at + 2_000, ring);
    expect(line(page)?.ended).toBe(true);
    expect(line(ring.id)?.level).toBe("sent");
    // Its stream is opened so late that it joins one packet after the beginning.
    expect(begunAt(ring.id)).toEqual([ring.at + 20]);
  });

  it("yields to an emergency at once, also to one that ends before its time", async () => {
    const ring = await bell(3_500);
    await passTo(ring.at - 2_500, ring);
    await send(4_000);
    await passTo(ring.at - 1_900, ring);
    const called = scene.fixture.clock.now();
    const emergency = await send(2_000, { priority: "critical" });
    await passTo(called + 100, ring);
    expect(line(ring.id)).toMatchObject({ level: "skipped", reason: "A more urgent message took over the device." });
    expect((begunAt(emergency)[0] ?? 0) - called).toBeLessThan(50);
    await passTo(ring.at + 2_000, ring);
    expect(begunAt(ring.id)).toEqual([]);
  });

  it.each(["less", "more"])(
    "gives the zone to the more urgent of two simultaneous bells, the %s urgent armed first",
    async (first) => {
      const [other, urgent] = [await bell(3_000, 5), await bell(3_000, 1)];
      await passTo(other.at + 3_000, ...(first === "less" ? [other, urgent] : [urgent, other]));
      expect([line(urgent.id)?.level, line(other.id)?.level]).toEqual(["sent", "skipped"]);
      expect([begunAt(urgent.id), begunAt(other.id).filter((at) => at !== null)]).toEqual([[urgent.at], []]);
    },
  );

  it("waits for a more urgent bell of the same time, which alone plays", async () => {
    const [other, urgent] = [await bell(3_000, 5), await bell(3_000, 1)];
    await passTo(other.at - 2_500);
    await send();
    await passTo(other.at + 3_000, other, urgent);
    expect([line(urgent.id)?.level, line(other.id)?.level]).toEqual(["sent", "skipped"]);
    expect(line(other.id)?.reason).toContain(urgent.id);
  });
});

describe("a phone", () => {
  const PHONE = "SEP001122334455";
  const phoneLine = (id: string) => scene.air.rows(id).find(({ identifier }) => identifier === PHONE);
  beforeEach(async () => {
    await scene.close();
    scene = await openScene([PHONE]);
  });

  it("is free for the next bell three seconds later, even without a proof of playing", async () => {
    scene.air.channels.manners.set(PHONE, { playsAfterMs: null });
    const rings = [];
    for (const nth of [1, 2, 3]) rings.push(await bell(3_000 * nth));
    await passTo((rings.at(-1)?.at ?? 0) + 2_000, ...rings);
    expect(rings.map(({ id }) => [phoneLine(id)?.level, phoneLine(id)?.reason])).toEqual(
      Array(3).fill(["accepted", null]),
    );
  });

  it("ends the bell's delivery at once when it is preempted, and the bell if it has no other device", async () => {
    const ring = await bell(3_000);
    await passTo(ring.at - 1_500, ring);
    expect(phoneLine(ring.id)).toMatchObject({ level: "accepted", ended: false });
    const called = scene.fixture.clock.now();
    await send(4_000, { priority: "critical" });
    await passTo(called + 100, ring);
    expect(scene.air.rows(ring.id).map(({ ended, reason }) => [ended, reason])).toEqual(
      Array(2).fill([true, "A more urgent message took over the device."]),
    );
    expect(scene.air.stage(ring.id)).toBe("settled");
    await passTo(ring.at + 2_000, ring);
    expect(begunAt(ring.id).filter((at) => at !== null)).toEqual([]);
  });
});
