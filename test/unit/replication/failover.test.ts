import { expect, it } from "vitest";
import { killAroundBells } from "../../faults/failover.ts";

it("rings every bell though the first appliance is killed around it, twice only for a reason", async () => {
  const { broken, ...figures } = await killAroundBells(Number(process.env.KILLS ?? 8), Number(process.env.SEED ?? 1));
  console.log(figures);
  expect(broken).toEqual([]);
  expect(figures.missed).toBe(0);
});
