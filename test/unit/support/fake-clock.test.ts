import { describe, expect, it } from "vitest";
import { sleep } from "../../../src/lib/clock.ts";
import { createFakeClock, FAKE_CLOCK_START } from "../../support/fake-clock.ts";

describe("fake clock", () => {
  it("stops until it is advanced", async () => {
    const clock = createFakeClock();
    await new Promise((resolve) => setImmediate(resolve));
    expect([clock.now(), clock.monotonicMs()]).toEqual([FAKE_CLOCK_START, 0]);
    clock.advanceSync(1_500);
    expect([clock.now(), clock.monotonicMs()]).toEqual([FAKE_CLOCK_START + 1_500, 1_500]);
  });

  it("runs due timers in order of time, then of creation, each at its due time", () => {
    const clock = createFakeClock(0);
    const seen: string[] = [];
    const note = (name: string) => () => seen.push(`${name}@${clock.now()}`);
    clock.after(20, note("c"));
    clock.after(10, note("a"));
    clock.after(10, note("b"));
    clock.after(31, note("late"));
    clock.advanceSync(30);
    expect(seen).toEqual(["a@10", "b@10", "c@20"]);
    expect(clock.pendingTimers()).toBe(1);
  });

  it("runs timers made on the way when they fall due in the same move", () => {
    const clock = createFakeClock(0);
    const seen: number[] = [];
    clock.after(10, () => clock.after(10, () => seen.push(clock.now())));
    clock.advanceSync(20);
    expect(seen).toEqual([20]);
  });

  it("repeats until cancelled, also from within", () => {
    const clock = createFakeClock(0);
    const seen: number[] = [];
    const timer = clock.every(10, () => {
      seen.push(clock.now());
      if (seen.length === 3) timer.cancel();
    });
    clock.advanceSync(100);
    expect(seen).toEqual([10, 20, 30]);
    expect(clock.pendingTimers()).toBe(0);
  });

  it("never runs a cancelled timer, even if one of the same time cancelled it", () => {
    const clock = createFakeClock();
    const seen: string[] = [];
    clock.after(10, () => second.cancel());
    const second = clock.after(10, () => seen.push("second"));
    clock.advanceSync(10);
    expect(seen).toEqual([]);
  });

  it("lets promises settle between moments", async () => {
    const clock = createFakeClock(0);
    const seen: number[] = [];
    const work = (async () => {
      for (let step = 0; step < 3; step++) {
        await sleep(clock, 10);
        seen.push(clock.now());
      }
    })();
    await clock.advance(30);
    expect(seen).toEqual([10, 20, 30]);
    await work;
  });

  it("runs `soon` without moving time, and before `advance` ends", async () => {
    const clock = createFakeClock(0);
    const seen: number[] = [];
    clock.after(5, () => clock.defer(() => clock.after(5, () => seen.push(clock.now()))));
    await clock.advance(10);
    expect(seen).toEqual([10]);
  });

  it("throws errors of timers to the caller that advances the clock", async () => {
    const clock = createFakeClock();
    clock.after(1, () => {
      throw new RangeError("from the timer");
    });
    await expect(clock.advance(1)).rejects.toThrow("from the timer");
  });

  it("stays quick with ten thousand repeating timers", () => {
    const clock = createFakeClock(0);
    let runs = 0;
    for (let index = 0; index < 10_000; index++) clock.every(100 + (index % 7), () => runs++);
    clock.advanceSync(1_000);
    expect(runs).toBeGreaterThan(90_000);
  });
});
