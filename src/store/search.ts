import { and, or, type SQL, sql } from "drizzle-orm";
import { BugError } from "../lib/errors.ts";
import { filterCondition, filterKey, filterValues } from "./filter-condition.ts";
import type { RowShape } from "./row-shape.ts";
import { isIndexed, searchedColumns, searchTable } from "./search-index.ts";
import { tokenizeSearchText } from "./search-tokens.ts";
import type { SearchQuery } from "./store.ts";
import type { TableLayout } from "./table-layout.ts";

/** A compiled search: `key` is its cache key, `values` fills its placeholders. */
export interface SearchCondition {
  key: string;
  values: Record<string, unknown>;
  where(shape: RowShape): SQL;
  /** A select of all matching keys if the full-text index alone answers the search; else null. */
  keys: SQL | null;
}

/** A part of a search whose leaves are all texts. */
interface TextSearch {
  key: string;
  /** FTS5 query; null: matches nothing. */
  match: string | null;
  /** The same for one row of the table with this alias, without the index. */
  holds(alias: string): SQL;
}

/**
 * Compiles a search over one resource; `scanned`: matches each row instead of using the full-text index. However many
 * words a search has, the index is asked once: texts joined by and/or become one query.
 */
export function searchCondition(search: SearchQuery, layout: TableLayout, scanned = false): SearchCondition {
  const values: Record<string, unknown> = {};
  const usesIndex = !scanned && isIndexed(layout);
  let parts = 0;
  const nextName = (): string => `q${parts++}`;

  function compile(part: SearchQuery): { key: string; where(shape: RowShape): SQL } {
    if (usesIndex && hasOnlyTexts(part)) {
      const { key, where } = indexed(part);
      return { key, where };
    }
    if ("all" in part) return joined("&", part.all.map(compile));
    if ("any" in part) return joined("|", part.any.map(compile));
    if ("filter" in part) {
      const { filter } = part;
      const name = nextName();
      Object.assign(values, filterValues(filter, name));
      return { key: filterKey(filter), where: (shape) => filterCondition(shape, filter, name) };
    }
    const { key, holds } = compileText(part);
    return { key, where: () => holds("t") };
  }

  function indexed(part: SearchQuery): { key: string; where(): SQL; keys: SQL | null } {
    const text = compileText(part);
    if (text.match === null) return { key: "-", where: () => sql`0`, keys: null };
    const name = nextName();
    values[name] = text.match;
    const keys = foundKeys(layout, name, text.holds("s"));
    return { key: `~${text.key}`, where: () => sql`t."pk" IN (${keys})`, keys };
  }

  function compileText(part: SearchQuery): TextSearch {
    if ("all" in part) return joinTexts("&", part.all.map(compileText));
    if ("any" in part) return joinTexts("|", part.any.map(compileText));
    if ("filter" in part) throw new BugError("a filter is no text");
    const words = tokenizeSearchText(part.text);
    const column = columnOf(part.field, layout);
    // A search text without letters and digits matches nothing.
    if (words.length === 0) return { key: "-", match: null, holds: () => sql`0` };
    const name = nextName();
    values[name] = JSON.stringify(words);
    return {
      key: column ?? "*",
      match: matchText(words, column),
      holds: (alias) => holdsWords(layout, name, column, alias),
    };
  }

  if (usesIndex && hasOnlyTexts(search)) return { values, ...indexed(search) };
  return { ...compile(search), values, keys: null };
}

/** True for a search without filters, which the full-text index can answer alone. */
export function hasOnlyTexts(part: SearchQuery): boolean {
  if ("all" in part) return part.all.every(hasOnlyTexts);
  if ("any" in part) return part.any.every(hasOnlyTexts);
  return "text" in part;
}

function joinTexts(sign: "&" | "|", parts: readonly TextSearch[]): TextSearch {
  const matches = parts.flatMap(({ match }) => match ?? []);
  const isEmpty = matches.length === 0 || (sign === "&" && matches.length < parts.length);
  return {
    key: `(${parts.map(({ key }) => key).join(sign)})`,
    match: isEmpty ? null : `(${matches.join(sign === "&" ? " AND " : " OR ")})`,
    holds(alias) {
      const conditions = parts.map(({ holds }) => holds(alias));
      return (sign === "&" ? and(...conditions) : or(...conditions)) ?? sql`0`;
    },
  };
}

function columnOf(field: string | null, layout: TableLayout): string | null {
  return field === null ? null : (layout.columnOf(field)?.name ?? null);
}

function joined(
  sign: "&" | "|",
  parts: readonly { key: string; where(shape: RowShape): SQL }[],
): { key: string; where(shape: RowShape): SQL } {
  return {
    key: `(${parts.map(({ key }) => key).join(sign)})`,
    where(shape) {
      const conditions = parts.map(({ where }) => where(shape));
      return (sign === "&" ? and(...conditions) : or(...conditions)) ?? sql`${sign === "&" ? 1 : 0}`;
    },
  };
}

/** The FTS5 query: every word must match, the last one as a prefix. */
function matchText(words: readonly string[], column: string | null): string {
  const quoted = words.map((word) => `"${word}"`).join(" AND ");
  return column === null ? `(${quoted} *)` : `("${column}" : (${quoted} *))`;
}

/** Keys of the rows that the index finds, plus the pending rows that match by themselves. */
function foundKeys(layout: TableLayout, name: string, held: SQL): SQL {
  const index = sql.raw(searchTable(layout));
  const pending = sql.raw(`SELECT pk FROM search_pending WHERE type = '${layout.table}'`);
  return sql`SELECT rowid FROM ${index} WHERE ${index} MATCH ${sql.placeholder(name)} AND rowid NOT IN (${pending})
    UNION ALL SELECT s.pk FROM ${sql.raw(layout.table)} s WHERE s.pk IN (${pending}) AND (${held})`;
}

function holdsWords(layout: TableLayout, name: string, column: string | null, alias: string): SQL {
  const columns = column === null ? searchedColumns(layout).map((each) => each.name) : [column];
  const texts = columns.map((each) => `${alias}."${each}"`).join(", ");
  return texts === "" ? sql`0` : sql`holds_words(${sql.placeholder(name)}, ${sql.raw(texts)})`;
}
