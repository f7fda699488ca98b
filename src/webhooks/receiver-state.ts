import type { DeliveryResult } from "./webhook-delivery.ts";

/** What the last calls say about a receiver (circuit breaker). */
export interface ReceiverState {
  /** Calls in a row that it did not take because it was down or overloaded. */
  failures: number;
  /** Epoch ms until which it gets no call. */
  pausedUntil: number;
}

/** Failures in a row from which on a receiver is only probed, with a pause that doubles. */
const FAILURES_UNTIL_PAUSE = 5;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

/**
 * Notes the result of a call at `now` (epoch ms). "recovered" when the receiver was paused and took this call. A message that
 * the receiver refuses (4xx) says nothing about the next ones. @source docs/decisions/0505-order-of-webhooks.md
 */
export function noteResult(state: ReceiverState, result: DeliveryResult, now: number): "recovered" | "unchanged" {
  if (!isUnavailable(result)) {
    const recovered = state.failures >= FAILURES_UNTIL_PAUSE;
    Object.assign(state, { failures: 0, pausedUntil: 0 });
    return recovered ? "recovered" : "unchanged";
  }
  state.failures += 1;
  const beyond = state.failures - FAILURES_UNTIL_PAUSE;
  const pauseMs = beyond < 0 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** beyond);
  state.pausedUntil = now + Math.max(pauseMs, result.retryAfterMs ?? 0);
  return "unchanged";
}

/** Down or overloaded: no answer, 408, 425, 429 or 5xx. */
function isUnavailable({ reason, status }: DeliveryResult): boolean {
  if (reason === null) return false;
  return status === null || status >= 500 || [408, 425, 429].includes(status);
}
