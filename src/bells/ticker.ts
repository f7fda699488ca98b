import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Transaction } from "../store/store.ts";
import { type ClockCheck, createClockMonitor } from "./clock-monitor.ts";
import { type BellStore, LATE_LIMIT_MS, type Planner } from "./planner.ts";
import {
  advanceRings,
  CANCELLED_RING_AT,
  deleteRing,
  dueRingKeys,
  dueRings,
  finishStartedRings,
  finishUnrungRings,
  type MissCause,
  nextRingInstants,
  type OpenState,
  type RingRow,
  reopenMissedRings,
  resetRingToPlanned,
  ringsByKey,
  startedRings,
  startRings,
} from "./ring-repository.ts";

/** How rings are made to sound; every call may be repeated after a crash. */
export interface RingExecutor {
  /** Reads what is to be rung and stores its message, which waits. Answers null, or in words why there is nothing to ring. */
  prepare(ring: RingRow): Promise<string | null>;
  /**
   * Whether it is this appliance's turn to ring, asked before devices are asked and before it sounds: `wait` may become any of
   * the others, `replan` means that other devices fall to it than when it was made ready (said of rings alone for which no device
   * was asked), `stand-down` says in words who rings instead. Always this appliance's unless given.
   */
  duty?(ring: RingRow): "go" | "wait" | "replan" | { standDown: string };
  /** Devices are asked now. */
  arm(rings: readonly RingRow[]): void;
  /** The first packet leaves at the ring's instant, or at once when that is over. */
  start(rings: readonly RingRow[]): void;
  /** It does not ring: what waits is taken away, devices that were asked are told so. */
  cancel(ring: RingRow): Promise<void>;
  /** True when the ring, which an earlier run started, is known to have sounded. */
  hasStarted(ring: RingRow): boolean;
  /** Records rings that were missed, in the transaction that ends them. */
  recordMissed(tx: Transaction, rings: readonly RingRow[], cause: MissCause): void;
}

/** What the ticker needs. */
export interface TickerDeps {
  store: BellStore;
  clock: Clock;
  log: Log;
  planner: Planner;
  ringExecutor: RingExecutor;
}

/** Finds out what is due by the wall clock, woken by the one that is never set. */
export interface Ticker {
  start(): void;
  stop(): Promise<void>;
  /** One look, until nothing more is due now. */
  poll(): Promise<void>;
  /** Plans ahead where it is time to. */
  plan(): Promise<void>;
  /** The wall time of the next look that can find something to do; null when nothing is planned. */
  nextPollAt(): number | null;
}

/** @source bells.md, Running */
const POLL_INTERVAL_MS = 250;
const PREPARE_AHEAD_MS = 30_000;
const ARM_AHEAD_MS = 2_000;
const START_AHEAD_MS = 50;
/** A ring that begins later than this is written down as late. own choice: what people notice */
const LATE_THRESHOLD_MS = 1_000;
/** What waits for another appliance is looked at again so soon. */
const DUTY_RETRY_MS = 50;
/** How long after its start a ring is known to have sounded. */
const START_CONFIRMED_AFTER_MS = 1_000;
const PLAN_INTERVAL_MS = 60_000;
/** Rings are prepared for so long between two looks at what is due. */
const PREPARE_BUDGET_MS = 20;
const MAX_PER_STEP = 1_000;
const RETRY_DELAY_MS = 1_000;

/** Makes the ticker; nothing happens before `start`. */
export function createTicker(needs: TickerDeps): Ticker {
  const { store, clock, log, planner, ringExecutor } = needs;
  const abortController = new AbortController();
  const checkClock = createClockMonitor(clock);
  let timer: Timer | null = null;
  let polling: Promise<void> | null = null;
  let planning: Promise<void> | null = null;
  let plannedAt = Number.NEGATIVE_INFINITY;
  let first = true;
  let hasFailed = false;
  /** Rings that are on their way, by key. */
  const ringCache = new Map<number, RingRow>();
  /** Rings that could not be made ready, by key, and when that is tried again. */
  const retryAtByKey = new Map<number, number>();

  const isTooLate = ({ at }: RingRow, now: number): boolean => now - at > LATE_LIMIT_MS;

  /** What an ended run and the clock left behind. */
  const handleClockStep = async ({ stepMs }: ClockCheck): Promise<void> => {
    if (stepMs !== 0) log.warn({ stepMs }, "the clock was set");
    if (!first && stepMs >= 0) return;
    const wasFirst = first;
    await store.write((tx) => {
      planner.revalidate(tx);
      const revived = reopenMissedRings(tx, clock.now());
      if (revived > 0) log.info({ revived }, "rings are due again: the clock was set back");
    });
    if (wasFirst) await missInterruptedRings();
    first = false;
  };

  /** What an ended run had started: it sounded, or the end came first. */
  const missInterruptedRings = async (): Promise<void> => {
    const cut = startedRings(store).filter((ring) => !ringExecutor.hasStarted(ring));
    for (const ring of cut) await cancelQuietly(ring);
    if (cut.length > 0) await store.write((tx) => markMissed(tx, cut, "cut-off"));
  };

  /** What can't be taken away must not keep others from ringing: nobody lets it sound. */
  const cancelQuietly = (ring: RingRow): Promise<void> =>
    ringExecutor
      .cancel(ring)
      .catch((error: unknown) => log.error({ err: error, ringId: ring.id }, "a ring was not taken back"));

  /** As `port.prepare`; undefined when it failed and is to be tried again. */
  const tryToPrepare = async (ring: RingRow): Promise<string | null | undefined> => {
    try {
      const note = await ringExecutor.prepare(ring);
      retryAtByKey.delete(ring.pk);
      return note;
    } catch (error) {
      log.error({ err: error, ringId: ring.id }, "a ring could not be made ready");
      retryAtByKey.set(ring.pk, clock.monotonicMs() + RETRY_DELAY_MS);
      return undefined;
    }
  };

  const markMissed = (tx: Transaction, rings: readonly RingRow[], cause: MissCause): void => {
    if (rings.length === 0) return;
    finishUnrungRings(
      tx,
      rings.map(({ pk }) => pk),
      "missed",
      { cause },
    );
    ringExecutor.recordMissed(tx, rings, cause);
  };

  /** Rings that were read before are only moved on: nothing else of them changes. */
  const readRings = (keys: readonly number[], state: OpenState): RingRow[] => {
    const unknown = keys.filter((pk) => !ringCache.has(pk));
    for (const ring of ringsByKey(store, unknown)) ringCache.set(ring.pk, ring);
    return keys.flatMap((pk) => {
      const ring = ringCache.get(pk);
      return ring ? { ...ring, state, asked: Number(state === "armed") } : [];
    });
  };

  const evict = (rings: readonly RingRow[]): void => {
    for (const { pk } of rings) {
      ringCache.delete(pk);
      retryAtByKey.delete(pk);
    }
  };

  /** Rings of a state whose time has come, and how many were ended because they are too late. */
  const dueRingsOf = async (state: OpenState, cause: MissCause): Promise<{ rings: RingRow[]; missed: number }> => {
    const now = clock.now();
    const rings = readRings(dueRingKeys(store, state, now + LEAD_MS[state], MAX_PER_STEP), state);
    const late = rings.filter((ring) => isTooLate(ring, now));
    if (late.length === 0) return { rings: readyForRetry(rings), missed: 0 };
    if (state !== "planned") for (const ring of late) await cancelQuietly(ring);
    await store.write((tx) => markMissed(tx, late, cause));
    evict(late);
    log.error({ rings: late.length, cause }, "rings were missed");
    return { rings: readyForRetry(rings.filter((ring) => !late.includes(ring))), missed: late.length };
  };

  const readyForRetry = (rings: RingRow[]): RingRow[] =>
    retryAtByKey.size === 0 ? rings : rings.filter(({ pk }) => (retryAtByKey.get(pk) ?? 0) <= clock.monotonicMs());

  const start = async (due: readonly RingRow[]): Promise<void> => {
    const rings = await onDuty(due);
    if (rings.length === 0) return;
    const now = clock.now();
    ringExecutor.start(await store.write((tx) => startRings(tx, rings, now), "emergency"));
    evict(rings);
  };

  const arm = async (due: readonly RingRow[]): Promise<void> => {
    const rings = await onDuty(due);
    if (rings.length > 0) ringExecutor.arm(await store.write((tx) => advanceRings(tx, rings, "armed")));
  };

  /** Those that are to ring here now; what another appliance rings is ended. */
  const onDuty = async (rings: readonly RingRow[]): Promise<readonly RingRow[]> => {
    if (!ringExecutor.duty) return rings;
    const ready: RingRow[] = [];
    for (const ring of rings) {
      const turn = ringExecutor.duty(ring);
      if (turn === "go") ready.push(ring);
      else if (turn === "wait") retryAtByKey.set(ring.pk, clock.monotonicMs() + DUTY_RETRY_MS);
      else if (turn === "replan") await resetRing(ring);
      else {
        await cancelQuietly(ring);
        await store.write((tx) => finishUnrungRings(tx, [ring.pk], "skipped", { note: turn.standDown }));
        evict([ring]);
      }
    }
    return ready;
  };

  /** What an end in between leaves is found as it was made ready before. */
  const resetRing = async (ring: RingRow): Promise<void> => {
    await store.write((tx) => resetRingToPlanned(tx, ring.pk));
    await cancelQuietly(ring);
    evict([ring]);
  };

  const prepare = async (found: readonly RingRow[]): Promise<void> => {
    const isFresh = !planner.hasDirty();
    if (!isFresh) await store.write((tx) => planner.replanDirty(tx, found));
    const now = clock.now();
    const rings = isFresh ? found : readyForRetry(dueRings(store, "planned", now + PREPARE_AHEAD_MS, MAX_PER_STEP));
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
      if (clock.monotonicMs() - began > PREPARE_BUDGET_MS) break;
    }
    const prepared = await store.write((tx) => {
      for (const { ring, note } of silent) finishUnrungRings(tx, [ring.pk], "skipped", { note });
      evict(silent.map(({ ring }) => ring));
      return advanceRings(tx, ready, "prepared");
    });
    // Those that wait can still be taken away, and their keys given to others.
    evict(rings.slice(looked));
    // Somebody wrote the schedule meanwhile.
    const gone = prepared.length === ready.length ? [] : ready.filter((ring) => !prepared.includes(ring));
    evict(gone);
    for (const ring of gone) await cancelQuietly({ ...ring, state: "prepared" });
  };

  const cancelRings = async (rings: readonly RingRow[]): Promise<void> => {
    for (const ring of rings) await cancelQuietly(ring);
    evict(rings);
    await store.write((tx) => {
      for (const { pk } of rings) deleteRing(tx, pk);
      planner.markDirty(
        tx,
        rings.map(({ owner }) => owner),
      );
    });
  };

  const finishStarted = (): Promise<void> =>
    store.write((tx) => finishStartedRings(tx, clock.now() - START_CONFIRMED_AFTER_MS, LATE_THRESHOLD_MS));

  /** The most urgent thing that is due; false when nothing is, or nothing that can be done now. */
  const step = async (cause: MissCause): Promise<boolean> => {
    const now = clock.now();
    const near = nextRingInstants(store, now + PREPARE_AHEAD_MS);
    const isDue = (state: OpenState): boolean =>
      near.some((ring) => ring.state === state && ring.at <= now + LEAD_MS[state]);
    // What waits for its turn keeps nothing else from being done.
    if (isDue("armed") && (await withDueRings(start, "armed", cause))) return true;
    if (isDue("prepared") && (await withDueRings(arm, "prepared", cause))) return true;
    if (isDue("withdrawn")) await cancelRings(dueRings(store, "withdrawn", CANCELLED_RING_AT, MAX_PER_STEP));
    else if (isDue("planned") && (await withDueRings(prepare, "planned", cause))) return true;
    else if (isDue("started")) await finishStarted();
    else return false;
    return true;
  };

  const withDueRings = async (
    act: (rings: RingRow[]) => Promise<void>,
    state: OpenState,
    cause: MissCause,
  ): Promise<boolean> => {
    const { rings, missed } = await dueRingsOf(state, cause);
    if (rings.length > 0) await act(rings);
    return rings.length + missed > 0;
  };

  const poll = async (): Promise<void> => {
    let cause: MissCause = "overload";
    for (let more = true; more && !abortController.signal.aborted; ) {
      const seen = checkClock();
      if (seen.cause !== "overload") cause = seen.cause;
      await handleClockStep(seen);
      more = await step(cause);
    }
  };

  const plan = async (): Promise<void> => {
    if (clock.monotonicMs() - plannedAt < PLAN_INTERVAL_MS && !planner.hasDirty()) return;
    plannedAt = clock.monotonicMs();
    await planner.extendHorizon(abortController.signal);
  };

  const nextPollAt = (): number | null => {
    const rings = nextRingInstants(store, clock.now() + PREPARE_AHEAD_MS);
    const moments = rings.map(({ state, at }) => at - LEAD_MS[state ?? "planned"]);
    return moments.length > 0 ? Math.min(...moments) : null;
  };

  const logFailure = (error: unknown): void => log.error({ err: error }, "bells: a look failed");

  /** Until the next look; what failed is tried again soon, not at once. */
  const pollDelayMs = (): number => {
    const next = nextPollAt();
    if (next === null) return POLL_INTERVAL_MS;
    const least = retryAtByKey.size > 0 || hasFailed ? START_AHEAD_MS : 1;
    return Math.min(POLL_INTERVAL_MS, Math.max(least, next - clock.now()));
  };

  const wake = (): void => {
    timer?.cancel();
    // What is due does not wait for it.
    planning ??= plan()
      .catch(logFailure)
      .finally(() => {
        planning = null;
      });
    hasFailed = false;
    polling ??= poll()
      .catch((error: unknown) => {
        hasFailed = true;
        logFailure(error);
      })
      .finally(() => {
        polling = null;
        if (abortController.signal.aborted) return;
        timer = clock.after(pollDelayMs(), wake, { background: true });
      });
  };

  return {
    start: wake,
    async stop() {
      abortController.abort();
      timer?.cancel();
      await Promise.all([polling, planning]);
    },
    poll,
    plan,
    nextPollAt,
  };
}

const LEAD_MS: Readonly<Record<OpenState, number>> = {
  armed: START_AHEAD_MS,
  prepared: ARM_AHEAD_MS,
  planned: PREPARE_AHEAD_MS,
  started: -START_CONFIRMED_AFTER_MS,
  withdrawn: 0,
};
