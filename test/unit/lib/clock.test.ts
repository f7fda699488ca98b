import { describe, expect, it } from "vitest";
import { createTurnQueue, sleep, systemClock } from "../../../src/lib/clock.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

describe("sleep", () => {
  it("resolves when its time has come, not earlier", async () => {
    const clock = createFakeClock(0);
    let woke: number | null = null;
    const sleeping = sleep(clock, 100).then(() => {
      woke = clock.now();
    });
    await clock.advance(99);
    expect(woke).toBeNull();
    await clock.advance(1);
    expect(woke).toBe(100);
    await sleeping;
  });

  it("rejects with the signal's reason at once and leaves no timer", async () => {
    const clock = createFakeClock();
    const abort = new AbortController();
    const sleeping = sleep(clock, 100, abort.signal);
    abort.abort("stopping");
    await expect(sleeping).rejects.toBe("stopping");
    expect(clock.pendingTimers()).toBe(0);
  });

  it("rejects when the signal has aborted already, without a timer", async () => {
    const clock = createFakeClock();
    await expect(sleep(clock, 100, AbortSignal.abort("gone"))).rejects.toBe("gone");
    expect(clock.pendingTimers()).toBe(0);
  });

  it("removes its signal listener when it wakes", async () => {
    const clock = createFakeClock();
    const abort = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = abort.signal;
    abort.signal.addEventListener = (...args: unknown[]) => {
      listeners++;
      Reflect.apply(addEventListener, abort.signal, args);
    };
    abort.signal.removeEventListener = (...args: unknown[]) => {
      listeners--;
      Reflect.apply(removeEventListener, abort.signal, args);
    };
    const sleeping = sleep(clock, 10, abort.signal);
    expect(listeners).toBe(1);
    await clock.advance(10);
    await sleeping;
    expect(listeners).toBe(0);
  });
});

describe("system clock", () => {
  it("gives wall time in ms, and a monotonic time that rises within a millisecond", () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(50);
    const times = Array.from({ length: 5 }, () => systemClock.monotonicMs());
    for (const [index, time] of times.slice(1).entries()) expect(time).toBeGreaterThan(times[index] ?? time);
  });

  it("runs `after` once, `soon` before it, and nothing that was cancelled", async () => {
    const seen: string[] = [];
    const cancelled = [
      systemClock.after(1, () => seen.push("cancelled after")),
      systemClock.every(1, () => seen.push("cancelled every")),
    ];
    for (const timer of cancelled) timer.cancel();
    systemClock.defer(() => seen.push("soon"));
    await new Promise<void>((resolve) => {
      systemClock.after(15, () => {
        seen.push("after");
        resolve();
      });
    });
    expect(seen).toEqual(["soon", "after"]);
    for (const timer of cancelled) timer.cancel();
  });

  it("repeats `every` until it is cancelled", async () => {
    let runs = 0;
    await new Promise<void>((resolve) => {
      const timer = systemClock.every(1, () => {
        runs++;
        if (runs < 3) return;
        timer.cancel();
        resolve();
      });
    });
    expect(runs).toBe(3);
  });
});

it("continues one of many callers per turn of the event loop", async () => {
  const turns: (() => void)[] = [];
  const nextTurn = createTurnQueue({ defer: (fn) => void turns.push(fn) });
  const continued: number[] = [];
  for (const caller of [1, 2, 3]) void nextTurn().then(() => continued.push(caller));
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  for (const expected of [[1], [1, 2], [1, 2, 3]]) {
    await settled();
    expect(turns).toHaveLength(1);
    turns.shift()?.();
    await settled();
    expect(continued).toEqual(expected);
  }
});
