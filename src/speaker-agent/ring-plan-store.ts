import type { Clock } from "../lib/clock.ts";
import type { ApplianceClient, RingPlanStatus } from "./appliance-client.ts";
import type { HostMachine } from "./host-machine.ts";
import { type OfflineRingPlan, verifyRingPlan } from "./ring-plan.ts";
import { openSoundStore } from "./sound-store.ts";
import type { AgentRegistration, StateFolder } from "./state-folder.ts";

/** The agent's ring plan and its sounds, stored across restarts. */
export interface RingPlanStore {
  /** Null without a valid plan. */
  readonly plan: OfflineRingPlan | null;
  readonly status: RingPlanStatus;
  /**
   * Estimated epoch ms of the appliance without contact: from the uptime within the same boot, else from the local
   * clock; null if neither is reliable.
   */
  estimatedNow(): number | null;
  /**
   * Fetches changes of the plan and its sounds; `now` is epoch ms of the appliance. Rejects with CallerError for an
   * invalid plan, in which case the previous plan stays, and with UpstreamError.
   */
  refresh(now: number): Promise<void>;
  /** A verified sound of the plan; null if not stored. */
  readSound(sha256: string): Promise<Uint8Array | null>;
}

export interface RingPlanStoreDeps {
  state: StateFolder;
  appliance: Pick<ApplianceClient, "fetchPlan" | "fetchSound">;
  registration: AgentRegistration;
  clock: Pick<Clock, "now" | "monotonicMs">;
  machine: HostMachine;
  log(message: string): void;
}

interface StoredPlan {
  etag: string;
  /** Null if the appliance has no plan. */
  document: string | null;
  /** Highest sequence so far; older plans are rejected. */
  sequence: number;
  /** Offset of the appliance's clock from the local clock and from the uptime. */
  aheadMs: number;
  sinceStartMs: number;
  bootId: string | null;
  inOrderAt: number | null;
}

const PLAN_FILE = "plan.json";
/** Changes smaller than this drift are not written, and an unchanged plan is written at most this often. */
const DRIFT_MS = 50;
const SAVE_EVERY_MS = 3_600_000;
/** How often to check whether the local clock was set. */
const CLOCK_CHECK_EVERY_MS = 60_000;

/** Deletes the stored plan. */
export function deleteStoredPlan(state: StateFolder): Promise<void> {
  return state.remove(PLAN_FILE);
}

/** Opens the store; an invalid stored plan is logged and ignored. */
export async function openRingPlanStore(deps: RingPlanStoreDeps): Promise<RingPlanStore> {
  const { state, appliance, registration, clock, machine, log } = deps;
  const { planKey: key = null, mac } = registration;
  const sounds = openSoundStore(state, (sha256, from) => appliance.fetchSound(registration, sha256, from));
  let stored = await readStoredPlan(state);
  let plan: OfflineRingPlan | null = null;
  const isSameStart = stored !== null && stored.bootId !== null && stored.bootId === machine.bootId;
  let isClockSet = isSameStart || (await machine.isClockSet());
  let askedAt = clock.monotonicMs();
  if (!isClockSet)
    log("the clock of this machine is not set: offline rings are disabled until it is set or the appliance is reached");
  const recheckClock = (): null => {
    if (clock.monotonicMs() - askedAt < CLOCK_CHECK_EVERY_MS) return null;
    askedAt = clock.monotonicMs();
    void machine.isClockSet().then((isSet) => {
      isClockSet = isSet;
    });
    return null;
  };
  const estimatedNow = (): number | null => {
    if (!stored) return null;
    if (stored.bootId !== null && stored.bootId === machine.bootId) return clock.monotonicMs() + stored.sinceStartMs;
    return isClockSet ? clock.now() + stored.aheadMs : recheckClock();
  };
  if (stored?.document && key !== null) {
    try {
      plan = verifyRingPlan(stored.document, { key, mac, now: estimatedNow(), sequence: stored.sequence });
    } catch (error) {
      log(`the stored ring plan was rejected: ${errorMessage(error)}`);
      stored = { ...stored, etag: "", document: null };
    }
  }

  const save = async (next: StoredPlan): Promise<void> => {
    await state.write(PLAN_FILE, JSON.stringify(next));
    stored = next;
  };

  /** Applies a response; returns what to store and the new plan. */
  const applyResponse = (
    answer: Awaited<ReturnType<ApplianceClient["fetchPlan"]>>,
    key: string,
    now: number,
  ): [StoredPlan, OfflineRingPlan | null] => {
    const clocks = {
      ...{ aheadMs: now - clock.now(), sinceStartMs: now - clock.monotonicMs(), bootId: machine.bootId },
      inOrderAt: stored?.inOrderAt ?? null,
    };
    const before = { etag: stored?.etag ?? "", document: stored?.document ?? null, sequence: stored?.sequence ?? 0 };
    if (answer === "same") return [{ ...before, ...clocks }, plan];
    if (answer === "none") return [{ ...before, ...clocks, etag: "", document: null }, null];
    const next = verifyRingPlan(answer.document, { key, mac, now, sequence: before.sequence });
    return [{ ...answer, sequence: next.sequence, ...clocks }, next];
  };

  return {
    get plan() {
      return plan;
    },
    get status() {
      return { until: plan?.until ?? null, inOrderAt: stored?.inOrderAt ?? null };
    },
    estimatedNow,
    async refresh(now) {
      if (key === null) return;
      const answer = await appliance.fetchPlan(registration, plan ? (stored?.etag ?? null) : null);
      const [next, nextPlan] = applyResponse(answer, key, now);
      if (!stored || answer !== "same" || hasDrifted(stored, next)) await save(next);
      plan = nextPlan;
      await sounds.synchronize(plan?.rings ?? []);
      const isDue = now - (stored?.inOrderAt ?? 0) > SAVE_EVERY_MS;
      if (isDue) await save({ ...next, inOrderAt: now });
      else if (stored) stored.inOrderAt = now;
    },
    readSound: sounds.read,
  };
}

function hasDrifted(stored: StoredPlan, next: StoredPlan): boolean {
  const moved = (one: number, other: number): boolean => Math.abs(one - other) > DRIFT_MS;
  return (
    stored.bootId !== next.bootId ||
    moved(stored.aheadMs, next.aheadMs) ||
    moved(stored.sinceStartMs, next.sinceStartMs)
  );
}

async function readStoredPlan(state: StateFolder): Promise<StoredPlan | null> {
  try {
    const text = await state.read(PLAN_FILE);
    return text && (JSON.parse(text.toString("utf8")) as StoredPlan);
  } catch {
    // A truncated file: the appliance provides the plan again.
    return null;
  }
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
