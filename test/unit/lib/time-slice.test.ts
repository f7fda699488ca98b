import { describe, expect, it } from "vitest";
import { createTimeSlice } from "../../../src/lib/time-slice.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

describe("a time slice", () => {
  it("is over after 4 ms by default, and starts again after next", async () => {
    const clock = createFakeClock();
    const slice = createTimeSlice(clock);
    clock.advanceSync(3);
    expect(slice.isOver()).toBe(false);
    clock.advanceSync(1);
    expect(slice.isOver()).toBe(true);
    await slice.next();
    expect(slice.isOver()).toBe(false);
  });

  it("lets other work of the event loop run", async () => {
    const clock = createFakeClock();
    const order: string[] = [];
    clock.defer(() => order.push("other work"));
    await createTimeSlice(clock, { sliceMs: 1 }).next();
    expect([...order, "job"]).toEqual(["other work", "job"]);
  });

  it("pauses as the caller wants, without counting the pause", async () => {
    const clock = createFakeClock();
    const slice = createTimeSlice(clock, {
      sliceMs: 5,
      letOthersRun: async () => clock.advanceSync(20),
    });
    clock.advanceSync(5);
    await slice.next();
    expect([clock.monotonicMs(), slice.isOver()]).toEqual([25, false]);
  });
});
