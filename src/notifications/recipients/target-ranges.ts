import type { StoreReader } from "../../store/store.ts";

/** A chunk of a broadcast's targets: devices with keys in (after, upTo]. */
export interface TargetRange {
  after: number;
  upTo: number;
  count: number;
}

/** The next at most `most` targets after `after`, in key order; null at the end. */
export function nextTargets(
  reader: StoreReader,
  notificationPk: number,
  after: number,
  limit: number,
): TargetRange | null {
  const page = reader.one<{ last: number | null; n: number }>(
    `SELECT max(device) AS last, count(*) AS n FROM (SELECT device FROM notification_targets
       WHERE notification = ? AND device > ? ORDER BY device LIMIT ?)`,
    notificationPk,
    after,
    limit,
  );
  return page && page.last !== null ? { after, upTo: page.last, count: page.n } : null;
}
