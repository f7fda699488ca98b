import { describe, expect, it } from "vitest";
import { type Claim, createBusyTable } from "../../../src/devices/busy.ts";

const claim = (deliveryId: number, priority: number, more: Partial<Claim> = {}): Claim => ({
  ...{ deliveryId, device: 1, priority, mayWait: false, mayPreempt: true },
  ...more,
});

describe("a device that two want", () => {
  it("goes to the smaller number; an equal or larger one waits if it may, else it is not served", () => {
    const busy = createBusyTable();
    expect(busy.claim(claim(1, 5))).toEqual({ kind: "free" });
    expect(busy.claim(claim(2, 5))).toEqual({ kind: "busy" });
    expect(busy.claim(claim(3, 5, { mayWait: true }))).toEqual({ kind: "waits" });
    expect(busy.claim(claim(4, 4))).toEqual({ kind: "preempts", deliveryId: 1 });
    expect(busy.release(1, 4)?.deliveryId).toBe(3);
  });

  it("is not taken by what may not preempt; what then asks again takes it, and does not wait any more", () => {
    const busy = createBusyTable();
    busy.claim(claim(1, 5));
    busy.claim(claim(2, 5, { mayWait: true }));
    expect(busy.claim(claim(3, 4, { mayWait: true, mayPreempt: false }))).toEqual({ kind: "waits" });
    expect(busy.waiting(1).map(({ deliveryId }) => deliveryId)).toEqual([3, 2]);
    expect(busy.claim(claim(3, 4))).toEqual({ kind: "preempts", deliveryId: 1 });
    expect(busy.release(1, 3)?.deliveryId).toBe(2);
  });

  it("goes to the more urgent of two bells, whichever came first; nothing else has a rank", () => {
    const busy = createBusyTable();
    busy.claim(claim(1, 4, { rank: 5 }));
    expect(busy.claim(claim(2, 4, { rank: 1 }))).toEqual({ kind: "preempts", deliveryId: 1 });
    expect(busy.claim(claim(3, 4, { rank: 3 }))).toEqual({ kind: "busy" });
    expect(busy.claim(claim(4, 4, { rank: null }))).toEqual({ kind: "busy" });
    expect(busy.claim(claim(5, 3))).toEqual({ kind: "preempts", deliveryId: 2 });
    expect(busy.claim(claim(6, 4, { rank: 1 }))).toEqual({ kind: "busy" });
  });
});
