import { describe, expect, it } from "vitest";
import type { Clock } from "../../../src/base/clock.ts";
import type { ApiClient } from "../../../src/cli/api-client.ts";
import { followLedger } from "../../../src/cli/demo/follow.ts";
import { hurriedClock } from "../../support/hurried-clock.ts";

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
    return followLedger({ get } as unknown as ApiClient, "n", {
      ...{ clock, signal: new AbortController().signal, onProgress: () => undefined, longestMs: 5 * MINUTE_MS },
      isDone: (each) => (each as unknown as ReturnType<typeof line>).isOver,
    });
  };

  it("goes on as long as it is wanted once a device has it", async () => {
    expect(await follow(hurriedClock(), true)).toMatchObject([{ deviceIdentifier: "zone:hall" }]);
  });

  it("reads the ledger when the counts change, and seldom while they do not", async () => {
    const clock = hurriedClock();
    const asked: string[] = [];
    const get = async (path: string) => {
      asked.push(path.includes("/devices") ? "ledger" : "counts");
      const level = clock.monotonicMs() < 10_000 ? "planned" : "playing";
      if (path.includes("/devices")) return { data: [{ level, provider: null }], next: null };
      return { progress: { percentComplete: 0, devices: { [level]: 1 } } };
    };
    await followLedger({ get } as unknown as ApiClient, "n", {
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
    const clock = hurriedClock();
    await expect(follow(clock, false)).rejects.toThrow("no device yet");
    expect(clock.monotonicMs()).toBeLessThan(2 * MINUTE_MS);
  });
});
