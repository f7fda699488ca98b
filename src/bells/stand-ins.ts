import type { Clock, Timer } from "../base/clock.ts";
import { CallerError, ConflictError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { LATE_LIMIT_MS } from "./planner.ts";
import type { RingRow } from "./ring-book.ts";

/** What standing in for other appliances needs. */
export interface StandInNeeds {
  clock: Clock;
  log: Log;
  /** Ids of the groups whose devices were left to other appliances when the ring was shared out. */
  left(ring: RingRow): readonly string[];
  /** Whose turn the ring is at a group; `wait` may become either of the others. */
  turn(ring: RingRow, groupId: string): "go" | "wait" | "stand-down";
  /** Has it ring at the devices of these groups, at its moment or at once when that is over; answers the message's id. */
  send(ring: RingRow, groupIds: readonly string[]): Promise<string | null>;
  /** Ends a message that was sent so. */
  callOff(notificationId: string): Promise<void>;
}

/** Rings that others sound for some groups, watched until it is known that they do: who dies after they were shared out is stood in for. */
export interface StandIns {
  /** Watches a ring that is about to sound; may be called again. */
  watch(ring: RingRow): void;
  /** Watches a ring at some groups' devices as well. */
  add(ring: RingRow, groupIds: readonly string[]): void;
  /** Something was sounded, or is about to be, in the place of others for this ring. */
  hasStoodIn(ringId: string): boolean;
  /** The ring does not ring after all: what was sent for it is ended. */
  forget(ringId: string): Promise<void>;
  stop(): void;
}

interface Watched {
  ring: RingRow;
  /** Groups of which nobody is known to sound it. */
  open: Set<string>;
  sent: string[];
  hasStoodIn: boolean;
}

/** own choice: the ticker asks whose turn it is as often */
const LOOK_EVERY_MS = 50;
const TRY_AGAIN_MS = 1_000;

/** Makes it, watching nothing. */
export function createStandIns(needs: StandInNeeds): StandIns {
  const { clock, log } = needs;
  const watched = new Map<string, Watched>();
  let timer: Timer | null = null;

  const isOver = ({ ring }: Watched): boolean => clock.now() - ring.at > LATE_LIMIT_MS;

  const standIn = async (each: Watched, groupIds: readonly string[]): Promise<void> => {
    const { ring, open, sent } = each;
    each.hasStoodIn = true;
    for (const id of groupIds) open.delete(id);
    try {
      const id = await needs.send(ring, groupIds);
      if (id === null) return;
      sent.push(id);
      // It was taken away meanwhile.
      if (watched.get(ring.id) !== each && !isOver(each)) await needs.callOff(id);
    } catch (error) {
      log.error({ err: error, ringId: ring.id }, "a ring was not sounded in the place of another appliance");
      if (error instanceof CallerError || error instanceof ConflictError) return;
      // The same groups together: what was stored nevertheless is found again.
      clock.after(TRY_AGAIN_MS, () => {
        if (watched.get(ring.id) === each && !isOver(each)) void standIn(each, groupIds);
      });
    }
  };

  const look = (): void => {
    for (const [id, each] of watched) {
      if (isOver(each)) {
        watched.delete(id);
        continue;
      }
      const ours: string[] = [];
      for (const group of each.open) {
        const turn = needs.turn(each.ring, group);
        if (turn === "go") ours.push(group);
        else if (turn === "stand-down") each.open.delete(group);
      }
      if (ours.length > 0) void standIn(each, ours);
    }
    expect();
  };

  const expect = (): void => {
    timer?.cancel();
    timer = watched.size === 0 ? null : clock.after(LOOK_EVERY_MS, look);
  };

  const add = (ring: RingRow, groupIds: readonly string[]): void => {
    if (groupIds.length === 0) return;
    const each = watched.get(ring.id) ?? { ring, open: new Set(), sent: [], hasStoodIn: false };
    for (const id of groupIds) each.open.add(id);
    watched.set(ring.id, each);
    if (timer === null) expect();
  };

  return {
    watch(ring) {
      if (!watched.has(ring.id)) add(ring, needs.left(ring));
    },
    add,
    hasStoodIn: (ringId) => watched.get(ringId)?.hasStoodIn === true,
    async forget(ringId) {
      const each = watched.get(ringId);
      watched.delete(ringId);
      for (const id of each?.sent ?? []) await needs.callOff(id);
    },
    stop() {
      timer?.cancel();
      watched.clear();
    },
  };
}
