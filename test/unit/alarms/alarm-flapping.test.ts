import { expect, it } from "vitest";
import { flapAlarms } from "../../faults/alarm-flaps.ts";

it("alternates and tells each change once, whatever flaps and whenever it crashes", { timeout: 60_000 }, async () => {
  const run = await flapAlarms({ flaps: 300, crashes: 12, seed: 7 });
  expect(run.broken).toEqual([]);
  expect(run.crashes).toBeGreaterThan(5);
  expect(run.muted).toBeGreaterThan(0);
  expect(run.messages).toBeGreaterThan(40);
});
