/** Longest wait that a response can ask for: a year-long one is an error, and deliveries end earlier. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/**
 * Retry-After header in ms at `now` (epoch ms): seconds or a date, at most a day; null if it is neither.
 * @source RFC 9110 §10.2.3
 */
export function parseRetryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Math.min(MAX_RETRY_AFTER_MS, Number(header) * 1_000);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.min(MAX_RETRY_AFTER_MS, Math.max(0, at - now));
}
