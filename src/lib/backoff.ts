/** Exponential backoff: `initialMs` after the first failure, doubled with each further one, at most `maxMs`. */
export function backoffMs(failures: number, initialMs: number, maxMs = Number.POSITIVE_INFINITY): number {
  return Math.min(maxMs, initialMs * 2 ** (failures - 1));
}
