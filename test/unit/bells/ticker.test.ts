import { afterEach, describe, expect, it } from "vitest";
import { entryAt, openTicker, type TickerScene } from "./ticker-fixture.ts";

let scene: TickerScene;
afterEach(() => scene.close());

const begun = (): string[] => scene.told.filter((line) => /^(begin|DOUBLE)/.test(line));
const MINUTE = 60_000;

describe("a ring of the ticker", () => {
  it("is prepared 30 s ahead, armed 2 s ahead and started 50 ms ahead", async () => {
    scene = await openTicker(["08:01:00", "08:02:00"]);
    await scene.clock.advance(80_000);
    expect(scene.told.slice(0, 3)).toEqual([
      expect.stringMatching(/^prepare 08:01:00 at 08:00:30\.0\d\d/),
      expect.stringMatching(/^arm 08:01:00 at 08:00:58\.0\d\d/),
      expect.stringMatching(/^begin 08:01:00 at 08:00:59\.9[5-9]\d/),
    ]);
    expect(scene.states().slice(0, 2)).toEqual(["08:01:00 rung", "08:02:00 planned"]);
  });

  it("is cancelled, prepared again and started after its assignment changed", async () => {
    scene = await openTicker(["08:01:00"]);
    scene.stale.add("08:01:00");
    await scene.clock.advance(61_500);
    expect(scene.told.map((line) => line.split(" ")[0])).toEqual(["prepare", "withdraw", "prepare", "arm", "begin"]);
  });

  it("is recorded as skipped when there is nothing to send", async () => {
    scene = await openTicker(["08:01:00", "08:02:00"]);
    scene.ringLists = [{ id: "l", entries: [entryAt("08:01:00", "gone!"), entryAt("08:02:00")] }];
    await scene.written();
    await scene.clock.advance(75_000);
    expect(begun()).toEqual([]);
    expect(scene.states().slice(0, 2)).toEqual(["08:01:00 skipped", "08:02:00 planned"]);
  });
});

describe("after a restart", () => {
  it("rings up to 30 s late and records later rings as missed", async () => {
    scene = await openTicker(["08:01:00", "08:01:20", "08:05:00"]);
    await scene.crash(80_000);
    await scene.clock.advance(5 * MINUTE);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:01:00", "begin 08:01:20", "begin 08:05:00"]);
    expect(scene.states().slice(0, 3)).toEqual(["08:01:00 late", "08:01:20 rung", "08:05:00 rung"]);
    expect(scene.missed).toEqual([]);
  });

  it("records missed rings with their cause", async () => {
    scene = await openTicker(["08:01:00", "08:05:00"]);
    await scene.crash(2 * MINUTE);
    await scene.clock.advance(5 * MINUTE);
    expect(scene.missed.map(({ ring, cause }) => [ring.localTime, cause])).toEqual([["08:01:00", "down"]]);
    expect(begun()).toHaveLength(1);
  });

  it("records every missed ring after days of downtime", async () => {
    scene = await openTicker(["12:00:00"]);
    await scene.crash(6 * 24 * 60 * MINUTE);
    await scene.clock.advance(MINUTE);
    expect(scene.missed).toHaveLength(6);
  });

  it("does not ring twice after a crash between commit and audio, and records it", async () => {
    scene = await openTicker(["08:01:00"]);
    await scene.clock.advance(MINUTE - 500);
    await scene.store.write(
      (tx) =>
        void tx.run(
          "UPDATE bell_rings SET state = 'started', asked = 1 WHERE local_time = '08:01:00' AND open = 1 AND state = 'armed'",
        ),
    );
    await scene.crash(2_000);
    await scene.clock.advance(MINUTE);
    expect(begun()).toEqual([]);
    expect(scene.missed.map(({ cause }) => cause)).toEqual(["cut-off"]);
  });
});

describe("a clock step", () => {
  it("forward by minutes misses the skipped rings and rings the next ones", async () => {
    scene = await openTicker(["08:05:00", "08:12:00"]);
    scene.clock.stepWallClock(10 * MINUTE);
    await scene.clock.advance(10 * MINUTE);
    expect(scene.missed.map(({ ring, cause }) => [ring.localTime, cause])).toEqual([["08:05:00", "clock"]]);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:12:00"]);
  });

  it("forward by less than the late limit rings late", async () => {
    scene = await openTicker(["08:01:00"]);
    await scene.clock.advance(20_000);
    scene.clock.stepWallClock(60_000);
    await scene.clock.advance(5_000);
    expect(scene.states()[0]).toBe("08:01:00 late");
    expect(begun()).toHaveLength(1);
  });

  it("backward rings nothing twice and reopens missed rings", async () => {
    scene = await openTicker(["08:01:00", "08:06:00", "08:09:00"]);
    await scene.clock.advance(2 * MINUTE);
    scene.clock.stepWallClock(5 * MINUTE);
    await scene.clock.advance(MINUTE);
    expect(scene.missed.map(({ ring }) => ring.localTime)).toEqual(["08:06:00"]);
    scene.clock.stepWallClock(-6 * MINUTE);
    await scene.clock.advance(10 * MINUTE);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:01:00", "begin 08:06:00", "begin 08:09:00"]);
  });

  it("backward rings a ring that was scheduled while the clock was ahead", async () => {
    scene = await openTicker(["08:08:00"]);
    scene.clock.stepWallClock(10 * MINUTE);
    await scene.clock.advance(MINUTE);
    scene.ringLists = [{ id: "l", entries: ["08:05:00", "08:08:00"].map((time) => entryAt(time)) }];
    await scene.written();
    scene.clock.stepWallClock(-10 * MINUTE);
    await scene.clock.advance(9 * MINUTE);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:05:00", "begin 08:08:00"]);
  });
});

describe("a write to a schedule", () => {
  it("cancels prepared rings and plans new ones", async () => {
    scene = await openTicker(["08:01:00"]);
    await scene.clock.advance(40_000);
    scene.ringLists = [{ id: "l", entries: [entryAt("08:01:30")] }];
    await scene.written();
    await scene.clock.advance(2 * MINUTE);
    expect(scene.told.map((line) => line.split(" at ")[0])).toEqual([
      ...["prepare 08:01:00", "withdraw 08:01:00", "prepare 08:01:30", "arm 08:01:30", "begin 08:01:30"],
    ]);
  });

  it("replaces only the rings that it changes while they are prepared together", async () => {
    scene = await openTicker(["12:00:00"]);
    await scene.clock.advance(45_000);
    scene.meanwhile.set("08:01:00", async () => {
      scene.ringLists = [{ id: "l", entries: [entryAt("08:01:00"), entryAt("08:01:06")] }];
      await scene.written();
    });
    scene.ringLists = [{ id: "l", entries: [entryAt("08:01:00"), entryAt("08:01:05")] }];
    await scene.written();
    for (let second = 0; second < 30; second++) await scene.clock.advance(1_000);
    expect(scene.told.map((line) => line.split(" at ")[0])).toEqual([
      ...["prepare 08:01:00", "prepare 08:01:05", "withdraw 08:01:05", "prepare 08:01:06"],
      ...["arm 08:01:00", "begin 08:01:00", "arm 08:01:06", "begin 08:01:06"],
    ]);
  });

  it("prepares a new ring as what it is, also at the moment and with the key of a removed one", async () => {
    scene = await openTicker(["08:01:00"]);
    await scene.clock.advance(40_000);
    scene.ringLists = [{ id: "l", entries: [] }];
    await scene.written();
    await scene.clock.advance(1_000);
    scene.ringLists = [{ id: "l", entries: [entryAt("08:01:00", "nothing to send!")] }];
    await scene.written();
    await scene.clock.advance(MINUTE);
    expect(scene.told.map((line) => line.split(" at ")[0])).toEqual([
      ...["prepare 08:01:00", "withdraw 08:01:00", "prepare 08:01:00"],
    ]);
    expect(scene.states()[0]).toBe("08:01:00 skipped");
  });

  it("moves all rings, also prepared ones, to another time zone", async () => {
    scene = await openTicker(["08:01:00", "09:05:00"]);
    await scene.clock.advance(40_000);
    scene.schedule = { ...scene.schedule, timeZone: "Europe/London" };
    await scene.written();
    await scene.clock.advance(MINUTE);
    expect(begun()).toHaveLength(1);
    scene.schedule = { ...scene.schedule, timeZone: "Europe/Berlin" };
    await scene.written();
    await scene.clock.advance(10 * MINUTE);
    expect(begun().map((line) => line.slice(0, 26))).toEqual([
      "begin 08:01:00 at 08:00:59",
      "begin 09:05:00 at 08:04:59",
    ]);
  });

  it("does not ring rings that it moves into the past", async () => {
    scene = await openTicker(["12:00:00"]);
    await scene.clock.advance(10 * MINUTE);
    scene.ringLists = [{ id: "l", entries: [entryAt("08:10:00"), entryAt("12:00:00")] }];
    await scene.written();
    await scene.clock.advance(MINUTE);
    expect(scene.told).toEqual([]);
    expect(scene.missed).toEqual([]);
  });

  it("plans a ring every minute in steps, each ring once, and replans it whole", async () => {
    const two = (value: number): string => String(value).padStart(2, "0");
    const minutes = Array.from({ length: 1_440 }, (_, at) => `${two(Math.floor(at / 60))}:${two(at % 60)}:00`);
    scene = await openTicker(["08:30:00"]);
    scene.ringLists = [{ id: "l", entries: minutes.map((time) => entryAt(time)) }];
    const planned = () =>
      scene.store.one<{ count: number; apart: number; last: number }>(
        "SELECT count(*) AS count, count(DISTINCT at) AS apart, max(at) AS last FROM bell_rings WHERE open = 1",
      );
    await scene.written();
    // The write itself plans one step only.
    expect(planned()?.count).toBeLessThanOrEqual(700);
    await scene.clock.advance(2_000);
    const { count = 0, apart = 0, last = 0 } = planned() ?? {};
    expect([count, last - scene.clock.now() >= 48 * 60 * MINUTE]).toEqual([apart, true]);
    expect(scene.planner.hasDirty()).toBe(false);
    scene.ringLists = [{ id: "l", entries: minutes.slice(0, 720).map((time) => entryAt(time)) }];
    await scene.written();
    await scene.clock.advance(2_000);
    const afternoon = "SELECT count(*) AS count FROM bell_rings WHERE open = 1 AND local_time >= '12:00:00'";
    expect(scene.store.one<{ count: number }>(afternoon)?.count).toBe(0);
  });

  it("replans dependent schedules before their next ring", async () => {
    scene = await openTicker(["08:05:00"]);
    scene.ringLists = [{ id: "l", entries: [entryAt("08:03:00"), entryAt("08:05:30")] }];
    await scene.store.write((tx) => scene.planner.markDirty(tx, ["s"]));
    await scene.clock.advance(10 * MINUTE);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:03:00", "begin 08:05:30"]);
  });
});

describe("a failing ring", () => {
  it("does not block other rings during preparation, and rings once the retry succeeds", async () => {
    scene = await openTicker(["08:01:00", "08:01:10", "08:02:00"]);
    scene.broken.add("08:01:00");
    await scene.clock.advance(64_000);
    expect(begun().map((line) => line.slice(0, 14))).toEqual([]);
    scene.broken.clear();
    for (let second = 0; second < 60; second++) await scene.clock.advance(1_000);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:01:00", "begin 08:01:10", "begin 08:02:00"]);
    expect(scene.told.filter((line) => line.startsWith("prepare 08:01:00")).length).toBeLessThan(40);
  });

  it("waits between its attempts instead of looking each millisecond", async () => {
    scene = await openTicker(["08:01:00"]);
    scene.broken.add("08:01:00");
    await scene.clock.advance(31_000);
    const { after } = scene.clock;
    let timers = 0;
    Object.assign(scene.clock, {
      after: (...given: Parameters<typeof after>) => {
        timers++;
        return after.apply(scene.clock, given);
      },
    });
    await scene.clock.advance(10_000);
    expect(timers).toBeLessThan(1_000);
  });

  it("is missed if it cannot be prepared in time", async () => {
    scene = await openTicker(["08:01:00", "08:02:00"]);
    scene.broken.add("08:01:00");
    await scene.clock.advance(3 * MINUTE);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:02:00"]);
    expect(scene.missed.map(({ ring, cause }) => `${ring.localTime} ${cause}`)).toEqual(["08:01:00 overload"]);
  });

  it("does not block other rings when its cancellation fails", async () => {
    scene = await openTicker(["08:01:00", "08:02:00"]);
    scene.stuck.add("08:01:00");
    await scene.clock.advance(40_000);
    scene.ringLists = [{ id: "l", entries: [entryAt("08:02:00")] }];
    await scene.written();
    await scene.clock.advance(3 * MINUTE);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:02:00"]);
  });
});
