import { describe, expect, it } from "vitest";
import { createPacer, type PacedTask } from "../../../src/media/pacer.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** A pacer on a fake clock whose naps move that clock, as real ones do; the next nap takes `stall.ms` longer. */
function setUp() {
  const clock = createFakeClock(0);
  const naps: number[] = [];
  const stall = { ms: 0 };
  const pacer = createPacer({
    clock,
    nap: (ms) => {
      naps.push(ms);
      clock.advanceSync(ms + stall.ms);
      stall.ms = 0;
    },
  });
  return { clock, naps, pacer, stall };
}

interface Tick {
  n: number;
  at: number;
  lateMs: number;
}

function recorder(clock: { monotonicMs(): number }, count = Number.POSITIVE_INFINITY): PacedTask & { ticks: Tick[] } {
  const ticks: Tick[] = [];
  return {
    ticks,
    tick(n, lateMs) {
      ticks.push({ n, at: clock.monotonicMs(), lateMs });
      return ticks.length < count;
    },
  };
}

describe("the pacer", () => {
  it("ticks every 20 ms from t0 on, a quarter of a ms early at most, until the task has enough", async () => {
    const { clock, naps, pacer } = setUp();
    const task = recorder(clock, 50);
    pacer.start(task, 100);
    await clock.advance(97);
    expect(task.ticks).toEqual([]);
    for (let n = 0; n < 400; n++) await clock.advance(3);
    expect(task.ticks.map((tick) => tick.n)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    for (const { n, at, lateMs } of task.ticks) {
      expect(at - (100 + 20 * n)).toBeGreaterThanOrEqual(-0.25);
      // The test itself moves the clock in steps of 3 ms.
      expect(at - (100 + 20 * n)).toBeLessThanOrEqual(3);
      expect(lateMs).toBe(Math.max(0, at - (100 + 20 * n)));
    }
    expect(Math.max(...naps)).toBeLessThanOrEqual(3);
    expect(clock.pendingTimers()).toBe(0);
  });

  it("catches up late ticks at once, and shifts nothing after them", async () => {
    const { clock, pacer, stall } = setUp();
    const task = recorder(clock);
    pacer.start(task, 10);
    await clock.advance(11);
    const before = task.ticks.length;
    expect(before).toBe(1);
    stall.ms = 76;
    await clock.advance(18);
    expect(clock.monotonicMs()).toBe(106);
    const caughtUp = task.ticks.slice(before);
    expect(caughtUp.map((tick) => tick.n)).toEqual([1, 2, 3, 4]);
    expect(new Set(caughtUp.map((tick) => tick.at)).size).toBe(1);
    expect(caughtUp.map((tick) => tick.lateMs)).toEqual([76, 56, 36, 16]);
    for (let n = 0; n < 10; n++) await clock.advance(2);
    const next = task.ticks.find((tick) => tick.n === 5);
    expect(Math.abs((next?.at ?? 0) - 110)).toBeLessThanOrEqual(2);
  });

  it("starts with a past t0 and runs all missed ticks at once", async () => {
    const { clock, pacer } = setUp();
    clock.advanceSync(1000);
    const task = recorder(clock, 3);
    pacer.start(task, 900);
    await clock.advance(0);
    expect(task.ticks.map((tick) => tick.lateMs)).toEqual([100, 80, 60]);
  });

  it("wakes once for tasks that are due together", async () => {
    const { clock, naps, pacer } = setUp();
    const tasks = Array.from({ length: 200 }, () => recorder(clock, 2));
    for (const task of tasks) pacer.start(task, 50);
    for (let n = 0; n < 50; n++) await clock.advance(2);
    expect(tasks.every((task) => task.ticks.length === 2)).toBe(true);
    expect(naps.length).toBeLessThanOrEqual(4);
  });

  it("starts a task that is due before those waiting, and ignores a running one", async () => {
    const { clock, pacer } = setUp();
    const [late, early] = [recorder(clock, 1), recorder(clock, 2)];
    pacer.start(late, 1000);
    pacer.start(early, 50);
    for (let n = 0; n < 35; n++) await clock.advance(2);
    expect(early.ticks).toHaveLength(2);
    pacer.start(late, 100);
    for (let n = 0; n < 30; n++) await clock.advance(2);
    expect(late.ticks).toEqual([]);
    await clock.advance(1000);
    expect(late.ticks).toHaveLength(1);
  });

  it("stops calling a cancelled task, even when it cancels itself or another within a tick", async () => {
    const { clock, pacer } = setUp();
    const victim = recorder(clock);
    const killer: PacedTask = {
      tick: () => {
        pacer.cancel(victim);
        return false;
      },
    };
    pacer.start(killer, 40);
    pacer.start(victim, 40);
    for (let n = 0; n < 50; n++) await clock.advance(2);
    expect(victim.ticks).toEqual([]);
    pacer.cancel(victim);
    expect(clock.pendingTimers()).toBe(0);
  });
});
