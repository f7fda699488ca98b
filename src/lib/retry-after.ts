/** Retry-After header in ms at `now` (epoch ms): seconds or a date; null if it is neither. @source RFC 9110 §10.2.3 */
export function parseRetryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
