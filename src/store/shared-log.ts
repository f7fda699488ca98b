/** A row of any table as it lies in the database, in texts: its table, its key as JSON, its columns as JSON or null once it is gone. */
export interface RowImage {
  table: string;
  key: string;
  image: string | null;
}

/** Rows that were written after a position, in order, and the position behind them. */
export interface LogPage {
  rows: readonly RowImage[];
  at: number;
  /** There are more after them. */
  more: boolean;
}

/** The right to write, which nobody else has meanwhile. One of its two ends must be called. */
export interface WriteLock {
  /** What others wrote since; must be taken before anything is written. */
  readonly missedRows: readonly RowImage[];
  readonly at: number;
  /** There is more than `news`: it is to be released, and taken anew once that was taken page by page. */
  readonly more: boolean;
  /**
   * Makes rows the organisation's, all or none however many they are, and gives the position behind them. They are asked
   * for some at a time, so that many need not be held. Throws UpstreamError (`outcome-unknown` when the connection broke at
   * the very end, and nothing was kept otherwise) and what asking for them throws.
   */
  publish(rows: Iterable<RowImage>): Promise<number>;
  /** Ends it without having written. */
  release(): Promise<void>;
}

/**
 * Where several processes that serve the same organisation have its rows from: each keeps a copy of all of them, and
 * nothing is kept by one before it is here. Positions are whole numbers that grow with each row; 0 is before the first.
 */
export interface SharedLog {
  /** Waits for the right to write. Throws UpstreamError (`starting`) when it can't be had. */
  acquireWriteLock(after: number): Promise<WriteLock>;
  /** What was written after a position. Throws UpstreamError. */
  readAfter(after: number): Promise<LogPage>;
  /** A file that rows may name from now on is kept for the others too; `sha256` in hex. Throws UpstreamError. */
  storeFile(sha256: string, path: string): Promise<void>;
  /** False once nothing was heard of it for so long that another process may write by now. */
  isReachable(): boolean;
}
