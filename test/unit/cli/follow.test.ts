import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import type { ApiClient } from "../../../src/cli/api-client.ts";
import { followLedger } from "../../../src/cli/demo/follow.ts";

const MINUTE_MS = 60_000;

/** What is waited for has passed at once. */
function hurriedClock() {
  let now = 0;
  return {
    ...systemClock,
    monotonicMs: () => now,
    after(ms: number, work: () => void) {
      now += ms;
      setImmediate(work);
      return { cancel: () => undefined };
    },
  };
}

describe("following a message", () => {
  const follow = (clock: ReturnType<typeof hurriedClock>, isThere: boolean) => {
    const line = () => ({
      deviceIdentifier: "zone:hall",
      level: "playing",
      provider: null,
      isOver: clock.monotonicMs() > 3 * MINUTE_MS,
    });
    const get = async () => ({ data: isThere ? [line()] : [], next: null });
    return followLedger({ get } as unknown as ApiClient, "n", {
      ...{ clock, signal: new AbortController().signal, onProgress: () => undefined, longestMs: 5 * MINUTE_MS },
      isDone: (each) => (each as unknown as ReturnType<typeof line>).isOver,
    });
  };

  it("goes on as long as it is wanted once a device has it", async () => {
    expect(await follow(hurriedClock(), true)).toMatchObject([{ deviceIdentifier: "zone:hall" }]);
  });

  it("ends after a minute where no device has it", async () => {
    const clock = hurriedClock();
    await expect(follow(clock, false)).rejects.toThrow("no device yet");
    expect(clock.monotonicMs()).toBeLessThan(2 * MINUTE_MS);
  });
});
