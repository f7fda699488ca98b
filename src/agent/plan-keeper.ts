import type { Clock } from "../base/clock.ts";
import type { Appliance, HeldPlan } from "./appliance.ts";
import type { Machine } from "./machine.ts";
import { type RingPlan, readPlan } from "./ring-plan.ts";
import { openSoundStore } from "./sound-store.ts";
import type { Membership, StateFolder } from "./state-folder.ts";

/** The plan of an agent with its sounds, kept over restarts. */
export interface PlanKeeper {
  /** Null while there is none that may be followed. */
  readonly plan: RingPlan | null;
  /** How it stands with it. */
  readonly held: HeldPlan;
  /**
   * Epoch ms of the appliance without having heard of it: by the time since the machine's start, or by its own clock after
   * another start; null when neither can be believed.
   */
  now(): number | null;
  /**
   * Fetches what has changed, as a whole; `now` is epoch ms of the appliance. Rejects with CallerError in words for a plan
   * that is not to be followed, whereupon the one before stays, and with UpstreamError.
   */
  refresh(now: number): Promise<void>;
  /** A sound of the plan, checked; null when it is not here. */
  sound(sha256: string): Promise<Uint8Array | null>;
}

/** What keeping a plan needs. */
export interface KeeperNeeds {
  state: StateFolder;
  appliance: Pick<Appliance, "plan" | "sound">;
  membership: Membership;
  clock: Pick<Clock, "now" | "monotonicMs">;
  machine: Machine;
  log(words: string): void;
}

interface Kept {
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

const FILE = "plan.json";
/** Looked at often, written seldom: clocks that have gone otherwise by so much, and that all is in order. own choice */
const DRIFT_MS = 50;
const NOTE_EVERY_MS = 3_600_000;
/** How often the machine is asked whether its clock was set meanwhile. own choice */
const ASK_EVERY_MS = 60_000;

/** Forgets what is kept of plans. */
export function forgetPlan(state: StateFolder): Promise<void> {
  return state.remove(FILE);
}

/** Opens what is kept; a plan that is not to be followed any more is told in words and left alone. */
export async function openPlanKeeper(needs: KeeperNeeds): Promise<PlanKeeper> {
  const { state, appliance, membership, clock, machine, log } = needs;
  const { planKey: key = null, mac } = membership;
  const sounds = openSoundStore(state, (sha256, from) => appliance.sound(membership, sha256, from));
  let kept = await readKept(state);
  let plan: RingPlan | null = null;
  const isSameStart = kept !== null && kept.bootId !== null && kept.bootId === machine.bootId;
  let isClockSet = isSameStart || (await machine.isClockSet());
  let askedAt = clock.monotonicMs();
  if (!isClockSet) log("the clock of this machine is not set: nothing rings before it is, or the appliance was heard");
  const askAgain = (): null => {
    if (clock.monotonicMs() - askedAt < ASK_EVERY_MS) return null;
    askedAt = clock.monotonicMs();
    void machine.isClockSet().then((isSet) => {
      isClockSet = isSet;
    });
    return null;
  };
  const now = (): number | null => {
    if (!kept) return null;
    if (kept.bootId !== null && kept.bootId === machine.bootId) return clock.monotonicMs() + kept.sinceStartMs;
    return isClockSet ? clock.now() + kept.aheadMs : askAgain();
  };
  if (kept?.document && key !== null) {
    try {
      plan = readPlan(kept.document, { key, mac, now: now(), sequence: kept.sequence });
    } catch (error) {
      log(`the plan of rings is not followed: ${wordsOf(error)}`);
      kept = { ...kept, etag: "", document: null };
    }
  }

  const keep = async (next: Kept): Promise<void> => {
    await state.write(FILE, JSON.stringify(next));
    kept = next;
  };

  /** Takes what the appliance answered; gives what is to be kept of it. */
  const take = (answer: Awaited<ReturnType<Appliance["plan"]>>, key: string, now: number): [Kept, RingPlan | null] => {
    const clocks = {
      ...{ aheadMs: now - clock.now(), sinceStartMs: now - clock.monotonicMs(), bootId: machine.bootId },
      inOrderAt: kept?.inOrderAt ?? null,
    };
    const before = { etag: kept?.etag ?? "", document: kept?.document ?? null, sequence: kept?.sequence ?? 0 };
    if (answer === "same") return [{ ...before, ...clocks }, plan];
    if (answer === "none") return [{ ...before, ...clocks, etag: "", document: null }, null];
    const next = readPlan(answer.document, { key, mac, now, sequence: before.sequence });
    return [{ ...answer, sequence: next.sequence, ...clocks }, next];
  };

  return {
    get plan() {
      return plan;
    },
    get held() {
      return { until: plan?.until ?? null, inOrderAt: kept?.inOrderAt ?? null };
    },
    now,
    async refresh(now) {
      if (key === null) return;
      const answer = await appliance.plan(membership, plan ? (kept?.etag ?? null) : null);
      const [next, followed] = take(answer, key, now);
      if (!kept || answer !== "same" || hasDrifted(kept, next)) await keep(next);
      plan = followed;
      await sounds.fetch(plan?.rings ?? []);
      const isDue = now - (kept?.inOrderAt ?? 0) > NOTE_EVERY_MS;
      if (isDue) await keep({ ...next, inOrderAt: now });
      else if (kept) kept.inOrderAt = now;
    },
    sound: sounds.read,
  };
}

function hasDrifted(kept: Kept, next: Kept): boolean {
  const moved = (one: number, other: number): boolean => Math.abs(one - other) > DRIFT_MS;
  return (
    kept.bootId !== next.bootId || moved(kept.aheadMs, next.aheadMs) || moved(kept.sinceStartMs, next.sinceStartMs)
  );
}

async function readKept(state: StateFolder): Promise<Kept | null> {
  try {
    const text = await state.read(FILE);
    return text && (JSON.parse(text.toString("utf8")) as Kept);
  } catch {
    // Half a file: the appliance gives it again.
    return null;
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
