import type { Transaction } from "../../store/store.ts";
import type { PipelineStageDeps } from "./pipeline-stage.ts";

/** What work in slices needs. */
export type ChunkedWriteDeps = Pick<PipelineStageDeps, "store" | "clock" | "signal">;

/** Which of the store's two lanes a write takes. */
export type WriteLane = ReturnType<PipelineStageDeps["laneOf"]>;

/**
 * Rows of the first slice, and the bounds within which the size follows the machine's speed; of an emergency more, since each
 * slice waits for the disk. own choice
 */
const INITIAL_ROWS = { normal: 200, emergency: 1_500 } as const;
const MIN_ROWS = 50;
const MAX_ROWS = 5_000;
/** A slice is aimed at a time between these two, so that other work gets its turn. @source interfaces.md, Writing and reading */
const MIN_CHUNK_MS = 2;
const MAX_CHUNK_MS = 5;

/**
 * Writes much in short transactions: calls `slice` with the number of rows it may handle until it handles fewer; `last`
 * goes in the transaction of that one, which spares a wait for the disk; `safety` is that of each.
 * Rejects with the signal's reason when that aborts; what was committed stays.
 */
export async function writeInChunks(
  needs: ChunkedWriteDeps,
  lane: WriteLane,
  slice: (tx: Transaction, most: number) => number,
  last?: (tx: Transaction) => void,
  safety?: Parameters<ChunkedWriteDeps["store"]["write"]>[2],
): Promise<void> {
  for (let most: number = INITIAL_ROWS[lane]; ; ) {
    needs.signal.throwIfAborted();
    const { handled, tookMs } = await needs.store.write(
      (tx) => {
        const began = needs.clock.monotonicMs();
        const handled = slice(tx, most);
        if (handled < most) last?.(tx);
        return { handled, tookMs: needs.clock.monotonicMs() - began };
      },
      lane,
      safety,
    );
    if (handled < most) return;
    most = nextChunkSize(most, tookMs);
  }
}

function nextChunkSize(size: number, tookMs: number): number {
  if (tookMs > MAX_CHUNK_MS) return Math.max(MIN_ROWS, Math.floor(size / 2));
  return tookMs < MIN_CHUNK_MS ? Math.min(MAX_ROWS, size * 2) : size;
}
