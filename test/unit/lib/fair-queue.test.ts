import { describe, expect, it } from "vitest";
import { createFairQueue, type FairQueueClient } from "../../../src/lib/fair-queue.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function scene({ isHeld = () => false }: { isHeld?: () => boolean } = {}) {
  const clock = createFakeClock();
  const queue = createFairQueue({ clock, isHeld });
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const client = (key: string, maxRunning = 2, maxWaiting = 3): FairQueueClient => ({ key, maxRunning, maxWaiting });
  const add = (name: string, given: FairQueueClient, options: { isUrgent?: boolean; isAbandoned?(): boolean } = {}) =>
    queue.add({
      client: given,
      ...options,
      run: () => {
        log.push(name);
        return new Promise((resolve) => ends.set(name, resolve));
      },
      refuse: () => void log.push(`-${name}`),
    });
  /** Ends a task and lets the turns that follow pass. */
  const end = async (name: string) => {
    ends.get(name)?.();
    await clock.advance(0);
  };
  return { clock, queue, log, add, end, client };
}

describe("a fair queue", () => {
  it("starts a task at once while it is idle", () => {
    const { add, log, client } = scene();
    add("a1", client("a"));
    expect(log).toEqual(["a1"]);
  });

  it("bounds the tasks of a client under way and waiting, and refuses the rest", async () => {
    const { clock, queue, add, end, log, client } = scene();
    for (let at = 1; at <= 4; at++) add(`a${at}`, client("a"));
    expect(() => add("a5", client("a"))).toThrow("Try again in 1 s.");
    await clock.advance(0);
    expect(log).toEqual(["a1", "a2"]);
    await end("a1");
    expect(log).toEqual(["a1", "a2", "a3"]);
    expect(queue.counts).toEqual({ running: 2, waiting: 1, refused: 1 });
  });

  it("starts the waiting tasks client by client", async () => {
    const { clock, add, log, client } = scene();
    for (let at = 1; at <= 4; at++) add(`a${at}`, client("a", 9, 9));
    for (let at = 1; at <= 2; at++) add(`b${at}`, client("b", 9, 9));
    await clock.advance(0);
    expect(log).toEqual(["a1", "a2", "b1", "a3", "b2", "a4"]);
  });

  it("starts urgent tasks at once, however many others wait", async () => {
    const { add, log, client } = scene();
    for (let at = 1; at <= 4; at++) add(`a${at}`, client("a", 1, 9));
    for (let at = 1; at <= 3; at++) add(`u${at}`, client("b", 1), { isUrgent: true });
    expect(log).toEqual(["a1", "u1", "u2", "u3"]);
  });

  it("bounds the urgent tasks of a client, and queues the rest in order", async () => {
    const { add, end, log, client } = scene();
    for (let at = 1; at <= 7; at++) add(`u${at}`, client("b"), { isUrgent: true });
    expect(() => add("u8", client("b"), { isUrgent: true })).toThrow("Try again");
    expect(log).toEqual(["u1", "u2", "u3", "u4"]);
    await end("u2");
    expect(log).toEqual(["u1", "u2", "u3", "u4", "u5"]);
  });

  it("starts one task per 100 ms while it is held", async () => {
    let held = true;
    const { clock, add, log, client } = scene({ isHeld: () => held });
    for (let at = 1; at <= 5; at++) add(`a${at}`, client("a", 9, 9));
    await clock.advance(0);
    expect(log).toEqual(["a1"]);
    await clock.advance(99);
    expect(log).toEqual(["a1"]);
    await clock.advance(1);
    expect(log).toEqual(["a1", "a2"]);
    held = false;
    await clock.advance(100);
    expect(log).toEqual(["a1", "a2", "a3", "a4", "a5"]);
  });

  it("drops abandoned tasks, and refuses what has waited for more than 10 s", async () => {
    const { clock, queue, add, end, log, client } = scene();
    add("a1", client("a", 1));
    add("a2", client("a", 1), { isAbandoned: () => true });
    add("a3", client("a", 1));
    await clock.advance(10_001);
    await end("a1");
    expect(log).toEqual(["a1", "-a3"]);
    expect(queue.counts).toEqual({ running: 0, waiting: 0, refused: 1 });
    add("a4", client("a", 1));
    await clock.advance(0);
    expect(log).toEqual(["a1", "-a3", "a4"]);
  });
});
