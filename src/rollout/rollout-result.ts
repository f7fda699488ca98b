import { sentence } from "../lib/sentences/sentences.ts";
/** Observed state of an appliance with an ordered upgrade. Times are epoch ms. */
export interface StepObservation {
  /** Result of the upgrade command; null while it is open. `reason` is set if it failed. */
  order: { failed: boolean; reason: string } | null;
  isLinked: boolean;
  version: string | null;
  /** When it connected. */
  since: number | null;
  health: { status: string; reasons: readonly string[] } | null;
  /** Its health before the upgrade. */
  healthBefore: string | null;
}

/** Requirements for success. */
export interface StepTarget {
  version: string;
  steadyMs: number;
  /** Deadline; epoch ms. */
  until: number;
}

export type RolloutResult = { state: "done"; reason: null } | { state: "failed"; reason: string };

const MINUTE_MS = 60_000;

/** Whether an appliance succeeded or failed; null while that is open. */
export function evaluateStep(now: number, observed: StepObservation, target: StepTarget): RolloutResult | null {
  const { order, isLinked, since } = observed;
  const isUpgraded = observed.version === target.version;
  // If it already runs the version, for example after a manual upgrade, it rejects the command.
  if (order?.failed && !isUpgraded) return { state: "failed", reason: order.reason };
  const isSteady = isLinked && since !== null && now - since >= target.steadyMs;
  if (order && isUpgraded && isSteady && !isUnhealthy(observed)) return { state: "done", reason: null };
  return now >= target.until ? { state: "failed", reason: failureReason(observed, target) } : null;
}

/** RED is no failure if it was RED before. */
function isUnhealthy({ health, healthBefore }: StepObservation): boolean {
  return health?.status === "RED" && healthBefore !== "RED";
}

function failureReason(observed: StepObservation, { version, steadyMs }: StepTarget): string {
  if (!observed.isLinked) return sentence("rollout.not-connected-at-deadline");
  if (observed.version !== version)
    return observed.version === null
      ? sentence("rollout.still-old")
      : sentence("rollout.still-version", { version: observed.version });
  if (isUnhealthy(observed))
    return sentence("rollout.red", { version, reasons: observed.health?.reasons.join(" ") ?? "" }).trim();
  if (!observed.order) return sentence("rollout.no-result", { version });
  return sentence("rollout.unsteady", { version, minutes: Math.ceil(steadyMs / MINUTE_MS) });
}
