import { expect } from "vitest";
import { libfaketime, playClockStories } from "../faults/clock.ts";
import { externalProgram } from "../support/external-programs.ts";

externalProgram("faketime").it(
  "rings at its moment after the clock was set an hour forward, and writes down what that leapt over",
  async () => {
    const [story] = await playClockStories(["one hour forward"], libfaketime() ?? "", () => undefined);
    expect(story?.broken).toEqual([]);
    expect(story?.rings).toHaveLength(2);
  },
  180_000,
);
