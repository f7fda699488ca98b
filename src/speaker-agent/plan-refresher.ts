import type { Clock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import type { ApplianceClient } from "./appliance-client.ts";
import type { JournaledRing, RingJournal } from "./ring-journal.ts";
import type { RingPlanStore } from "./ring-plan-store.ts";
import type { AgentRegistration } from "./state-folder.ts";

export interface PlanRefresherDeps {
  clock: Pick<Clock, "monotonicMs">;
  appliance: Pick<ApplianceClient, "fetchPlan" | "fetchSound" | "reportPlayedRings">;
  registration: AgentRegistration;
  planStore: Pick<RingPlanStore, "refresh" | "status">;
  journal: Pick<RingJournal, "unreported" | "markReported">;
  /** Estimated epoch ms of the appliance. */
  now(): number | null;
  signal: AbortSignal;
  /** A new plan is complete. */
  onChange(): void;
  log(message: string): void;
}

/** Refresh interval of the ring plan, and retry interval after an error. */
const REFRESH_EVERY_MS = 120_000;
const RETRY_MS = 15_000;
/** Maximum per report, as the appliance accepts it. */
const MAX_REPORTED_RINGS = 500;

/**
 * Returns a function to call after each response of the appliance: it reports offline rings and refreshes the plan when
 * due.
 */
export function createPlanRefresher(deps: PlanRefresherDeps): () => void {
  const { clock, planStore, journal, signal, log } = deps;
  let nextRefreshAt = Number.NEGATIVE_INFINITY;
  let isRunning = false;
  let lastError = "";

  const refresh = async (): Promise<void> => {
    const rings = journal.unreported().slice(0, MAX_REPORTED_RINGS);
    if (rings.length > 0) {
      await reportPlayedRings(rings, deps);
      await journal.markReported(rings);
    }
    const time = deps.now();
    if (time === null || clock.monotonicMs() < nextRefreshAt) return;
    nextRefreshAt = clock.monotonicMs() + RETRY_MS;
    const before = planStore.status;
    await planStore.refresh(time);
    if (planStore.status.until !== before.until || before.inOrderAt === null) deps.onChange();
    nextRefreshAt = clock.monotonicMs() + REFRESH_EVERY_MS;
    lastError = "";
  };

  return () => {
    if (isRunning) return;
    isRunning = true;
    refresh()
      .catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        if (!signal.aborted && message !== lastError) log(`failed to refresh the ring plan: ${message}`);
        lastError = message;
      })
      .finally(() => {
        isRunning = false;
      });
  };
}

/** A refusal is permanent, so refused rings count as reported. */
async function reportPlayedRings(
  rings: readonly JournaledRing[],
  { appliance, registration, log }: PlanRefresherDeps,
): Promise<void> {
  const played = rings.map(({ ringId, at }) => ({ ringId, at }));
  try {
    await appliance.reportPlayedRings(registration, played);
  } catch (error) {
    if (!(error instanceof CallerError)) throw error;
    log(`the appliance refused the report of offline rings: ${error.message}`);
  }
}
