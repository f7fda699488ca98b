import { expect, it } from "vitest";
import { killUnderLoad } from "../faults/kills.ts";

it("keeps every answered create when the daemon is killed under load", { timeout: 120_000 }, async () => {
  const { kills, answered, lost } = await killUnderLoad(5, 7, () => undefined);
  expect({ kills, lost }).toEqual({ kills: 5, lost: [] });
  // Each kill follows an answer; how many more there are depends on the machine.
  expect(answered).toBeGreaterThanOrEqual(kills);
});
