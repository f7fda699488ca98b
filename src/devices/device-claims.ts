/**
 * Priority and preemption: which of two messages holds a busy phone. A claim is granted, preempts a less urgent message,
 * waits or is refused; notifications/engine/dispatcher.ts applies it.
 */

export interface Urgency {
  /** 0 highest … 9 lowest. @source docs/decisions/0022-priorities.md */
  priority: number;
  /** Of bells, 1 highest: decides between two bells of equal priority. @source docs/decisions/0015-bell-engine.md, Running */
  rank?: number | null;
}

/** A delivery that needs exclusive use of a device. */
export interface DeviceClaim extends Urgency {
  deliveryId: number;
  /** Internal key of the device. */
  device: number;
  /** Waits if the device is busy; otherwise it is skipped. */
  canQueue: boolean;
  /** May preempt a less urgent delivery. */
  canPreempt: boolean;
}

/** Outcome of a claim: granted, granted by preemption, queued, or refused. */
export type ClaimResult =
  | { kind: "free" }
  | { kind: "preempts"; deliveryId: number }
  | { kind: "waits" }
  | { kind: "busy" };

/**
 * Exclusive use of devices: which of two messages wins a busy phone. In memory, rebuilt from the ledger at start.
 */
export interface DeviceClaims {
  /** Decides a claim: a smaller priority number preempts a larger one, regardless of the class. */
  claim(claim: DeviceClaim): ClaimResult;
  /** Releases a device or removes a queued claim; returns the new holder, null if the holder did not change. */
  release(device: number, deliveryId: number): DeviceClaim | null;
  holder(device: number): DeviceClaim | null;
  /** Queued claims of a device, most urgent first. */
  queued(device: number): readonly DeviceClaim[];
  /** Number of devices in use. */
  readonly size: number;
}

interface DeviceClaimEntry {
  holder: DeviceClaim;
  /** Most urgent first; equal ones in order of arrival. */
  queued: DeviceClaim[];
}

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

/** True if one preempts the other. */
export function isMoreUrgent(one: Urgency, other: Urgency): boolean {
  if (one.priority !== other.priority) return one.priority < other.priority;
  return typeof one.rank === "number" && typeof other.rank === "number" && one.rank < other.rank;
}
