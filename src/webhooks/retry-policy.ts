import { hash } from "node:crypto";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Waits between two tries, ms; after the last one a message is dead. own choice: about eight hours in all, since the
 * messages behind it wait too.
 */
const RETRY_DELAYS_MS: readonly number[] = [
  ...[5_000, 30_000, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS],
  ...[HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS],
];
/** The wait that a receiver asks for is kept up to this. own choice */
const MAX_RETRY_AFTER_MS = 12 * HOUR_MS;
/** A wait is up to so much longer, so that messages that failed together are not tried together. */
const JITTER = 0.2;

/** So long nothing succeeds before a trigger is disabled. own choice */
export const DISABLE_AFTER_MS = 72 * HOUR_MS;

/**
 * How long to wait before the next try of the message `id` after `attempts` failed ones, ms; null when there is none any
 * more. `asked` is what the receiver's Retry-After asks for, ms. The jitter follows from id and number.
 */
export function webhookRetryDelayMs(attempts: number, id: string, asked: number | null): number | null {
  const wait = RETRY_DELAYS_MS[attempts - 1];
  if (wait === undefined) return null;
  const chance = Number.parseInt(hash("sha256", `${id}/${attempts}`, "hex").slice(0, 8), 16) / 0xff_ff_ff_ff;
  return Math.max(Math.round(wait * (1 + JITTER * chance)), Math.min(asked ?? 0, MAX_RETRY_AFTER_MS));
}

/** Ms that a Retry-After header asks for at `now` (epoch ms): seconds or a date; null when it is neither. @source RFC 9110 §10.2.3 */
export function parseRetryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
