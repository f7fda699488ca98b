import type { RowImages } from "./row-images.ts";
import type { SharedLog } from "./shared-log.ts";

/** A turn of this copy to write. */
export interface OwnTurn {
  /** Hands what was written over; within the transaction, which is committed once this resolves. Throws UpstreamError. */
  keep(): Promise<void>;
  /** That was committed. */
  kept(): void;
  /** It was not, or there was nothing. */
  leave(): Promise<void>;
}

/** This process' copy of rows that others write too. */
export interface Replica {
  /** Waits for the right to write, and has all that others wrote until then. Throws UpstreamError. */
  begin(): Promise<OwnTurn>;
  /** Takes what others wrote meanwhile. Throws UpstreamError. */
  catchUp(): Promise<void>;
}

/** Makes it; `changed` is told of rows of others once they are there. */
export function createReplica(log: SharedLog, images: RowImages, changed: () => void): Replica {
  const take = (rows: Parameters<RowImages["apply"]>[0], at: number): void => {
    if (rows.length === 0) return;
    images.apply(rows, at);
    changed();
  };
  return {
    async begin() {
      const turn = await log.begin(images.at());
      try {
        take(turn.news, turn.at);
      } catch (error) {
        // Whoever keeps the right to write without being told of it would keep all others from it.
        await turn.release();
        throw error;
      }
      let isOver = false;
      return {
        async keep() {
          const rows = images.written();
          if (rows.length === 0) {
            isOver = true;
            return turn.release();
          }
          const at = await turn.publish(rows);
          isOver = true;
          images.note(at);
        },
        kept: images.kept,
        async leave() {
          if (!isOver) await turn.release();
        },
      };
    },
    async catchUp() {
      for (let more = true; more; ) {
        const news = await log.news(images.at());
        take(news.rows, news.at);
        more = news.more;
      }
    },
  };
}
