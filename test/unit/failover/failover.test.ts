import { expect, it } from "vitest";
import { killAroundBells } from "../../faults/failover.ts";

it("rings every bell although the active appliance is killed around it, and twice only for a reason", {
  timeout: 60_000,
}, async () => {
  const { broken, ...figures } = await killAroundBells(6, 3);
  expect(broken).toEqual([]);
  expect(figures.missed).toBe(0);
  // Bells that two appliances share out are counted at the devices of either.
  expect(figures.bells).toBe(12);
  expect(figures.takeovers).toBeGreaterThan(0);
  expect(figures.takeoverMaxMs).toBeLessThanOrEqual(5_000);
});
