import { describe, expect, it } from "vitest";
import type { ApiClient } from "../../../src/api-client/api-client.ts";
import { followDeliveries } from "../../../src/api-client/follow-deliveries.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { createFastClock } from "../../support/fast-clock.ts";

const MINUTE_MS = 60_000;

describe("following a message", () => {
  const follow = (clock: Clock, isThere: boolean) => {
    const line = () => ({
      deviceIdentifier: "zone:hall",
      level: "playing",
      provider: null,
      isOver: clock.monotonicMs() > 3 * MINUTE_MS,
    });
    const progress = { percentComplete: 0, devices: isThere ? { playing: 1 } : {} };
    const get = async (path: string) =>
      path.includes("/devices") ? { data: isThere ? [line()] : [], next: null } : { progress };
    return followDeliveries({ get } as unknown as ApiClient, "n", {
      ...{ clock, signal: new AbortController().signal, onProgress: () => undefined, longestMs: 5 * MINUTE_MS },
      isDone: (each) => (each as unknown as ReturnType<typeof line>).isOver,
    });
  };

  it("goes on as long as it is wanted once a device has it", async () => {
    expect(await follow(createFastClock(), true)).toMatchObject([{ deviceIdentifier: "zone:hall" }]);
  });

  it("reads the ledger when the counts change, and seldom while they do not", async () => {
    const clock = createFastClock();
    const asked: string[] = [];
    const get = async (path: string) => {
      asked.push(path.includes("/devices") ? "ledger" : "counts");
      const level = clock.monotonicMs() < 10_000 ? "planned" : "playing";
      if (path.includes("/devices")) return { data: [{ level, provider: null }], next: null };
      return { progress: { percentComplete: 0, devices: { [level]: 1 } } };
    };
    await followDeliveries({ get } as unknown as ApiClient, "n", {
      ...{ clock, signal: new AbortController().signal, onProgress: () => undefined },
      isDone: ({ level }) => level === "playing",
    });
    const times = (what: string): number => asked.filter((each) => each === what).length;
    expect(times("counts")).toBeGreaterThan(40);
    expect(times("ledger")).toBeLessThan(10);
    expect(asked.slice(-2)).toEqual(["counts", "ledger"]);
    expect(clock.monotonicMs()).toBeLessThan(10_500);
  });

  it("ends after a minute where no device has it", async () => {
    const clock = createFastClock();
    await expect(follow(clock, false)).rejects.toThrow("no device yet");
    expect(clock.monotonicMs()).toBeLessThan(2 * MINUTE_MS);
  });
});
