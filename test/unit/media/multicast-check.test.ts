import { describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { sentence } from "../../../src/lib/sentences/sentences.ts";
import { checkMulticast } from "../../../src/media/multicast-check.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

describe("checkMulticast", () => {
  it("receives its own packets on the interface and names the address", async () => {
    const target = { group: "239.1.2.3", port: 0, networkInterface: "lo" };
    await expect(checkMulticast(target, systemClock)).resolves.toEqual({ address: "127.0.0.1", problem: null });
  });

  it("says that no packet came back, and sends none when its socket is closed", async () => {
    const clock = createFakeClock();
    const hasty: Clock = {
      ...clock,
      after: (_, fn) => {
        fn();
        return { cancel: () => undefined };
      },
    };
    const { problem } = await checkMulticast({ group: "239.1.2.3", port: 0, networkInterface: "lo" }, hasty);
    expect(problem).toBe(sentence("network.packets-lost", { group: "239.1.2.3", address: "127.0.0.1" }));
    expect(clock.pendingTimers()).toBe(0);
  });

  it("says why nothing can leave", async () => {
    const target = { group: "239.1.2.3", port: 0, networkInterface: "none0" };
    await expect(checkMulticast(target, systemClock)).resolves.toEqual({
      address: null,
      problem: "Network unreachable: interface none0 has no address, or its link is down.",
    });
  });
});
