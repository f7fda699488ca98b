import { expect, it } from "vitest";
import { injectDiskFailures } from "../faults/disk-failures.ts";

it("loses nothing that was answered to a power cut, and makes a message's stages again that waited for no disk", {
  timeout: 240_000,
}, async () => {
  const run = await injectDiskFailures({ creates: 120, cuts: 150, starts: 2 }, 11, () => undefined);
  const { power, control, lost, unmade, takenAfterwards, starts } = run;
  expect({ power, lost, unmade, takenAfterwards, starts }).toEqual({
    power: { cuts: 150, losing: 0, corrupt: 0 },
    ...{ lost: 0, unmade: 0, takenAfterwards: 0, starts: 2 },
  });
  // That the cuts bite, and that there was something to lose.
  expect(control.losing).toBeGreaterThan(0);
  expect(run.unawaited).toBeGreaterThan(0);
  expect([run.answered, run.messages]).toEqual([125, 20]);
});
