import type { Transaction } from "../../store/store.ts";
import type { PipelineStageDeps } from "./pipeline-stage.ts";

export type ChunkedWriteDeps = Pick<PipelineStageDeps, "store" | "clock" | "signal">;

/** Write lane of the store. */
export type WriteLane = ReturnType<PipelineStageDeps["laneOf"]>;

/**
 * Rows of the first chunk, and the bounds of the adaptive size; more for an emergency, since each chunk waits for the
 * disk.
 */
const INITIAL_ROWS = { normal: 200, emergency: 1_500 } as const;
const MIN_ROWS = 50;
const MAX_ROWS = 5_000;
/** Target duration of a chunk, so that other work gets its turn. @source docs/decisions/0017-store.md */
const MIN_CHUNK_MS = 2;
const MAX_CHUNK_MS = 5;

/**
 * Writes in short transactions: calls `slice` with the number of rows it may handle until it handles fewer; `last` runs
 * in the transaction of the last chunk, which saves a disk sync; `safety` applies to each. Rejects with the signal's
 * reason when that aborts; committed chunks stay.
 */
export async function writeInChunks(
  deps: ChunkedWriteDeps,
  lane: WriteLane,
  writeChunk: (tx: Transaction, limit: number) => number,
  last?: (tx: Transaction) => void,
  safety?: Parameters<ChunkedWriteDeps["store"]["write"]>[2],
): Promise<void> {
  for (let limit: number = INITIAL_ROWS[lane]; ; ) {
    deps.signal.throwIfAborted();
    const { handled, tookMs } = await deps.store.write(
      (tx) => {
        const began = deps.clock.monotonicMs();
        const handled = writeChunk(tx, limit);
        if (handled < limit) last?.(tx);
        return { handled, tookMs: deps.clock.monotonicMs() - began };
      },
      lane,
      safety,
    );
    if (handled < limit) return;
    limit = nextChunkSize(limit, tookMs);
  }
}

function nextChunkSize(size: number, tookMs: number): number {
  if (tookMs > MAX_CHUNK_MS) return Math.max(MIN_ROWS, Math.floor(size / 2));
  return tookMs < MIN_CHUNK_MS ? Math.min(MAX_ROWS, size * 2) : size;
}
