import { describe, expect, it } from "vitest";
import { abortable, pause, pollUntil, within } from "../../../src/lib/waits.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const never = new Promise<never>(() => undefined);
const reason = new Error("stopped");

describe("abortable", () => {
  it("returns the result, or rejects with the reason of the signal", async () => {
    const controller = new AbortController();
    await expect(abortable(Promise.resolve(7), controller.signal)).resolves.toBe(7);
    const waiting = abortable(never, controller.signal);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(abortable(Promise.resolve(7), controller.signal)).rejects.toBe(reason);
  });
});

describe("pause", () => {
  it("ends after its time, or early without an error", async () => {
    const clock = createFakeClock();
    const controller = new AbortController();
    const ended: string[] = [];
    void pause(clock, 10, controller.signal).then(() => ended.push("short"));
    void pause(clock, 1_000, controller.signal).then(() => ended.push("long"));
    await clock.advance(10);
    expect(ended).toEqual(["short"]);
    controller.abort(reason);
    await clock.advance(0);
    expect(ended).toEqual(["short", "long"]);
    expect(clock.pendingTimers()).toBe(0);
  });
});

describe("within", () => {
  it("returns the value and leaves no timer", async () => {
    const clock = createFakeClock();
    await expect(within(clock, Promise.resolve(null), { timeoutMs: 10 })).resolves.toEqual({ value: null });
    expect(clock.pendingTimers()).toBe(0);
  });

  it("returns null after the timeout and when the signal aborts", async () => {
    const clock = createFakeClock();
    const controller = new AbortController();
    const late = within(clock, never, { timeoutMs: 10 });
    const aborted = within(clock, never, { timeoutMs: 10, signal: controller.signal });
    controller.abort(reason);
    await expect(aborted).resolves.toBeNull();
    await clock.advance(10);
    await expect(late).resolves.toBeNull();
  });

  it("rejects if the promise does", async () => {
    await expect(within(createFakeClock(), Promise.reject(reason), { timeoutMs: 10 })).rejects.toBe(reason);
  });
});

describe("pollUntil", () => {
  it("polls at its interval until there is a value", async () => {
    const clock = createFakeClock();
    const polledAt: number[] = [];
    const poll = (): string | null => (polledAt.push(clock.monotonicMs()) === 3 ? "ready" : null);
    const result = pollUntil(clock, poll, { timeoutMs: 1_000, intervalMs: 100 });
    await clock.advance(0);
    await clock.advance(1_000);
    expect([await result, polledAt]).toEqual(["ready", [0, 100, 200]]);
  });

  it("returns null after the timeout, and rejects when the signal aborts", async () => {
    const clock = createFakeClock();
    const controller = new AbortController();
    const limits = { timeoutMs: 250, intervalMs: 100 };
    const late = pollUntil(clock, () => null, limits);
    const aborted = pollUntil(clock, () => null, { ...limits, signal: controller.signal });
    controller.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    await clock.advance(300);
    await expect(late).resolves.toBeNull();
  });
});
