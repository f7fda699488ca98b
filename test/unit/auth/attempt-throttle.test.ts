import { describe, expect, it } from "vitest";
import { createAttemptThrottle, type ThrottlePolicy } from "../../../src/auth/attempt-throttle.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const POLICY: ThrottlePolicy = { freeAttempts: 3, initialDelayMs: 1_500, maxDelayMs: 8_000 };

function throttleOf(policy: Partial<ThrottlePolicy> = {}) {
  const clock = createFakeClock();
  const throttle = createAttemptThrottle(clock, { ...POLICY, ...policy });
  const fail = (times: number, key = "ann"): number[] => Array.from({ length: times }, () => throttle.begin(key));
  return { clock, throttle, fail };
}

describe("the login throttle", () => {
  it("delays after the free attempts, twice as long each time up to the limit, in whole seconds", () => {
    const { clock, fail } = throttleOf();
    expect(fail(5)).toEqual([0, 0, 0, 0, 2]);
    const waits: number[] = [];
    for (const passedMs of [1_500, 3_000, 6_000, 8_000, 8_000]) {
      clock.advanceSync(passedMs - 1);
      waits.push(...fail(1));
      clock.advanceSync(1);
      waits.push(...fail(2));
    }
    expect(waits).toEqual([1, 0, 3, 1, 0, 6, 1, 0, 8, 1, 0, 8, 1, 0, 8]);
  });

  it("counts keys separately", () => {
    const { fail } = throttleOf();
    expect([fail(5).at(-1), fail(1, "ben")]).toEqual([2, [0]]);
  });

  it("forgets a key after its retention, and not before", () => {
    const { clock, fail } = throttleOf({ retentionMs: 60_000 });
    fail(3);
    clock.advanceSync(59_999);
    expect(fail(2)).toEqual([0, 2]);
    clock.advanceSync(60_000);
    expect(fail(5)).toEqual([0, 0, 0, 0, 2]);
  });

  it("forgets one failed attempt per interval", () => {
    const { clock, fail } = throttleOf({ decayIntervalMs: 10_000 });
    fail(3);
    clock.advanceSync(20_000);
    expect(fail(4)).toEqual([0, 0, 0, 2]);
    clock.advanceSync(9_999);
    expect(fail(2)).toEqual([0, 3]);
  });

  it("forgets no more attempts than there were, however long it is quiet", () => {
    const { clock, fail } = throttleOf({ decayIntervalMs: 10_000 });
    fail(1);
    clock.advanceSync(50_000);
    expect(fail(5)).toEqual([0, 0, 0, 0, 2]);
  });

  it("forgets a key after 15 minutes unless the policy says otherwise", () => {
    const { clock, fail } = throttleOf();
    fail(3);
    clock.advanceSync(899_999);
    expect(fail(2)).toEqual([0, 2]);
    clock.advanceSync(900_000);
    expect(fail(5)).toEqual([0, 0, 0, 0, 2]);
  });

  it("takes back one successful attempt and its delay", () => {
    const { throttle, fail } = throttleOf();
    fail(4);
    throttle.rollback("ann");
    expect(fail(2)).toEqual([0, 2]);
    throttle.rollback("ann");
    throttle.rollback("ann");
    expect(fail(3)).toEqual([0, 0, 2]);
    throttle.rollback("unknown");
  });

  it("keeps the other failed attempts when one is taken back", () => {
    const { throttle, fail } = throttleOf();
    fail(2);
    throttle.rollback("ann");
    expect(fail(4)).toEqual([0, 0, 0, 2]);
  });

  it("rounds the seconds to wait up", () => {
    const { fail } = throttleOf({ initialDelayMs: 2_001 });
    expect(fail(5).at(-1)).toBe(3);
  });

  it("deletes a key when all its attempts are taken back", () => {
    const { throttle, fail } = throttleOf();
    fail(1);
    throttle.rollback("ann");
    throttle.rollback("ann");
    expect(fail(5)).toEqual([0, 0, 0, 0, 2]);
  });

  it("clears all attempts on a reset", () => {
    const { throttle, fail } = throttleOf();
    fail(4);
    throttle.reset("ann");
    expect(fail(5)).toEqual([0, 0, 0, 0, 2]);
  });

  it("keeps 10,000 keys and evicts the one used longest ago", () => {
    const { throttle, fail } = throttleOf();
    fail(4, "first");
    fail(4, "second");
    for (let n = 0; n < 9_999; n++) throttle.begin(`other ${n}`);
    expect([fail(1, "second"), fail(1, "first")]).toEqual([[2], [0]]);
  });

  it("evicts no key for the sake of attempts that were taken back", () => {
    const { throttle, fail } = throttleOf();
    fail(4, "first");
    for (let n = 0; n < 10_000; n++) {
      throttle.begin(`other ${n}`);
      throttle.rollback(`other ${n}`);
    }
    expect(fail(1, "first")).toEqual([2]);
  });
});
