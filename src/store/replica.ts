import type { RowImages } from "./row-images.ts";
import type { SharedLog, WriteLock } from "./shared-log.ts";

/** A write transaction of this replica, under the exclusive write lock. */
export interface ReplicaWrite {
  /**
   * Publishes the changed rows to the shared log, inside the transaction; commit after it resolves. Throws
   * UpstreamError.
   */
  publish(): Promise<void>;
  /** Call after the local COMMIT. */
  confirm(): void;
  /** Call after a rollback: releases the write lock. */
  abort(): Promise<void>;
}

/** This process' replica of rows that other processes write too. */
export interface Replica {
  /** Acquires the write lock and applies all rows written by others until then. Throws UpstreamError. */
  beginWrite(): Promise<ReplicaWrite>;
  /** Applies the rows written by others page by page; calls `taken` after each page. Throws UpstreamError. */
  catchUp(taken?: () => void): Promise<void>;
}

/** Creates the replica; `changed` is called after rows of others were applied. */
export function createReplica(log: SharedLog, images: RowImages, changed: () => void): Replica {
  const applyRows = (rows: Parameters<RowImages["apply"]>[0], at: number): void => {
    if (rows.length === 0) return;
    images.apply(rows, at);
    changed();
  };

  async function catchUp(taken?: () => void): Promise<void> {
    for (let more = true; more; ) {
      const after = images.position();
      const page = await log.readAfter(after);
      // A write that began during the read has applied these rows and newer ones; never overwrite them with older ones.
      const isNext = images.position() === after;
      if (isNext) applyRows(page.rows, page.at);
      more = page.more || !isNext;
      taken?.();
    }
  }

  /**
   * Acquires the write lock when at most one page of rows is missing: applying them under the lock blocks all writers.
   */
  async function beginWhenUpToDate(): Promise<WriteLock> {
    for (;;) {
      const lock = await log.acquireWriteLock(images.position());
      if (!lock.more) return lock;
      await lock.release();
      await catchUp();
    }
  }

  return {
    async beginWrite() {
      const lock = await beginWhenUpToDate();
      try {
        applyRows(lock.missedRows, lock.at);
      } catch (error) {
        // The caller never receives the lock, so nothing else would release it.
        await lock.release();
        throw error;
      }
      let isReleased = false;
      return {
        async publish() {
          const rows = images.changedRows();
          if (rows.length === 0) {
            isReleased = true;
            return lock.release();
          }
          const at = await lock.publish(rows);
          isReleased = true;
          images.setPosition(at);
        },
        confirm: images.clearChanged,
        async abort() {
          if (!isReleased) await lock.release();
        },
      };
    },
    catchUp,
  };
}
