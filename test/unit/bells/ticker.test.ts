import { afterEach, describe, expect, it } from "vitest";
import { entryAt, openTicker, type TickerScene } from "./ticker-fixture.ts";

let scene: TickerScene;
afterEach(() => scene.close());

const begun = (): string[] => scene.told.filter((line) => /^(begin|DOUBLE)/.test(line));
const MINUTE = 60_000;

describe("a ring", () => {
  it("is prepared 30 s ahead, armed 2 s ahead and begun 50 ms ahead, each within the least time that people notice", async () => {
    scene = await openTicker(["08:01:00", "08:02:00"]);
    await scene.clock.advance(80_000);
    expect(scene.told.slice(0, 3)).toEqual([
      expect.stringMatching(/^prepare 08:01:00 at 08:00:30\.0\d\d/),
      expect.stringMatching(/^arm 08:01:00 at 08:00:58\.0\d\d/),
      expect.stringMatching(/^begin 08:01:00 at 08:00:59\.9[5-9]\d/),
    ]);
    expect(scene.states().slice(0, 2)).toEqual(["08:01:00 rung", "08:02:00 planned"]);
  });

  it("of which other devices fall to this appliance than when it was prepared is taken back, prepared anew and begun", async () => {
    scene = await openTicker(["08:01:00"]);
    scene.stale.add("08:01:00");
    await scene.clock.advance(61_500);
    expect(scene.told.map((line) => line.split(" ")[0])).toEqual(["prepare", "withdraw", "prepare", "arm", "begin"]);
  });

  it("with nothing to send is skipped and written down", async () => {
    scene = await openTicker(["08:01:00", "08:02:00"]);
    scene.ringLists = [{ id: "l", entries: [entryAt("08:01:00", "gone!"), entryAt("08:02:00")] }];
    await scene.written();
    await scene.clock.advance(75_000);
    expect(begun()).toEqual([]);
    expect(scene.states().slice(0, 2)).toEqual(["08:01:00 skipped", "08:02:00 planned"]);
  });
});

describe("after a restart", () => {
  it("what is late by 30 s rings, what is later is missed and told", async () => {
    scene = await openTicker(["08:01:00", "08:01:20", "08:05:00"]);
    await scene.crash(80_000);
    await scene.clock.advance(5 * MINUTE);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:01:00", "begin 08:01:20", "begin 08:05:00"]);
    expect(scene.states().slice(0, 3)).toEqual(["08:01:00 late", "08:01:20 rung", "08:05:00 rung"]);
    expect(scene.missed).toEqual([]);
  });

  it("is missed beyond that, with its cause", async () => {
    scene = await openTicker(["08:01:00", "08:05:00"]);
    await scene.crash(2 * MINUTE);
    await scene.clock.advance(5 * MINUTE);
    expect(scene.missed.map(({ ring, cause }) => [ring.localTime, cause])).toEqual([["08:01:00", "down"]]);
    expect(begun()).toHaveLength(1);
  });

  it("of days, each ring of them is missed and none forgotten", async () => {
    scene = await openTicker(["12:00:00"]);
    await scene.crash(6 * 24 * 60 * MINUTE);
    await scene.clock.advance(MINUTE);
    expect(scene.missed).toHaveLength(6);
  });

  it("between the commit and the sound rings no second time, and is told", async () => {
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

describe("a clock that is set", () => {
  it("forward by minutes: what it jumped over is missed, what comes then rings", async () => {
    scene = await openTicker(["08:05:00", "08:12:00"]);
    scene.clock.stepWallClock(10 * MINUTE);
    await scene.clock.advance(10 * MINUTE);
    expect(scene.missed.map(({ ring, cause }) => [ring.localTime, cause])).toEqual([["08:05:00", "clock"]]);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:12:00"]);
  });

  it("forward by less than the limit: it rings late", async () => {
    scene = await openTicker(["08:01:00"]);
    await scene.clock.advance(20_000);
    scene.clock.stepWallClock(60_000);
    await scene.clock.advance(5_000);
    expect(scene.states()[0]).toBe("08:01:00 late");
    expect(begun()).toHaveLength(1);
  });

  it("back by minutes: nothing rings twice, and what was missed rings", async () => {
    scene = await openTicker(["08:01:00", "08:06:00", "08:09:00"]);
    await scene.clock.advance(2 * MINUTE);
    scene.clock.stepWallClock(5 * MINUTE);
    await scene.clock.advance(MINUTE);
    expect(scene.missed.map(({ ring }) => ring.localTime)).toEqual(["08:06:00"]);
    scene.clock.stepWallClock(-6 * MINUTE);
    await scene.clock.advance(10 * MINUTE);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:01:00", "begin 08:06:00", "begin 08:09:00"]);
  });

  it("back after a schedule was written while it was ahead: the new ring rings", async () => {
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

describe("a schedule that is written", () => {
  it("takes back what was prepared, and plans what is new", async () => {
    scene = await openTicker(["08:01:00"]);
    await scene.clock.advance(40_000);
    scene.ringLists = [{ id: "l", entries: [entryAt("08:01:30")] }];
    await scene.written();
    await scene.clock.advance(2 * MINUTE);
    expect(scene.told.map((line) => line.split(" at ")[0])).toEqual([
      ...["prepare 08:01:00", "withdraw 08:01:00", "prepare 08:01:30", "arm 08:01:30", "begin 08:01:30"],
    ]);
  });

  it("with another zone moves its rings, also one that was prepared", async () => {
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

  it("does not ring what it puts into the past", async () => {
    scene = await openTicker(["12:00:00"]);
    await scene.clock.advance(10 * MINUTE);
    scene.ringLists = [{ id: "l", entries: [entryAt("08:10:00"), entryAt("12:00:00")] }];
    await scene.written();
    await scene.clock.advance(MINUTE);
    expect(scene.told).toEqual([]);
    expect(scene.missed).toEqual([]);
  });

  it("that others follow from is planned anew before its next ring", async () => {
    scene = await openTicker(["08:05:00"]);
    scene.ringLists = [{ id: "l", entries: [entryAt("08:03:00"), entryAt("08:05:30")] }];
    await scene.store.write((tx) => scene.planner.markDirty(tx, ["s"]));
    await scene.clock.advance(10 * MINUTE);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:03:00", "begin 08:05:30"]);
  });
});

describe("a ring that fails", () => {
  it("to be made ready keeps no other from ringing, and rings once it can be", async () => {
    scene = await openTicker(["08:01:00", "08:01:10", "08:02:00"]);
    scene.broken.add("08:01:00");
    await scene.clock.advance(64_000);
    expect(begun().map((line) => line.slice(0, 14))).toEqual([]);
    scene.broken.clear();
    for (let second = 0; second < 60; second++) await scene.clock.advance(1_000);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:01:00", "begin 08:01:10", "begin 08:02:00"]);
    expect(scene.told.filter((line) => line.startsWith("prepare 08:01:00")).length).toBeLessThan(40);
  });

  it("to be made ready in time is missed", async () => {
    scene = await openTicker(["08:01:00", "08:02:00"]);
    scene.broken.add("08:01:00");
    await scene.clock.advance(3 * MINUTE);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:02:00"]);
    expect(scene.missed.map(({ ring, cause }) => `${ring.localTime} ${cause}`)).toEqual(["08:01:00 overload"]);
  });

  it("to be taken back keeps no other from ringing", async () => {
    scene = await openTicker(["08:01:00", "08:02:00"]);
    scene.stuck.add("08:01:00");
    await scene.clock.advance(40_000);
    scene.ringLists = [{ id: "l", entries: [entryAt("08:02:00")] }];
    await scene.written();
    await scene.clock.advance(3 * MINUTE);
    expect(begun().map((line) => line.slice(0, 14))).toEqual(["begin 08:02:00"]);
  });
});
