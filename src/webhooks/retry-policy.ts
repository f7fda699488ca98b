import { hash } from "node:crypto";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Waits between two tries, ms; after the last one a message is dead. About eight hours in all, since the messages
 * behind it wait too.
 */
const RETRY_DELAYS_MS: readonly number[] = [
  ...[5_000, 30_000, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS],
  ...[HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS],
];
/** Upper limit of the Retry-After of a receiver. */
const MAX_RETRY_AFTER_MS = 12 * HOUR_MS;
/** Random extra delay (up to 20 %), so that messages that failed together are not retried together. */
const JITTER = 0.2;

/** So long nothing succeeds before a trigger is disabled. */
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

/** Retry-After header in ms at `now` (epoch ms): seconds or a date; null if it is neither. @source RFC 9110 §10.2.3 */
export function parseRetryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
