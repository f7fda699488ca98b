import type { Clock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import type { ApplianceClient } from "./appliance-client.ts";
import type { JournaledRing, RingJournal } from "./ring-journal.ts";
import type { RingPlanStore } from "./ring-plan-store.ts";
import type { AgentRegistration } from "./state-folder.ts";

/** What keeping up needs. */
export interface PlanRefresherDeps {
  clock: Pick<Clock, "monotonicMs">;
  appliance: Pick<ApplianceClient, "fetchPlan" | "fetchSound" | "reportPlayedRings">;
  registration: AgentRegistration;
  planStore: Pick<RingPlanStore, "refresh" | "status">;
  journal: Pick<RingJournal, "unreported" | "markReported">;
  /** Epoch ms of the appliance. */
  now(): number | null;
  signal: AbortSignal;
  /** Another plan is in order. */
  onChange(): void;
  log(words: string): void;
}

/** How often the plan of rings is looked for, and how soon again when that went wrong. own choice */
const REFRESH_EVERY_MS = 120_000;
const RETRY_MS = 15_000;
/** As many as the appliance takes at once. */
const MAX_REPORTED_RINGS = 500;

/** Gives what is to be called whenever the appliance has answered: it tells what sounded alone, and fetches the plan when it is time to. */
export function createPlanRefresher(needs: PlanRefresherDeps): () => void {
  const { clock, planStore, journal, signal, log } = needs;
  let nextRefreshAt = Number.NEGATIVE_INFINITY;
  let isRunning = false;
  let fault = "";

  const refresh = async (): Promise<void> => {
    const rings = journal.unreported().slice(0, MAX_REPORTED_RINGS);
    if (rings.length > 0) {
      await reportPlayedRings(rings, needs);
      await journal.markReported(rings);
    }
    const time = needs.now();
    if (time === null || clock.monotonicMs() < nextRefreshAt) return;
    nextRefreshAt = clock.monotonicMs() + RETRY_MS;
    const before = planStore.status;
    await planStore.refresh(time);
    if (planStore.status.until !== before.until || before.inOrderAt === null) needs.onChange();
    nextRefreshAt = clock.monotonicMs() + REFRESH_EVERY_MS;
    fault = "";
  };

  return () => {
    if (isRunning) return;
    isRunning = true;
    refresh()
      .catch((error: unknown) => {
        const words = error instanceof Error ? error.message : String(error);
        if (!signal.aborted && words !== fault) log(`the plan of rings: ${words}`);
        fault = words;
      })
      .finally(() => {
        isRunning = false;
      });
  };
}

/** What the appliance refuses it refuses for good. */
async function reportPlayedRings(
  rings: readonly JournaledRing[],
  { appliance, registration, log }: PlanRefresherDeps,
): Promise<void> {
  const played = rings.map(({ ringId, at }) => ({ ringId, at }));
  try {
    await appliance.reportPlayedRings(registration, played);
  } catch (error) {
    if (!(error instanceof CallerError)) throw error;
    log(`the appliance does not take what was played without it: ${error.message}`);
  }
}
