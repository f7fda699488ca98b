import { describe, expect, it } from "vitest";
import { createDeviceClaims, type DeviceClaim } from "../../../src/devices/device-claims.ts";

const claim = (deliveryId: number, priority: number, more: Partial<DeviceClaim> = {}): DeviceClaim => ({
  ...{ deliveryId, device: 1, priority, canQueue: false, canPreempt: true },
  ...more,
});

describe("a device that two want", () => {
  it("goes to the smaller number; an equal or larger one waits if it may, else it is not served", () => {
    const busy = createDeviceClaims();
    expect(busy.claim(claim(1, 5))).toEqual({ kind: "free" });
    expect(busy.claim(claim(2, 5))).toEqual({ kind: "busy" });
    expect(busy.claim(claim(3, 5, { canQueue: true }))).toEqual({ kind: "waits" });
    expect(busy.claim(claim(4, 4))).toEqual({ kind: "preempts", deliveryId: 1 });
    expect(busy.release(1, 4)?.deliveryId).toBe(3);
  });

  it("is not taken by what may not preempt; what then asks again takes it, and does not wait any more", () => {
    const busy = createDeviceClaims();
    busy.claim(claim(1, 5));
    busy.claim(claim(2, 5, { canQueue: true }));
    expect(busy.claim(claim(3, 4, { canQueue: true, canPreempt: false }))).toEqual({ kind: "waits" });
    expect(busy.queued(1).map(({ deliveryId }) => deliveryId)).toEqual([3, 2]);
    expect(busy.claim(claim(3, 4))).toEqual({ kind: "preempts", deliveryId: 1 });
    expect(busy.release(1, 3)?.deliveryId).toBe(2);
  });

  it("goes to the more urgent of two bells, whichever came first; nothing else has a rank", () => {
    const busy = createDeviceClaims();
    busy.claim(claim(1, 4, { rank: 5 }));
    expect(busy.claim(claim(2, 4, { rank: 1 }))).toEqual({ kind: "preempts", deliveryId: 1 });
    expect(busy.claim(claim(3, 4, { rank: 3 }))).toEqual({ kind: "busy" });
    expect(busy.claim(claim(4, 4, { rank: null }))).toEqual({ kind: "busy" });
    expect(busy.claim(claim(5, 3))).toEqual({ kind: "preempts", deliveryId: 2 });
    expect(busy.claim(claim(6, 4, { rank: 1 }))).toEqual({ kind: "busy" });
  });
});
