import type { StoreReader } from "../../store/store.ts";
import type { Delivery } from "./delivery.ts";

/** A device skipped for this long is asked once more, since nothing else would find out that it is back. */
const SKIP_PERIOD_MS = 3_600_000;

const UNRESPONSIVE_SQL = `SELECT d.pk FROM json_each(?) asked JOIN devices d ON d.pk = asked.value
  WHERE (SELECT max(ended_at) FROM (SELECT level, ended_at FROM deliveries WHERE device_pk = d.pk ORDER BY pk DESC LIMIT 50)
    WHERE level IN ('failed', 'expired')) > max(?, coalesce(d.proven_at, 0))`;

/**
 * Internal keys of the devices of `page` that did not answer the last messages, the last of them within the hour, and
 * that no silent connectivity test has verified since. Excludes devices that were reached already.
 */
export function findUnresponsiveDevices(
  page: readonly Delivery[],
  reader: StoreReader,
  now: number,
): ReadonlySet<number> {
  const suspects = page
    .filter(({ previouslyFailed, reached }) => previouslyFailed && !reached)
    .map(({ device }) => device);
  if (suspects.length === 0) return new Set();
  const found = reader.all<{ pk: number }>(UNRESPONSIVE_SQL, JSON.stringify(suspects), now - SKIP_PERIOD_MS);
  return new Set(found.map(({ pk }) => pk));
}
