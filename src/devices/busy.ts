/** How urgent something is. */
export interface Urgency {
  /** 0 highest … 9 lowest. @source interfaces.md, Priorities */
  priority: number;
  /** Of bells, 1 highest: among equal priorities, the more urgent one of two bells comes first. @source bells.md, Running */
  rank?: number | null;
}

/** A delivery that wants a device for itself. */
export interface Claim extends Urgency {
  deliveryId: number;
  /** Internal key of the device. */
  device: number;
  /** Waits when the device is busy, instead of being skipped. */
  mayWait: boolean;
  /** Takes the device from something less urgent. */
  mayPreempt: boolean;
}

/** What became of a claim: the device is its own now, at once or after taking it from another; or it waits; or not. */
export type Verdict =
  | { kind: "free" }
  | { kind: "preempts"; deliveryId: number }
  | { kind: "waits" }
  | { kind: "busy" };

/** Who is busy with what; in memory, rebuilt from the ledger at start. */
export interface BusyTable {
  /** Decides about a claim: a smaller number takes the device from a larger one, whatever the class. */
  claim(claim: Claim): Verdict;
  /** Gives a device back, or takes a waiting claim out; answers whose it is now, null when nobody's changed. */
  release(device: number, deliveryId: number): Claim | null;
  /** The delivery that holds a device. */
  holder(device: number): Claim | null;
  /** Those that wait for a device, the most urgent first. */
  waiting(device: number): readonly Claim[];
  /** Devices held by somebody. */
  readonly size: number;
}

interface Entry {
  holder: Claim;
  /** The most urgent first; equal ones in order of arrival. */
  waiting: Claim[];
}

/** Makes an empty table. */
export function createBusyTable(): BusyTable {
  const entries = new Map<number, Entry>();

  const next = (device: number, entry: Entry): Claim | null => {
    const claim = entry.waiting.shift();
    if (claim) entry.holder = claim;
    else entries.delete(device);
    return claim ?? null;
  };

  return {
    claim(claim) {
      const entry = entries.get(claim.device);
      if (!entry) {
        entries.set(claim.device, { holder: claim, waiting: [] });
        return { kind: "free" };
      }
      const { holder } = entry;
      if (holder.deliveryId === claim.deliveryId) return { kind: "free" };
      if (claim.mayPreempt && isMoreUrgent(claim, holder)) {
        entry.holder = claim;
        leave(entry, claim.deliveryId);
        return { kind: "preempts", deliveryId: holder.deliveryId };
      }
      if (!claim.mayWait) return { kind: "busy" };
      if (entry.waiting.every((other) => other.deliveryId !== claim.deliveryId)) {
        entry.waiting.push(claim);
        entry.waiting.sort((a, b) => Number(isMoreUrgent(b, a)) - Number(isMoreUrgent(a, b)));
      }
      return { kind: "waits" };
    },
    release(device, deliveryId) {
      const entry = entries.get(device);
      if (!entry) return null;
      if (entry.holder.deliveryId === deliveryId) return next(device, entry);
      leave(entry, deliveryId);
      return null;
    },
    holder: (device) => entries.get(device)?.holder ?? null,
    waiting: (device) => entries.get(device)?.waiting ?? [],
    get size() {
      return entries.size;
    },
  };
}

function leave(entry: Entry, deliveryId: number): void {
  entry.waiting = entry.waiting.filter((claim) => claim.deliveryId !== deliveryId);
}

/** True when one takes from the other what both want. */
export function isMoreUrgent(one: Urgency, other: Urgency): boolean {
  if (one.priority !== other.priority) return one.priority < other.priority;
  return typeof one.rank === "number" && typeof other.rank === "number" && one.rank < other.rank;
}
