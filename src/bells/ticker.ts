import type { Clock, Timer } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Transaction } from "../store/store.ts";
import { type ClockLook, createClockWatch } from "./clock-watch.ts";
import { type BellStore, LATE_LIMIT_MS, type Planner } from "./planner.ts";
import {
  advanceRings,
  dropRing,
  dueKeys,
  dueRings,
  endBegun,
  endSilent,
  type MissCause,
  nextRings,
  type OpenState,
  type RingRow,
  returnRing,
  reviveMissed,
  ringsByKey,
  startedRings,
  startRings,
  WITHDRAWN_AT,
} from "./ring-book.ts";

/** How rings are made to sound; every call may be repeated after a crash. */
export interface RingPort {
  /** Reads what is to be rung and stores its message, which waits. Answers null, or in words why there is nothing to ring. */
  prepare(ring: RingRow): Promise<string | null>;
  /**
   * Whether it is this appliance's turn to ring, asked before devices are asked and before it sounds: `wait` may become any of
   * the others, `anew` means that other devices fall to it than when it was made ready (said of rings alone for which no device
   * was asked), `stand-down` says in words who rings instead. Always this appliance's unless given.
   */
  turn?(ring: RingRow): "go" | "wait" | "anew" | { standDown: string };
  /** Devices are asked now. */
  arm(rings: readonly RingRow[]): void;
  /** The first packet leaves at the ring's instant, or at once when that is over. */
  begin(rings: readonly RingRow[]): void;
  /** It does not ring: what waits is taken away, devices that were asked are told so. */
  withdraw(ring: RingRow): Promise<void>;
  /** True when the ring, which an earlier run started, is known to have sounded. */
  hasBegun(ring: RingRow): boolean;
  /** Records rings that were missed, in the transaction that ends them. */
  recordMissed(tx: Transaction, rings: readonly RingRow[], cause: MissCause): void;
}

/** What the ticker needs. */
export interface TickerNeeds {
  store: BellStore;
  clock: Clock;
  log: Log;
  planner: Planner;
  port: RingPort;
}

/** Finds out what is due by the wall clock, woken by the one that is never set. */
export interface Ticker {
  start(): void;
  stop(): Promise<void>;
  /** One look, until nothing more is due now. */
  look(): Promise<void>;
  /** Plans ahead where it is time to. */
  plan(): Promise<void>;
  /** The wall time of the next look that can find something to do; null when nothing is planned. */
  nextLook(): number | null;
}

/** @source bells.md, Running */
const LOOK_EVERY_MS = 250;
const PREPARE_AHEAD_MS = 30_000;
const ARM_AHEAD_MS = 2_000;
const START_AHEAD_MS = 50;
/** A ring that begins later than this is written down as late. own choice: what people notice */
const LATE_MS = 1_000;
/** What waits for another appliance is looked at again so soon. */
const TURN_AGAIN_MS = 50;
/** How long after its start a ring is known to have sounded. */
const SOUNDS_AFTER_MS = 1_000;
const PLAN_EVERY_MS = 60_000;
/** Rings are prepared for so long between two looks at what is due. */
const PREPARE_FOR_MS = 20;
const MOST_AT_ONCE = 1_000;
const TRY_AGAIN_MS = 1_000;

/** Makes the ticker; nothing happens before `start`. */
export function createTicker(needs: TickerNeeds): Ticker {
  const { store, clock, log, planner, port } = needs;
  const ending = new AbortController();
  const watch = createClockWatch(clock);
  let timer: Timer | null = null;
  let looking: Promise<void> | null = null;
  let planning: Promise<void> | null = null;
  let plannedAt = Number.NEGATIVE_INFINITY;
  let first = true;
  let hasFailed = false;
  /** Rings that are on their way, by key. */
  const known = new Map<number, RingRow>();
  /** Rings that could not be made ready, by key, and when that is tried again. */
  const resting = new Map<number, number>();

  const isTooLate = ({ at }: RingRow, now: number): boolean => now - at > LATE_LIMIT_MS;

  /** What an ended run and the clock left behind. */
  const settleClock = async ({ stepMs }: ClockLook): Promise<void> => {
    if (stepMs !== 0) log.warn({ stepMs }, "the clock was set");
    if (!first && stepMs >= 0) return;
    const wasFirst = first;
    await store.write((tx) => {
      planner.review(tx);
      const revived = reviveMissed(tx, clock.now());
      if (revived > 0) log.info({ revived }, "rings are due again: the clock was set back");
    });
    if (wasFirst) await settleStarted();
    first = false;
  };

  /** What an ended run had started: it sounded, or the end came first. */
  const settleStarted = async (): Promise<void> => {
    const cut = startedRings(store).filter((ring) => !port.hasBegun(ring));
    for (const ring of cut) await takeBack(ring);
    if (cut.length > 0) await store.write((tx) => miss(tx, cut, "cut-off"));
  };

  /** What can't be taken away must not keep others from ringing: nobody lets it sound. */
  const takeBack = (ring: RingRow): Promise<void> =>
    port
      .withdraw(ring)
      .catch((error: unknown) => log.error({ err: error, ringId: ring.id }, "a ring was not taken back"));

  /** As `port.prepare`; undefined when it failed and is to be tried again. */
  const tryToPrepare = async (ring: RingRow): Promise<string | null | undefined> => {
    try {
      const note = await port.prepare(ring);
      resting.delete(ring.pk);
      return note;
    } catch (error) {
      log.error({ err: error, ringId: ring.id }, "a ring could not be made ready");
      resting.set(ring.pk, clock.monotonicMs() + TRY_AGAIN_MS);
      return undefined;
    }
  };

  const miss = (tx: Transaction, rings: readonly RingRow[], cause: MissCause): void => {
    if (rings.length === 0) return;
    endSilent(
      tx,
      rings.map(({ pk }) => pk),
      "missed",
      { cause },
    );
    port.recordMissed(tx, rings, cause);
  };

  /** Rings that were read before are only moved on: nothing else of them changes. */
  const readRings = (keys: readonly number[], state: OpenState): RingRow[] => {
    const unknown = keys.filter((pk) => !known.has(pk));
    for (const ring of ringsByKey(store, unknown)) known.set(ring.pk, ring);
    return keys.flatMap((pk) => {
      const ring = known.get(pk);
      return ring ? { ...ring, state, asked: Number(state === "armed") } : [];
    });
  };

  const forget = (rings: readonly RingRow[]): void => {
    for (const { pk } of rings) {
      known.delete(pk);
      resting.delete(pk);
    }
  };

  /** Rings of a state whose time has come, and how many were ended because they are too late. */
  const due = async (state: OpenState, cause: MissCause): Promise<{ rings: RingRow[]; missed: number }> => {
    const now = clock.now();
    const rings = readRings(dueKeys(store, state, now + AHEAD_MS[state], MOST_AT_ONCE), state);
    const late = rings.filter((ring) => isTooLate(ring, now));
    if (late.length === 0) return { rings: rested(rings), missed: 0 };
    if (state !== "planned") for (const ring of late) await takeBack(ring);
    await store.write((tx) => miss(tx, late, cause));
    forget(late);
    log.error({ rings: late.length, cause }, "rings were missed");
    return { rings: rested(rings.filter((ring) => !late.includes(ring))), missed: late.length };
  };

  const rested = (rings: RingRow[]): RingRow[] =>
    resting.size === 0 ? rings : rings.filter(({ pk }) => (resting.get(pk) ?? 0) <= clock.monotonicMs());

  const start = async (due: readonly RingRow[]): Promise<void> => {
    const rings = await onTurn(due);
    if (rings.length === 0) return;
    const now = clock.now();
    port.begin(await store.write((tx) => startRings(tx, rings, now), "emergency"));
    forget(rings);
  };

  const arm = async (due: readonly RingRow[]): Promise<void> => {
    const rings = await onTurn(due);
    if (rings.length > 0) port.arm(await store.write((tx) => advanceRings(tx, rings, "armed")));
  };

  /** Those that are to ring here now; what another appliance rings is ended. */
  const onTurn = async (rings: readonly RingRow[]): Promise<readonly RingRow[]> => {
    if (!port.turn) return rings;
    const ready: RingRow[] = [];
    for (const ring of rings) {
      const turn = port.turn(ring);
      if (turn === "go") ready.push(ring);
      else if (turn === "wait") resting.set(ring.pk, clock.monotonicMs() + TURN_AGAIN_MS);
      else if (turn === "anew") await makeAnew(ring);
      else {
        await takeBack(ring);
        await store.write((tx) => endSilent(tx, [ring.pk], "skipped", { note: turn.standDown }));
        forget([ring]);
      }
    }
    return ready;
  };

  /** What an end in between leaves is found as it was made ready before. */
  const makeAnew = async (ring: RingRow): Promise<void> => {
    await store.write((tx) => returnRing(tx, ring.pk));
    await takeBack(ring);
    forget([ring]);
  };

  const prepare = async (found: readonly RingRow[]): Promise<void> => {
    const isFresh = !planner.hasStale();
    if (!isFresh) await store.write((tx) => planner.freshen(tx, found));
    const now = clock.now();
    const rings = isFresh ? found : rested(dueRings(store, "planned", now + PREPARE_AHEAD_MS, MOST_AT_ONCE));
    const began = clock.monotonicMs();
    const ready: RingRow[] = [];
    let looked = 0;
    const silent: { ring: RingRow; note: string }[] = [];
    for (const ring of rings) {
      looked++;
      const note = await tryToPrepare(ring);
      if (note === null) ready.push(ring);
      else if (note !== undefined) silent.push({ ring, note });
      // Others are due meanwhile.
      if (clock.monotonicMs() - began > PREPARE_FOR_MS) break;
    }
    const prepared = await store.write((tx) => {
      for (const { ring, note } of silent) endSilent(tx, [ring.pk], "skipped", { note });
      forget(silent.map(({ ring }) => ring));
      return advanceRings(tx, ready, "prepared");
    });
    // Those that wait can still be taken away, and their keys given to others.
    forget(rings.slice(looked));
    // Somebody wrote the schedule meanwhile.
    const gone = prepared.length === ready.length ? [] : ready.filter((ring) => !prepared.includes(ring));
    forget(gone);
    for (const ring of gone) await takeBack({ ...ring, state: "prepared" });
  };

  const withdraw = async (rings: readonly RingRow[]): Promise<void> => {
    for (const ring of rings) await takeBack(ring);
    forget(rings);
    await store.write((tx) => {
      for (const { pk } of rings) dropRing(tx, pk);
      planner.markStale(
        tx,
        rings.map(({ owner }) => owner),
      );
    });
  };

  const end = (): Promise<void> => store.write((tx) => endBegun(tx, clock.now() - SOUNDS_AFTER_MS, LATE_MS));

  /** The most urgent thing that is due; false when nothing is, or nothing that can be done now. */
  const step = async (cause: MissCause): Promise<boolean> => {
    const now = clock.now();
    const near = nextRings(store, now + PREPARE_AHEAD_MS);
    const isDue = (state: OpenState): boolean =>
      near.some((ring) => ring.state === state && ring.at <= now + AHEAD_MS[state]);
    // What waits for its turn keeps nothing else from being done.
    if (isDue("armed") && (await withRings(start, "armed", cause))) return true;
    if (isDue("prepared") && (await withRings(arm, "prepared", cause))) return true;
    if (isDue("withdrawn")) await withdraw(dueRings(store, "withdrawn", WITHDRAWN_AT, MOST_AT_ONCE));
    else if (isDue("planned") && (await withRings(prepare, "planned", cause))) return true;
    else if (isDue("started")) await end();
    else return false;
    return true;
  };

  const withRings = async (
    act: (rings: RingRow[]) => Promise<void>,
    state: OpenState,
    cause: MissCause,
  ): Promise<boolean> => {
    const { rings, missed } = await due(state, cause);
    if (rings.length > 0) await act(rings);
    return rings.length + missed > 0;
  };

  const look = async (): Promise<void> => {
    let cause: MissCause = "overload";
    for (let more = true; more && !ending.signal.aborted; ) {
      const seen = watch();
      if (seen.cause !== "overload") cause = seen.cause;
      await settleClock(seen);
      more = await step(cause);
    }
  };

  const plan = async (): Promise<void> => {
    if (clock.monotonicMs() - plannedAt < PLAN_EVERY_MS && !planner.hasStale()) return;
    plannedAt = clock.monotonicMs();
    await planner.extend(ending.signal);
  };

  const nextLook = (): number | null => {
    const rings = nextRings(store, clock.now() + PREPARE_AHEAD_MS);
    const moments = rings.map(({ state, at }) => at - AHEAD_MS[state ?? "planned"]);
    return moments.length > 0 ? Math.min(...moments) : null;
  };

  const failed = (error: unknown): void => log.error({ err: error }, "bells: a look failed");

  /** Until the next look; what failed is tried again soon, not at once. */
  const restMs = (): number => {
    const next = nextLook();
    if (next === null) return LOOK_EVERY_MS;
    const least = resting.size > 0 || hasFailed ? START_AHEAD_MS : 1;
    return Math.min(LOOK_EVERY_MS, Math.max(least, next - clock.now()));
  };

  const wake = (): void => {
    timer?.cancel();
    // What is due does not wait for it.
    planning ??= plan()
      .catch(failed)
      .finally(() => {
        planning = null;
      });
    hasFailed = false;
    looking ??= look()
      .catch((error: unknown) => {
        hasFailed = true;
        failed(error);
      })
      .finally(() => {
        looking = null;
        if (ending.signal.aborted) return;
        timer = clock.after(restMs(), wake, { background: true });
      });
  };

  return {
    start: wake,
    async stop() {
      ending.abort();
      timer?.cancel();
      await Promise.all([looking, planning]);
    },
    look,
    plan,
    nextLook,
  };
}

const AHEAD_MS: Readonly<Record<OpenState, number>> = {
  armed: START_AHEAD_MS,
  prepared: ARM_AHEAD_MS,
  planned: PREPARE_AHEAD_MS,
  started: -SOUNDS_AFTER_MS,
  withdrawn: 0,
};
