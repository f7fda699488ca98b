import { asGiven, sentence } from "../lib/sentences/sentences.ts";
import type { FilterOutcome } from "../notifications/engine/delivery-providers.ts";
import type { PendingRequestLimits } from "./pending-requests.ts";
import type { Redact } from "./redaction.ts";

const MAX_REASON_LENGTH = 200;

/** Limits of requests to a device filter; the notification engine has a shorter time limit per message. */
export const FILTER_LIMITS: PendingRequestLimits<FilterOutcome> = {
  timeoutMs: 5_000,
  maxPending: 200,
  timedOut: { problem: sentence("delivery.no-answer") },
  dropped: { problem: sentence("filter.not-running") },
  overloaded: { problem: sentence("filter.overloaded") },
};

/** What a plugin answered, if it is valid; an invalid answer is a problem. */
export function checkFilterOutcome(given: unknown, redact: Redact): FilterOutcome {
  const { problem, excluded, reason } = (given ?? {}) as Record<string, unknown>;
  if (typeof problem === "string") return { problem: asGiven(redact(problem).slice(0, MAX_REASON_LENGTH)) };
  if (!Array.isArray(excluded) || excluded.some((id) => typeof id !== "string"))
    return { problem: sentence("filter.invalid-answer") };
  const why = typeof reason === "string" && reason !== "" ? { reason: redact(reason).slice(0, MAX_REASON_LENGTH) } : {};
  return { excluded: excluded as string[], ...why };
}
