/** How urgent something is. */
export interface Urgency {
  /** 0 highest … 9 lowest. @source interfaces.md, Priorities */
  priority: number;
  /** Of bells, 1 highest: among equal priorities, the more urgent one of two bells comes first. @source bells.md, Running */
  rank?: number | null;
}

/** A delivery that wants a device for itself. */
export interface DeviceClaim extends Urgency {
  deliveryId: number;
  /** Internal key of the device. */
  device: number;
  /** Waits when the device is busy, instead of being skipped. */
  canQueue: boolean;
  /** Takes the device from something less urgent. */
  canPreempt: boolean;
}

/** What became of a claim: the device is its own now, at once or after taking it from another; or it waits; or not. */
export type ClaimResult =
  | { kind: "free" }
  | { kind: "preempts"; deliveryId: number }
  | { kind: "waits" }
  | { kind: "busy" };

/** Who is busy with what; in memory, rebuilt from the ledger at start. */
export interface DeviceClaims {
  /** Decides about a claim: a smaller number takes the device from a larger one, whatever the class. */
  claim(claim: DeviceClaim): ClaimResult;
  /** Gives a device back, or takes a waiting claim out; answers whose it is now, null when nobody's changed. */
  release(device: number, deliveryId: number): DeviceClaim | null;
  /** The delivery that holds a device. */
  holder(device: number): DeviceClaim | null;
  /** Those that wait for a device, the most urgent first. */
  queued(device: number): readonly DeviceClaim[];
  /** Devices held by somebody. */
  readonly size: number;
}

interface DeviceClaimEntry {
  holder: DeviceClaim;
  /** The most urgent first; equal ones in order of arrival. */
  queued: DeviceClaim[];
}

/** Makes an empty table. */
export function createDeviceClaims(): DeviceClaims {
  const entries = new Map<number, DeviceClaimEntry>();

  const promoteNext = (device: number, entry: DeviceClaimEntry): DeviceClaim | null => {
    const claim = entry.queued.shift();
    if (claim) entry.holder = claim;
    else entries.delete(device);
    return claim ?? null;
  };

  return {
    claim(claim) {
      const entry = entries.get(claim.device);
      if (!entry) {
        entries.set(claim.device, { holder: claim, queued: [] });
        return { kind: "free" };
      }
      const { holder } = entry;
      if (holder.deliveryId === claim.deliveryId) return { kind: "free" };
      if (claim.canPreempt && isMoreUrgent(claim, holder)) {
        entry.holder = claim;
        removeQueued(entry, claim.deliveryId);
        return { kind: "preempts", deliveryId: holder.deliveryId };
      }
      if (!claim.canQueue) return { kind: "busy" };
      if (entry.queued.every((other) => other.deliveryId !== claim.deliveryId)) {
        entry.queued.push(claim);
        entry.queued.sort((a, b) => Number(isMoreUrgent(b, a)) - Number(isMoreUrgent(a, b)));
      }
      return { kind: "waits" };
    },
    release(device, deliveryId) {
      const entry = entries.get(device);
      if (!entry) return null;
      if (entry.holder.deliveryId === deliveryId) return promoteNext(device, entry);
      removeQueued(entry, deliveryId);
      return null;
    },
    holder: (device) => entries.get(device)?.holder ?? null,
    queued: (device) => entries.get(device)?.queued ?? [],
    get size() {
      return entries.size;
    },
  };
}

function removeQueued(entry: DeviceClaimEntry, deliveryId: number): void {
  entry.queued = entry.queued.filter((claim) => claim.deliveryId !== deliveryId);
}

/** True when one takes from the other what both want. */
export function isMoreUrgent(one: Urgency, other: Urgency): boolean {
  if (one.priority !== other.priority) return one.priority < other.priority;
  return typeof one.rank === "number" && typeof other.rank === "number" && one.rank < other.rank;
}
