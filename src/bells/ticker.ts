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

/** Rings the bells; every call may be repeated after a crash. */
export interface RingExecutor {
  /** Stores the notification of the ring, held until its instant. Returns null, or the reason why there is nothing to ring. */
  prepare(ring: RingRow): Promise<string | null>;
  /**
   * Failover duty, checked before devices are contacted and before the ring starts: `wait` may still become any of the others,
   * `replan` means that this node is now responsible for other devices than when the ring was prepared (only for rings for
   * which no device was contacted), `standDown` says which node rings instead. Always `go` by default.
   */
  duty?(ring: RingRow): "go" | "wait" | "replan" | { standDown: string };
  /** Contacts the devices. */
  arm(rings: readonly RingRow[]): void;
  /** Starts the audio at the instant of the ring, or immediately if that has passed. */
  start(rings: readonly RingRow[]): void;
  /** Cancels the ring: discards the held notification, or aborts it if devices were contacted. */
  cancel(ring: RingRow): Promise<void>;
  /** True if a ring that an earlier run started is known to have played. */
  hasStarted(ring: RingRow): boolean;
  /** Records missed rings, in the transaction that finishes them. */
  recordMissed(tx: Transaction, rings: readonly RingRow[], cause: MissCause): void;
}

export interface TickerDeps {
  store: BellStore;
  clock: Clock;
  log: Log;
  planner: Planner;
  ringExecutor: RingExecutor;
}

/** The bell scheduler: finds due rings by the wall clock, driven by the monotonic clock. */
export interface Ticker {
  start(): void;
  stop(): Promise<void>;
  /** Runs until no ring is due. */
  poll(): Promise<void>;
  /** Extends the plans if that is due. */
  plan(): Promise<void>;
  /** The wall time of the next poll that can find work; null if nothing is planned. */
  nextPollAt(): number | null;
}

/** @source docs/decisions/0015-bell-engine.md, Running */
const POLL_INTERVAL_MS = 250;
const PREPARE_AHEAD_MS = 30_000;
const ARM_AHEAD_MS = 2_000;
const START_AHEAD_MS = 50;
/** A ring that starts later than this is recorded as late. @source docs/decisions/0200-bell-engine-limits.md, Ticker */
const LATE_THRESHOLD_MS = 1_000;
/** Retry interval while another node has the duty. */
const DUTY_RETRY_MS = 50;
/** A ring counts as played this long after its start. */
const START_CONFIRMED_AFTER_MS = 1_000;
const PLAN_INTERVAL_MS = 60_000;
/** Longest run of preparing before due rings are checked again. */
const PREPARE_BUDGET_MS = 20;
const MAX_PER_STEP = 1_000;
const RETRY_DELAY_MS = 1_000;

/** Creates the ticker; nothing happens before `start`. */
export function createTicker(deps: TickerDeps): Ticker {
  const { store, clock, log, planner, ringExecutor } = deps;
  const abortController = new AbortController();
  const checkClock = createClockMonitor(clock);
  let timer: Timer | null = null;
  let polling: Promise<void> | null = null;
  let planning: Promise<void> | null = null;
  let plannedAt = Number.NEGATIVE_INFINITY;
  let first = true;
  let hasFailed = false;
  /** Open rings, by key. */
  const ringCache = new Map<number, RingRow>();
  /** Rings whose preparation failed, by key, with the time of the next retry. */
  const retryAtByKey = new Map<number, number>();

  const isTooLate = ({ at }: RingRow, now: number): boolean => now - at > LATE_LIMIT_MS;

  /** Recovers from a restart or a clock step. */
  const handleClockStep = async ({ stepMs }: ClockCheck): Promise<void> => {
    if (stepMs !== 0) log.warn({ event: "bell.clock_step_detected", stepMs }, "clock step detected");
    if (!first && stepMs >= 0) return;
    const wasFirst = first;
    await store.write((tx) => {
      planner.revalidate(tx);
      const reopened = reopenMissedRings(tx, clock.now());
      if (reopened > 0) log.info({ event: "bell.missed_rings_reopened", rings: reopened }, "missed rings reopened after a clock step backward");
    });
    if (wasFirst) await missInterruptedRings();
    first = false;
  };

  /** Rings that an earlier run had started: they played, or the process ended first. */
  const missInterruptedRings = async (): Promise<void> => {
    const interrupted = startedRings(store).filter((ring) => !ringExecutor.hasStarted(ring));
    for (const ring of interrupted) await cancelQuietly(ring);
    if (interrupted.length > 0) await store.write((tx) => markMissed(tx, interrupted, "cut-off"));
  };

  /** A failed cancellation must not block other rings; the held notification never starts by itself. */
  const cancelQuietly = (ring: RingRow): Promise<void> =>
    ringExecutor
      .cancel(ring)
      .catch((error: unknown) => log.error({ event: "bell.ring_cancel_failed", err: error, ringId: ring.id }, "failed to cancel a ring"));

  /** As `RingExecutor.prepare`; undefined if it failed and will be retried. */
  const tryToPrepare = async (ring: RingRow): Promise<string | null | undefined> => {
    try {
      const note = await ringExecutor.prepare(ring);
      retryAtByKey.delete(ring.pk);
      return note;
    } catch (error) {
      log.error({ event: "bell.ring_prepare_failed", err: error, ringId: ring.id }, "failed to prepare a ring, retrying");
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

  /** Uses the cache: apart from its state an open ring does not change. */
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

  /** Due rings of a state, and the number of rings that were too late and are now missed. */
  const dueRingsOf = async (state: OpenState, cause: MissCause): Promise<{ rings: RingRow[]; missed: number }> => {
    const now = clock.now();
    const rings = readRings(dueRingKeys(store, state, now + LEAD_MS[state], MAX_PER_STEP), state);
    const late = rings.filter((ring) => isTooLate(ring, now));
    if (late.length === 0) return { rings: readyForRetry(rings), missed: 0 };
    if (state !== "planned") for (const ring of late) await cancelQuietly(ring);
    await store.write((tx) => markMissed(tx, late, cause));
    evict(late);
    log.error({ event: "bell.rings_missed", rings: late.length, cause }, "rings missed");
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

  /** Rings that this node plays; rings that another node plays are finished as skipped. */
  const onDuty = async (rings: readonly RingRow[]): Promise<readonly RingRow[]> => {
    if (!ringExecutor.duty) return rings;
    const ready: RingRow[] = [];
    for (const ring of rings) {
      const duty = ringExecutor.duty(ring);
      if (duty === "go") ready.push(ring);
      else if (duty === "wait") retryAtByKey.set(ring.pk, clock.monotonicMs() + DUTY_RETRY_MS);
      else if (duty === "replan") await resetRing(ring);
      else {
        await cancelQuietly(ring);
        await store.write((tx) => finishUnrungRings(tx, [ring.pk], "skipped", { note: duty.standDown }));
        evict([ring]);
      }
    }
    return ready;
  };

  /** Cancels and replans a ring. After a crash in between, the next run finds it prepared as before. */
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
    let attempted = 0;
    const silent: { ring: RingRow; note: string }[] = [];
    for (const ring of rings) {
      attempted++;
      const note = await tryToPrepare(ring);
      if (note === null) ready.push(ring);
      else if (note !== undefined) silent.push({ ring, note });
      // Other rings may be due.
      if (clock.monotonicMs() - began > PREPARE_BUDGET_MS) break;
    }
    const prepared = await store.write((tx) => {
      for (const { ring, note } of silent) finishUnrungRings(tx, [ring.pk], "skipped", { note });
      evict(silent.map(({ ring }) => ring));
      return advanceRings(tx, ready, "prepared");
    });
    // Planned rings may still be deleted and their keys reused, so they must not stay cached.
    evict(rings.slice(attempted));
    // The schedule was written during the preparation.
    const replaced = prepared.length === ready.length ? [] : ready.filter((ring) => !prepared.includes(ring));
    evict(replaced);
    for (const ring of replaced) await cancelQuietly({ ...ring, state: "prepared" });
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

  /** Handles the most urgent due rings; false if nothing is due, or nothing can be done now. */
  const step = async (cause: MissCause): Promise<boolean> => {
    const now = clock.now();
    const near = nextRingInstants(store, now + PREPARE_AHEAD_MS);
    const isDue = (state: OpenState): boolean =>
      near.some((ring) => ring.state === state && ring.at <= now + LEAD_MS[state]);
    // A ring that waits for its duty must not block other rings.
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

  const logFailure = (error: unknown): void => log.error({ event: "bell.ticker_failed", err: error }, "bell ticker failed");

  /** Delay until the next poll; after a failure it is retried soon, not immediately. */
  const pollDelayMs = (): number => {
    const next = nextPollAt();
    if (next === null) return POLL_INTERVAL_MS;
    const minDelayMs = retryAtByKey.size > 0 || hasFailed ? START_AHEAD_MS : 1;
    return Math.min(POLL_INTERVAL_MS, Math.max(minDelayMs, next - clock.now()));
  };

  const wake = (): void => {
    timer?.cancel();
    // Due rings do not wait for planning.
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
