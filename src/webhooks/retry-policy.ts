import { hash } from "node:crypto";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Delays between attempts, ms; afterwards the message is dead. About eight hours in total, because later messages
 * wait.
 */
const RETRY_DELAYS_MS: readonly number[] = [
  ...[5_000, 30_000, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS],
  ...[HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS],
];
/** Upper limit of the Retry-After of a receiver. */
const MAX_RETRY_AFTER_MS = 12 * HOUR_MS;
/** Random extra delay (up to 20 %), so that messages that failed together are not retried together. */
const JITTER = 0.2;

/** Time without a success after which a trigger is disabled. */
export const DISABLE_AFTER_MS = 72 * HOUR_MS;

/**
 * Delay before the next attempt of the message `id` after `attempts` failures, ms; null when retries are exhausted.
 * `requested` is the Retry-After of the receiver, ms. The jitter is derived from id and attempt.
 */
export function webhookRetryDelayMs(attempts: number, id: string, requested: number | null): number | null {
  const delay = RETRY_DELAYS_MS[attempts - 1];
  if (delay === undefined) return null;
  const fraction = Number.parseInt(hash("sha256", `${id}/${attempts}`, "hex").slice(0, 8), 16) / 0xff_ff_ff_ff;
  return Math.max(Math.round(delay * (1 + JITTER * fraction)), Math.min(requested ?? 0, MAX_RETRY_AFTER_MS));
}
