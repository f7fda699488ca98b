import type { RowImages } from "./row-images.ts";
import type { SharedLog, WriteLock } from "./shared-log.ts";

/** A turn of this copy to write. */
export interface ReplicaWrite {
  /** Hands what was written over; within the transaction, which is committed once this resolves. Throws UpstreamError. */
  publish(): Promise<void>;
  /** That was committed. */
  confirm(): void;
  /** It was not, or there was nothing. */
  abort(): Promise<void>;
}

/** This process' copy of rows that others write too. */
export interface Replica {
  /** Waits for the right to write, and has all that others wrote until then. Throws UpstreamError. */
  beginWrite(): Promise<ReplicaWrite>;
  /** Takes what others wrote meanwhile, some at a time; `taken` is told after each. Throws UpstreamError. */
  catchUp(taken?: () => void): Promise<void>;
}

/** Makes it; `changed` is told of rows of others once they are there. */
export function createReplica(log: SharedLog, images: RowImages, changed: () => void): Replica {
  const applyRows = (rows: Parameters<RowImages["apply"]>[0], at: number): void => {
    if (rows.length === 0) return;
    images.apply(rows, at);
    changed();
  };

  async function catchUp(taken?: () => void): Promise<void> {
    for (let more = true; more; ) {
      const after = images.position();
      const news = await log.readAfter(after);
      // Whoever has begun a turn meanwhile has taken them, and newer ones: older rows never go over those.
      const isNext = images.position() === after;
      if (isNext) applyRows(news.rows, news.at);
      more = news.more || !isNext;
      taken?.();
    }
  }

  /** A turn whose news are few: nobody else may write while they are taken, and nothing else is done. */
  async function beginWhenUpToDate(): Promise<WriteLock> {
    for (;;) {
      const turn = await log.acquireWriteLock(images.position());
      if (!turn.more) return turn;
      await turn.release();
      await catchUp();
    }
  }

  return {
    async beginWrite() {
      const turn = await beginWhenUpToDate();
      try {
        applyRows(turn.missedRows, turn.at);
      } catch (error) {
        // Whoever keeps the right to write without being told of it would keep all others from it.
        await turn.release();
        throw error;
      }
      let isOver = false;
      return {
        async publish() {
          const rows = images.changedRows();
          if (rows.length === 0) {
            isOver = true;
            return turn.release();
          }
          const at = await turn.publish(rows);
          isOver = true;
          images.setPosition(at);
        },
        confirm: images.clearChanged,
        async abort() {
          if (!isOver) await turn.release();
        },
      };
    },
    catchUp,
  };
}
