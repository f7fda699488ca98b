import type { Clock, Timer } from "../lib/clock.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { LATE_LIMIT_MS } from "./planner.ts";
import type { RingRow } from "./ring-repository.ts";

export interface FailoverRingDeps {
  clock: Clock;
  log: Log;
  /** Ids of the groups whose devices were assigned to other nodes when the ring was prepared. */
  delegatedGroups(ring: RingRow): readonly string[];
  /** Which node is on duty for a group; `wait` may still become either of the others. */
  duty(ring: RingRow, groupId: string): "go" | "wait" | "yield";
  /** Rings the devices of these groups, at the ring's instant or immediately if that has passed; returns the notification id. */
  send(ring: RingRow, groupIds: readonly string[]): Promise<string | null>;
  /** Aborts a notification that `send` started. */
  abort(notificationId: string): Promise<void>;
}

/** Watches rings that other nodes play for some groups until they confirm; takes a group over if its node fails. */
export interface FailoverRings {
  /** Watches a ring that is about to start; idempotent. */
  watch(ring: RingRow): void;
  /** Watches additional groups of a ring. */
  add(ring: RingRow, groupIds: readonly string[]): void;
  /** True if this node took over at least one group of the ring. */
  hasTakenOver(ringId: string): boolean;
  /** Stops watching a cancelled ring and aborts what was sent for it. */
  cancel(ringId: string): Promise<void>;
  stop(): void;
}

interface WatchedRing {
  ring: RingRow;
  /** Groups that no node has confirmed. */
  openGroups: Set<string>;
  sentNotifications: string[];
  hasTakenOver: boolean;
}

/** As often as the ticker polls its own duty. */
const POLL_INTERVAL_MS = 50;
const RETRY_DELAY_MS = 1_000;

export function createFailoverRings(deps: FailoverRingDeps): FailoverRings {
  const { clock, log } = deps;
  const watched = new Map<string, WatchedRing>();
  let timer: Timer | null = null;

  const isExpired = ({ ring }: WatchedRing): boolean => clock.now() - ring.at > LATE_LIMIT_MS;

  const takeOver = async (each: WatchedRing, groupIds: readonly string[]): Promise<void> => {
    const { ring, openGroups, sentNotifications } = each;
    each.hasTakenOver = true;
    for (const id of groupIds) openGroups.delete(id);
    try {
      const id = await deps.send(ring, groupIds);
      if (id === null) return;
      sentNotifications.push(id);
      // The ring was cancelled while it was being sent.
      if (watched.get(ring.id) !== each && !isExpired(each)) await deps.abort(id);
    } catch (error) {
      log.error({ event: "bell.failover_ring_failed", err: error, ringId: ring.id }, "failover ring failed, retrying");
      if (error instanceof CallerError || error instanceof ConflictError) return;
      // The retry uses the same set of groups, so that a notification that was stored despite the error is found by its id.
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
        const turn = deps.duty(each.ring, group);
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
      if (!watched.has(ring.id)) add(ring, deps.delegatedGroups(ring));
    },
    add,
    hasTakenOver: (ringId) => watched.get(ringId)?.hasTakenOver === true,
    async cancel(ringId) {
      const each = watched.get(ringId);
      watched.delete(ringId);
      for (const id of each?.sentNotifications ?? []) await deps.abort(id);
    },
    stop() {
      timer?.cancel();
      watched.clear();
    },
  };
}
