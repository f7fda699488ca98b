import type { Clock } from "../lib/clock.ts";
import type { ApplianceClient, RingPlanStatus } from "./appliance-client.ts";
import type { HostMachine } from "./host-machine.ts";
import { type OfflineRingPlan, verifyRingPlan } from "./ring-plan.ts";
import { openSoundStore } from "./sound-store.ts";
import type { AgentRegistration, StateFolder } from "./state-folder.ts";

/** The plan of an agent with its sounds, kept over restarts. */
export interface RingPlanStore {
  /** Null while there is none that may be followed. */
  readonly plan: OfflineRingPlan | null;
  /** How it stands with it. */
  readonly status: RingPlanStatus;
  /**
   * Epoch ms of the appliance without having heard of it: by the time since the machine's start, or by its own clock after
   * another start; null when neither can be believed.
   */
  estimatedNow(): number | null;
  /**
   * Fetches what has changed, as a whole; `now` is epoch ms of the appliance. Rejects with CallerError in words for a plan
   * that is not to be followed, whereupon the one before stays, and with UpstreamError.
   */
  refresh(now: number): Promise<void>;
  /** A sound of the plan, checked; null when it is not here. */
  readSound(sha256: string): Promise<Uint8Array | null>;
}

/** What keeping a plan needs. */
export interface RingPlanStoreDeps {
  state: StateFolder;
  appliance: Pick<ApplianceClient, "fetchPlan" | "fetchSound">;
  registration: AgentRegistration;
  clock: Pick<Clock, "now" | "monotonicMs">;
  machine: HostMachine;
  log(words: string): void;
}

interface StoredPlan {
  etag: string;
  /** Null when the appliance has none. */
  document: string | null;
  /** Greatest of all plans that were followed: none before it is. */
  sequence: number;
  /** What the appliance's clock was ahead of that of this machine, and of the time since the machine's start. */
  aheadMs: number;
  sinceStartMs: number;
  bootId: string | null;
  inOrderAt: number | null;
}

const PLAN_FILE = "plan.json";
/** Looked at often, written seldom: clocks that have gone otherwise by so much, and that all is in order. own choice */
const DRIFT_MS = 50;
const SAVE_EVERY_MS = 3_600_000;
/** How often the machine is asked whether its clock was set meanwhile. own choice */
const CLOCK_CHECK_EVERY_MS = 60_000;

/** Forgets what is kept of plans. */
export function deleteStoredPlan(state: StateFolder): Promise<void> {
  return state.remove(PLAN_FILE);
}

/** Opens what is kept; a plan that is not to be followed any more is told in words and left alone. */
export async function openRingPlanStore(needs: RingPlanStoreDeps): Promise<RingPlanStore> {
  const { state, appliance, registration, clock, machine, log } = needs;
  const { planKey: key = null, mac } = registration;
  const sounds = openSoundStore(state, (sha256, from) => appliance.fetchSound(registration, sha256, from));
  let kept = await readStoredPlan(state);
  let plan: OfflineRingPlan | null = null;
  const isSameStart = kept !== null && kept.bootId !== null && kept.bootId === machine.bootId;
  let isClockSet = isSameStart || (await machine.isClockSet());
  let askedAt = clock.monotonicMs();
  if (!isClockSet) log("the clock of this machine is not set: nothing rings before it is, or the appliance was heard");
  const recheckClock = (): null => {
    if (clock.monotonicMs() - askedAt < CLOCK_CHECK_EVERY_MS) return null;
    askedAt = clock.monotonicMs();
    void machine.isClockSet().then((isSet) => {
      isClockSet = isSet;
    });
    return null;
  };
  const estimatedNow = (): number | null => {
    if (!kept) return null;
    if (kept.bootId !== null && kept.bootId === machine.bootId) return clock.monotonicMs() + kept.sinceStartMs;
    return isClockSet ? clock.now() + kept.aheadMs : recheckClock();
  };
  if (kept?.document && key !== null) {
    try {
      plan = verifyRingPlan(kept.document, { key, mac, now: estimatedNow(), sequence: kept.sequence });
    } catch (error) {
      log(`the plan of rings is not followed: ${errorMessage(error)}`);
      kept = { ...kept, etag: "", document: null };
    }
  }

  const save = async (next: StoredPlan): Promise<void> => {
    await state.write(PLAN_FILE, JSON.stringify(next));
    kept = next;
  };

  /** Takes what the appliance answered; gives what is to be kept of it. */
  const applyResponse = (
    answer: Awaited<ReturnType<ApplianceClient["fetchPlan"]>>,
    key: string,
    now: number,
  ): [StoredPlan, OfflineRingPlan | null] => {
    const clocks = {
      ...{ aheadMs: now - clock.now(), sinceStartMs: now - clock.monotonicMs(), bootId: machine.bootId },
      inOrderAt: kept?.inOrderAt ?? null,
    };
    const before = { etag: kept?.etag ?? "", document: kept?.document ?? null, sequence: kept?.sequence ?? 0 };
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
      return { until: plan?.until ?? null, inOrderAt: kept?.inOrderAt ?? null };
    },
    estimatedNow,
    async refresh(now) {
      if (key === null) return;
      const answer = await appliance.fetchPlan(registration, plan ? (kept?.etag ?? null) : null);
      const [next, followed] = applyResponse(answer, key, now);
      if (!kept || answer !== "same" || hasDrifted(kept, next)) await save(next);
      plan = followed;
      await sounds.synchronize(plan?.rings ?? []);
      const isDue = now - (kept?.inOrderAt ?? 0) > SAVE_EVERY_MS;
      if (isDue) await save({ ...next, inOrderAt: now });
      else if (kept) kept.inOrderAt = now;
    },
    readSound: sounds.read,
  };
}

function hasDrifted(kept: StoredPlan, next: StoredPlan): boolean {
  const moved = (one: number, other: number): boolean => Math.abs(one - other) > DRIFT_MS;
  return (
    kept.bootId !== next.bootId || moved(kept.aheadMs, next.aheadMs) || moved(kept.sinceStartMs, next.sinceStartMs)
  );
}

async function readStoredPlan(state: StateFolder): Promise<StoredPlan | null> {
  try {
    const text = await state.read(PLAN_FILE);
    return text && (JSON.parse(text.toString("utf8")) as StoredPlan);
  } catch {
    // Half a file: the appliance gives it again.
    return null;
  }
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
