import type { StoreReader } from "../../store/store.ts";
import type { UpstreamFeed } from "../protocol/frames.ts";
import { OUTBOX, REFUSED_ROWS, STAGED_ROWS, type SyncState } from "./tables.ts";

/** Queue sizes of an appliance, each counted up to 10,000. Times are epoch ms. */
export interface SiteQueueStatus {
  /** Records that the cloud has not acknowledged. */
  unsent: number;
  /** When the oldest of them was written; null if there are none. */
  unsentSince: number | null;
  /** Rows of the cloud that are staged for their checkpoint. */
  staged: number;
  /** Rows of the cloud that were refused here. */
  refused: number;
}

/** A row of the cloud that cannot be written here. */
export interface RefusedRow {
  type: string;
  id: string;
  reason: string;
}

const MAX_COUNTED = 10_000;
const MAX_LISTED = 20;

export function readQueueStatus(reader: StoreReader, { bulkAcked, hotAcked }: SyncState): SiteQueueStatus {
  const waiting = { bulk: bulkAcked, hot: hotAcked } satisfies Record<UpstreamFeed, number>;
  const lanes = Object.entries(waiting).map(([lane, acked]) => ({
    count: countRows(reader, `${OUTBOX.name} WHERE lane = ? AND sequence > ? AND op <> 'hollow'`, lane, acked),
    since: oldestTimestamp(reader, lane, acked),
  }));
  const since = lanes.flatMap((lane) => (lane.since === null ? [] : [lane.since]));
  return {
    unsent: lanes.reduce((sum, { count }) => sum + count, 0),
    unsentSince: since.length === 0 ? null : Math.min(...since),
    staged: countRows(reader, STAGED_ROWS.name),
    refused: countRows(reader, REFUSED_ROWS.name),
  };
}

/** The first refused rows, with the reasons. */
export function listRefusedRows(reader: StoreReader): RefusedRow[] {
  return reader.all(`SELECT type, id, reason FROM ${REFUSED_ROWS.name} ORDER BY type, id LIMIT ${MAX_LISTED}`);
}

function countRows(reader: StoreReader, from: string, ...params: (string | number)[]): number {
  const sql = `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${from} LIMIT ${MAX_COUNTED})`;
  return reader.one<{ n: number }>(sql, ...params)?.n ?? 0;
}

function oldestTimestamp(reader: StoreReader, lane: string, acked: number): number | null {
  const sql = `SELECT at FROM ${OUTBOX.name} WHERE lane = ? AND sequence > ? AND op <> 'hollow' ORDER BY sequence LIMIT 1`;
  return reader.one<{ at: number }>(sql, lane, acked)?.at ?? null;
}
