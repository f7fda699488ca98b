import type { RowImages } from "./row-images.ts";
import type { SharedLog, Turn } from "./shared-log.ts";

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
  /** Takes what others wrote meanwhile, some at a time; `taken` is told after each. Throws UpstreamError. */
  catchUp(taken?: () => void): Promise<void>;
}

/** Makes it; `changed` is told of rows of others once they are there. */
export function createReplica(log: SharedLog, images: RowImages, changed: () => void): Replica {
  const take = (rows: Parameters<RowImages["apply"]>[0], at: number): void => {
    if (rows.length === 0) return;
    images.apply(rows, at);
    changed();
  };

  async function catchUp(taken?: () => void): Promise<void> {
    for (let more = true; more; ) {
      const after = images.at();
      const news = await log.news(after);
      // Whoever has begun a turn meanwhile has taken them, and newer ones: older rows never go over those.
      const isNext = images.at() === after;
      if (isNext) take(news.rows, news.at);
      more = news.more || !isNext;
      taken?.();
    }
  }

  /** A turn whose news are few: nobody else may write while they are taken, and nothing else is done. */
  async function beginUpToDate(): Promise<Turn> {
    for (;;) {
      const turn = await log.begin(images.at());
      if (!turn.more) return turn;
      await turn.release();
      await catchUp();
    }
  }

  return {
    async begin() {
      const turn = await beginUpToDate();
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
    catchUp,
  };
}
