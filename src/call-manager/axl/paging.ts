import { type Clock, sleep } from "../../lib/clock.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { ClusterError } from "../cluster-error.ts";
import { TooManyRowsError } from "./axl-client.ts";

/** Rows per page (about 0.6 MB of phones) unless the cluster refuses. @source docs/decisions/0205-call-manager.md, AXL */
const PAGE_SIZE = 1_000;
/** Safety limit. @source docs/decisions/0205-call-manager.md, AXL */
const MAX_ROWS = 500_000;
const MEMORY_PAUSES_MS = [2_000, 5_000];

export type ReadPage<T> = (skip: number, first: number) => Promise<readonly T[]>;

/**
 * Reads all rows. If the cluster suggests a limit of M rows, the page size becomes a fifth of M, since the cluster often
 * refuses again just below M; if it is out of memory, half the page size after a pause. Throws ClusterError.
 * @source AXL developer guide, data throttling
 */
export async function readAllPages<T>(read: ReadPage<T>, deps: { clock: Clock; signal: AbortSignal }): Promise<T[]> {
  const rows: T[] = [];
  let first = PAGE_SIZE;
  let pauses = 0;
  for (;;) {
    try {
      const page = await read(rows.length, first);
      for (const row of page) rows.push(row);
      if (page.length < first) return rows;
      if (rows.length > MAX_ROWS) throw new ClusterError("answer", sentence("cluster.rows", { limit: MAX_ROWS }));
    } catch (error) {
      const smaller = error instanceof TooManyRowsError ? Math.floor(error.suggested / 5) : Math.floor(first / 2);
      const isBusy = error instanceof ClusterError && error.code === "busy" && pauses < MEMORY_PAUSES_MS.length;
      if (!(error instanceof TooManyRowsError || isBusy) || first === 1) throw error;
      first = Math.max(1, Math.min(smaller, first - 1));
      if (isBusy) await sleep(deps.clock, MEMORY_PAUSES_MS[pauses++] ?? 0, deps.signal);
    }
  }
}
