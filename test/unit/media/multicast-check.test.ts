import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { checkMulticast } from "../../../src/media/multicast-check.ts";

describe("checkMulticast", () => {
  it("receives its own packets on the interface and names the address", async () => {
    const target = { group: "239.1.2.3", port: 0, networkInterface: "lo" };
    await expect(checkMulticast(target, systemClock)).resolves.toEqual({ address: "127.0.0.1", problem: null });
  });

  it("says why nothing can leave", async () => {
    const target = { group: "239.1.2.3", port: 0, networkInterface: "none0" };
    await expect(checkMulticast(target, systemClock)).resolves.toEqual({
      address: null,
      problem: "Network unreachable: interface none0 has no address, or its link is down.",
    });
  });
});
