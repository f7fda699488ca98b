import type { Reader } from "../../store/store.ts";
import type { Lane } from "../frames.ts";
import { type LinkState, OUT, PARKED, STAGE } from "../site/tables.ts";

/** What waits at an appliance; each is counted up to 10,000. Times are epoch ms. */
export interface SiteQueue {
  /** Records that the cloud has not taken. */
  unsent: number;
  /** When the oldest of them was written; null where none waits. */
  unsentSince: number | null;
  /** Rows of the cloud that came and wait for the rest of their mark. */
  staged: number;
  /** Rows of the cloud that were refused here. */
  refused: number;
}

/** A row of the cloud that can't be written here. */
export interface RefusedRow {
  type: string;
  id: string;
  reason: string;
}

const MOST_COUNTED = 10_000;
const MOST_SHOWN = 20;

/** Counts what waits. */
export function siteQueue(reader: Reader, { bulkAcked, hotAcked }: LinkState): SiteQueue {
  const waiting = { bulk: bulkAcked, hot: hotAcked } satisfies Record<Lane, number>;
  const lanes = Object.entries(waiting).map(([lane, acked]) => ({
    count: counted(reader, `${OUT.name} WHERE lane = ? AND oseq > ? AND op <> 'hollow'`, lane, acked),
    since: oldest(reader, lane, acked),
  }));
  const since = lanes.flatMap((lane) => (lane.since === null ? [] : [lane.since]));
  return {
    unsent: lanes.reduce((sum, { count }) => sum + count, 0),
    unsentSince: since.length === 0 ? null : Math.min(...since),
    staged: counted(reader, STAGE.name),
    refused: counted(reader, PARKED.name),
  };
}

/** Some of the rows of the cloud that were refused here, and why. */
export function refusedRows(reader: Reader): RefusedRow[] {
  return reader.all(`SELECT type, id, reason FROM ${PARKED.name} ORDER BY type, id LIMIT ${MOST_SHOWN}`);
}

function counted(reader: Reader, from: string, ...params: (string | number)[]): number {
  const sql = `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${from} LIMIT ${MOST_COUNTED})`;
  return reader.one<{ n: number }>(sql, ...params)?.n ?? 0;
}

function oldest(reader: Reader, lane: string, acked: number): number | null {
  const sql = `SELECT at FROM ${OUT.name} WHERE lane = ? AND oseq > ? AND op <> 'hollow' ORDER BY oseq LIMIT 1`;
  return reader.one<{ at: number }>(sql, lane, acked)?.at ?? null;
}
