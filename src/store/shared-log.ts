/** A raw row of any table: table name, key as JSON, columns as JSON (null for a deleted row). */
export interface RowImage {
  table: string;
  key: string;
  image: string | null;
}

/** A page of rows written after a position, in order, and the position after them. */
export interface LogPage {
  rows: readonly RowImage[];
  at: number;
  /** True when more rows follow. */
  more: boolean;
}

/** The exclusive right to write. The holder must call `publish` or `release`. */
export interface WriteLock {
  /** Rows written by others since the last position; apply them before writing. */
  readonly missedRows: readonly RowImage[];
  readonly at: number;
  /** More rows are missing than `missedRows`: release the lock, catch up page by page, then acquire it again. */
  readonly more: boolean;
  /**
   * Publishes rows atomically and returns the position after them. The iterable is consumed in chunks, so many rows
   * need not be held in memory. Throws UpstreamError (`outcome-unknown` when the connection broke during the commit;
   * otherwise nothing was stored) and whatever the iterable throws.
   */
  publish(rows: Iterable<RowImage>): Promise<number>;
  /** Releases the lock without writing. */
  release(): Promise<void>;
}

/**
 * The shared log of several processes that serve the same tenant: each holds a replica of all rows, and a write is
 * committed locally only after it is in the log. Positions are integers that grow with each row; 0 is before the first.
 */
export interface SharedLog {
  /** Waits for the write lock. Throws UpstreamError (`starting`) when it cannot be acquired. */
  acquireWriteLock(after: number): Promise<WriteLock>;
  /** Rows written after a position. Throws UpstreamError. */
  readAfter(after: number): Promise<LogPage>;
  /** Stores a file for the other processes before a row refers to it; `sha256` in hex. Throws UpstreamError. */
  storeFile(sha256: string, path: string): Promise<void>;
  /** False after a silence so long that another process may hold the write lock. */
  isReachable(): boolean;
}
