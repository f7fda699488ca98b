import { describe, expect, it } from "vitest";
import {
  type AlarmCondition,
  clearCondition,
  evaluateCondition,
  isConditionActive,
} from "../../../src/alarms/hold-off.ts";

const HOLD = { raiseMs: 10, clearMs: 60 };
const A = { code: "a", reason: "A" };
const B = { code: "b", reason: "B" };

/** Statuses entered, by time, when looked at every ms; `seen` says what is wrong then. */
function follow(until: number, seen: (at: number) => readonly (typeof A)[]): string[] {
  let condition: AlarmCondition = new Map();
  const entered: string[] = [];
  for (let at = 0; at <= until; at++) {
    const step = evaluateCondition(condition, seen(at), at, HOLD);
    condition = step.condition;
    if (step.newStatus) entered.push(`${at} ${step.newStatus}`);
  }
  return entered;
}

describe("a fault", () => {
  it("counts after it lasted, and is over after it was gone", () => {
    expect(follow(200, (at) => (at < 100 ? [A] : []))).toEqual(["10 ACTIVE", "159 OK"]);
  });

  it("that is short does not count", () => {
    expect(follow(200, (at) => (at < 9 ? [A] : []))).toEqual([]);
  });

  it("that flaps counts once, however fast", () => {
    for (const period of [2, 5, 20, 50]) {
      const entered = follow(1_000, (at) => (at < 500 && Math.floor(at / period) % 2 === 0 ? [A] : []));
      expect(entered.map((line) => line.split(" ")[1])).toEqual(["ACTIVE", "OK"]);
    }
  });

  it("is active as long as one reason counts", () => {
    expect(follow(300, (at) => (at < 50 ? [A] : at < 150 ? [B] : []))).toEqual(["10 ACTIVE", "209 OK"]);
  });

  it("says which reasons began and which are over, with their newest words", () => {
    const first = evaluateCondition(new Map(), [{ ...A, certain: true }], 0, HOLD);
    expect(first).toMatchObject({ newStatus: "ACTIVE", raised: [{ code: "a" }], cleared: [] });
    const worse = { code: "a", reason: "A, and worse" };
    const second = evaluateCondition(first.condition, [worse, { ...B, certain: true }], 1, HOLD);
    expect(second).toMatchObject({ newStatus: null, raised: [{ code: "b" }] });
    expect(evaluateCondition(second.condition, [], 100, HOLD)).toMatchObject({
      newStatus: "OK",
      cleared: [{ reason: "A, and worse" }, { reason: "B" }],
    });
  });

  it("can be ended by hand", () => {
    const { condition } = evaluateCondition(new Map(), [{ ...A, certain: true }, B], 0, HOLD);
    const over = clearCondition(condition);
    expect(over).toMatchObject({ newStatus: "OK", cleared: [{ code: "a" }] });
    expect(isConditionActive(over.condition)).toBe(false);
    expect(clearCondition(new Map()).newStatus).toBeNull();
  });
});
