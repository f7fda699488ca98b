import type { ReactNode } from "react";

/**
 * A column; `width` is a CSS grid track. On a phone the first column is the title and the one at the `side` is next
 * to it.
 */
export interface Column<T> {
  id: string;
  head: string;
  width: string;
  /** Its head sorts by this field. */
  sort?: string;
  side?: boolean;
  /** On a phone, where there are no heads, its head stands before what would say nothing alone. */
  named?: boolean;
  /** A sentence: it stands in two lines where one is too short, on a phone below all else. */
  wraps?: boolean;
  cell(row: T): ReactNode;
}
