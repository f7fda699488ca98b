import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createHangDetector, parseThreadStat } from "../../../src/ops/hang-detector.ts";

/** Looks once a second at a loop that no longer advances; gives the second in which it is found to hang, null for never. */
function secondsUntilHang(thread: (second: number) => ReturnType<typeof parseThreadStat>, seconds = 90): number | null {
  let now = 0;
  const detector = createHangDetector({ monotonicMs: () => now });
  expect(detector.look(1, thread(0))).toBeNull();
  for (let second = 1; second <= seconds; second++) {
    now = second * 1_000;
    if (detector.look(1, thread(second))) return second;
  }
  return null;
}

describe("the hang detector", () => {
  it("finds a loop that is busy without an end after four seconds", () => {
    expect(secondsUntilHang((second) => ({ state: "R", cpuMs: second * 1_000 }))).toBe(5);
  });

  it("finds a loop that waits for something that does not come", () => {
    expect(secondsUntilHang(() => ({ state: "S", cpuMs: 700 }))).toBe(5);
  });

  it("gives a disk fifteen seconds", () => {
    expect(secondsUntilHang(() => ({ state: "D", cpuMs: 700 }))).toBe(16);
  });

  it("waits a minute for a loop that gets no processor time", () => {
    expect(secondsUntilHang((second) => ({ state: "R", cpuMs: second * 20 }))).toBe(61);
  });

  it("goes by time alone where the state of threads is unknown", () => {
    expect(secondsUntilHang(() => null)).toBe(5);
  });

  it("leaves a slow loop alone", () => {
    let now = 0;
    const detector = createHangDetector({ monotonicMs: () => now });
    for (let beat = 0; beat < 50; beat++) {
      for (let look = 0; look < 3; look++) {
        now += 1_000;
        expect(detector.look(beat, { state: "R", cpuMs: now })).toBeNull();
      }
    }
  });

  it("gives the loop its time again after the whole process was paused", () => {
    let now = 0;
    const detector = createHangDetector({ monotonicMs: () => now });
    detector.look(7, { state: "S", cpuMs: 0 });
    now = 3_600_000;
    expect(detector.look(7, { state: "S", cpuMs: 0 })).toBeNull();
    for (let look = 0; look < 4; look++) {
      now += 1_000;
      expect(detector.look(7, { state: "S", cpuMs: 0 })).toBeNull();
    }
    now += 1_000;
    expect(detector.look(7, { state: "S", cpuMs: 0 })).toMatchObject({ ms: 5_000 });
  });
});

describe("parseThreadStat", () => {
  it("reads state and processor time behind any name", () => {
    const rest = "1 2 3 4 5 6 7 8 9 10 250 50 0 0";
    expect(parseThreadStat(`42 (node) R ${rest}`)).toEqual({ state: "R", cpuMs: 3_000 });
    expect(parseThreadStat(`42 (a) b) (c) D ${rest}`)).toEqual({ state: "D", cpuMs: 3_000 });
    for (const text of ["", "42", "42 (node) R 1 2 3"]) expect(parseThreadStat(text)).toBeNull();
  });

  it("reads this thread", () => {
    expect(parseThreadStat(readFileSync("/proc/thread-self/stat", "utf8"))?.cpuMs).toBeGreaterThan(0);
  });
});
