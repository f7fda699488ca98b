/** How an appliance is that was told to upgrade, as its cloud knows. Times are epoch ms. */
export interface StepObservation {
  /** What became of the order; null while that is open. `reason` in words where it failed. */
  order: { failed: boolean; reason: string } | null;
  isLinked: boolean;
  version: string | null;
  /** Since when it is linked. */
  since: number | null;
  health: { status: string; reasons: readonly string[] } | null;
  /** Its health when it was told to upgrade. */
  healthBefore: string | null;
}

/** What is asked of it. */
export interface StepTarget {
  version: string;
  steadyMs: number;
  /** By when; epoch ms. */
  until: number;
}

/** What became of an appliance. */
export type RolloutResult = { state: "done"; reason: null } | { state: "failed"; reason: string };

const MINUTE_MS = 60_000;

/** Whether an appliance has got there, or won't any more; null while that is open. */
export function evaluateStep(now: number, seen: StepObservation, demand: StepTarget): RolloutResult | null {
  const { order, isLinked, since } = seen;
  const runsIt = seen.version === demand.version;
  // One that runs it all the same, because somebody was quicker, refuses the order.
  if (order?.failed && !runsIt) return { state: "failed", reason: order.reason };
  const isSteady = isLinked && since !== null && now - since >= demand.steadyMs;
  if (order && runsIt && isSteady && !isUnhealthy(seen)) return { state: "done", reason: null };
  return now >= demand.until ? { state: "failed", reason: failureReason(seen, demand) } : null;
}

/** Red is no reason where it was red already. */
function isUnhealthy({ health, healthBefore }: StepObservation): boolean {
  return health?.status === "RED" && healthBefore !== "RED";
}

function failureReason(seen: StepObservation, { version, steadyMs }: StepTarget): string {
  if (!seen.isLinked) return "It was not connected when its time was over.";
  if (seen.version !== version) return `It still ran ${seen.version ?? "what it ran"} when its time was over.`;
  if (isUnhealthy(seen)) return `It runs ${version} and is RED: ${seen.health?.reasons.join(" ") ?? ""}`.trim();
  if (!seen.order) return `It runs ${version}, and did not say when its time was over what became of the order.`;
  return `It runs ${version}, and was not connected for ${Math.ceil(steadyMs / MINUTE_MS)} min at a stretch.`;
}
