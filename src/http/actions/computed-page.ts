import { invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { boolean, integer, text } from "../../schema/field.ts";
import { limitOf, MAX_PAGE_ROWS } from "../query/list-query.ts";
import { type Query, textParameter } from "../query/query.ts";

/** Paging parameters of a list that is computed as a whole. @source docs/decisions/0001-lists-and-paging.md */
export const COMPUTED_PAGE_QUERY = {
  limit: integer("Maximum number of rows per page; all of them by default.", { min: 1, max: MAX_PAGE_ROWS }),
  start: text("`next` or `previous` of an earlier page, or `end` for the last one."),
};

/** Members of such a page beside `data`. */
export const COMPUTED_PAGE_MEMBERS = {
  total: integer("Total number.", { required: true }),
  partial: boolean("False only if this response holds every row.", { required: true }),
  previous: text("`start` of the previous page; null on the first one."),
  next: text("`start` of the next page; null on the last one."),
};

/** A page of a computed list. */
export interface ComputedPage<T> {
  total: number;
  partial: boolean;
  previous: string | null;
  next: string | null;
  data: T[];
}

/** The requested page of `rows`; positions count from the beginning. Throws invalid-value. */
export function computedPage<T>(rows: readonly T[], query: Query): ComputedPage<T> {
  const limit = limitOf(query) ?? Math.max(rows.length, 1);
  const start = textParameter(query, "start");
  const first = Math.min(start === "end" ? lastPageStart(rows.length, limit) : positionIn(start), rows.length);
  const data = rows.slice(first, first + limit);
  const next = first + data.length;
  return {
    total: rows.length,
    partial: data.length < rows.length,
    previous: first > 0 ? tokenOf(Math.max(0, first - limit)) : null,
    next: next < rows.length ? tokenOf(next) : null,
    data,
  };
}

function lastPageStart(count: number, limit: number): number {
  return Math.max(0, count - limit);
}

function tokenOf(position: number): string {
  return Buffer.from(`position ${position}`).toString("base64url");
}

function positionIn(token: string | null): number {
  if (token === null || token === "") return 0;
  const [, position] = /^position (\d{1,9})$/.exec(Buffer.from(token, "base64url").toString("utf8")) ?? [];
  if (position === undefined) throw invalidValue("start", sentence("field.must-be-next-or-previous-of-a-page-of-this"));
  return Number(position);
}
