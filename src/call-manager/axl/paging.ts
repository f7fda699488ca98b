import { type Clock, sleep } from "../../lib/clock.ts";
import { ClusterError } from "../cluster-error.ts";
import { TooManyRowsError } from "./axl-client.ts";

/** Rows that are asked for at once, unless the cluster refuses so many. own choice: about 0.6 MB of phones */
const PAGE_SIZE = 1_000;
/** own choice: no cluster has so many phones or lines */
const MAX_ROWS = 500_000;
const MEMORY_PAUSES_MS = [2_000, 5_000];

/** Reads a table page by page. */
export type ReadPage<T> = (skip: number, first: number) => Promise<readonly T[]>;

/**
 * All rows. Where the cluster suggests M rows at most, a fifth of M is asked for from then on, since just below M it often
 * refuses again; where it has no memory left, half as many after a pause. Throws ClusterFault.
 * @source AXL developer guide, data throttling
 */
export async function readAllPages<T>(read: ReadPage<T>, needs: { clock: Clock; signal: AbortSignal }): Promise<T[]> {
  const rows: T[] = [];
  let first = PAGE_SIZE;
  let pauses = 0;
  for (;;) {
    try {
      const page = await read(rows.length, first);
      for (const row of page) rows.push(row);
      if (page.length < first) return rows;
      if (rows.length > MAX_ROWS) throw new ClusterError("answer", `The cluster sends more than ${MAX_ROWS} rows.`);
    } catch (error) {
      const smaller = error instanceof TooManyRowsError ? Math.floor(error.suggested / 5) : Math.floor(first / 2);
      const isBusy = error instanceof ClusterError && error.code === "busy" && pauses < MEMORY_PAUSES_MS.length;
      if (!(error instanceof TooManyRowsError || isBusy) || first === 1) throw error;
      first = Math.max(1, Math.min(smaller, first - 1));
      if (isBusy) await sleep(needs.clock, MEMORY_PAUSES_MS[pauses++] ?? 0, needs.signal);
    }
  }
}
