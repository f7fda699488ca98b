import type { Clock, Timer } from "../lib/clock.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { LATE_LIMIT_MS } from "./planner.ts";
import type { RingRow } from "./ring-repository.ts";

/** What standing in for other appliances needs. */
export interface FailoverRingDeps {
  clock: Clock;
  log: Log;
  /** Ids of the groups whose devices were left to other appliances when the ring was shared out. */
  delegatedGroups(ring: RingRow): readonly string[];
  /** Whose turn the ring is at a group; `wait` may become either of the others. */
  duty(ring: RingRow, groupId: string): "go" | "wait" | "yield";
  /** Has it ring at the devices of these groups, at its moment or at once when that is over; answers the message's id. */
  send(ring: RingRow, groupIds: readonly string[]): Promise<string | null>;
  /** Ends a message that was sent so. */
  abort(notificationId: string): Promise<void>;
}

/** Rings that others sound for some groups, watched until it is known that they do: who dies after they were shared out is stood in for. */
export interface FailoverRings {
  /** Watches a ring that is about to sound; may be called again. */
  watch(ring: RingRow): void;
  /** Watches a ring at some groups' devices as well. */
  add(ring: RingRow, groupIds: readonly string[]): void;
  /** Something was sounded, or is about to be, in the place of others for this ring. */
  hasTakenOver(ringId: string): boolean;
  /** The ring does not ring after all: what was sent for it is ended. */
  cancel(ringId: string): Promise<void>;
  stop(): void;
}

interface WatchedRing {
  ring: RingRow;
  /** Groups of which nobody is known to sound it. */
  openGroups: Set<string>;
  sentNotifications: string[];
  hasTakenOver: boolean;
}

/** own choice: the ticker asks whose turn it is as often */
const POLL_INTERVAL_MS = 50;
const RETRY_DELAY_MS = 1_000;

/** Makes it, watching nothing. */
export function createFailoverRings(needs: FailoverRingDeps): FailoverRings {
  const { clock, log } = needs;
  const watched = new Map<string, WatchedRing>();
  let timer: Timer | null = null;

  const isExpired = ({ ring }: WatchedRing): boolean => clock.now() - ring.at > LATE_LIMIT_MS;

  const takeOver = async (each: WatchedRing, groupIds: readonly string[]): Promise<void> => {
    const { ring, openGroups, sentNotifications } = each;
    each.hasTakenOver = true;
    for (const id of groupIds) openGroups.delete(id);
    try {
      const id = await needs.send(ring, groupIds);
      if (id === null) return;
      sentNotifications.push(id);
      // It was taken away meanwhile.
      if (watched.get(ring.id) !== each && !isExpired(each)) await needs.abort(id);
    } catch (error) {
      log.error({ err: error, ringId: ring.id }, "a ring was not sounded in the place of another appliance");
      if (error instanceof CallerError || error instanceof ConflictError) return;
      // The same groups together: what was stored nevertheless is found again.
      clock.after(RETRY_DELAY_MS, () => {
        if (watched.get(ring.id) === each && !isExpired(each)) void takeOver(each, groupIds);
      });
    }
  };

  const poll = (): void => {
    for (const [id, each] of watched) {
      if (isExpired(each)) {
        watched.delete(id);
        continue;
      }
      const ours: string[] = [];
      for (const group of each.openGroups) {
        const turn = needs.duty(each.ring, group);
        if (turn === "go") ours.push(group);
        else if (turn === "yield") each.openGroups.delete(group);
      }
      if (ours.length > 0) void takeOver(each, ours);
    }
    schedulePoll();
  };

  const schedulePoll = (): void => {
    timer?.cancel();
    timer = watched.size === 0 ? null : clock.after(POLL_INTERVAL_MS, poll);
  };

  const add = (ring: RingRow, groupIds: readonly string[]): void => {
    if (groupIds.length === 0) return;
    const each = watched.get(ring.id) ?? { ring, openGroups: new Set(), sentNotifications: [], hasTakenOver: false };
    for (const id of groupIds) each.openGroups.add(id);
    watched.set(ring.id, each);
    if (timer === null) schedulePoll();
  };

  return {
    watch(ring) {
      if (!watched.has(ring.id)) add(ring, needs.delegatedGroups(ring));
    },
    add,
    hasTakenOver: (ringId) => watched.get(ringId)?.hasTakenOver === true,
    async cancel(ringId) {
      const each = watched.get(ringId);
      watched.delete(ringId);
      for (const id of each?.sentNotifications ?? []) await needs.abort(id);
    },
    stop() {
      timer?.cancel();
      watched.clear();
    },
  };
}
