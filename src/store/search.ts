import { and, or, type SQL, sql } from "drizzle-orm/sql";
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

/** Compiles a search over one resource; `scanned`: matches each row instead of using the full-text index. */
export function searchCondition(search: SearchQuery, layout: TableLayout, scanned = false): SearchCondition {
  const values: Record<string, unknown> = {};
  let parts = 0;

  function compile(part: SearchQuery): { key: string; where(shape: RowShape): SQL } {
    if ("all" in part) return joined("&", part.all.map(compile));
    if ("any" in part) return joined("|", part.any.map(compile));
    const name = `q${parts++}`;
    if ("filter" in part) {
      const { filter } = part;
      Object.assign(values, filterValues(filter, name));
      return { key: filterKey(filter), where: (shape) => filterCondition(shape, filter, name) };
    }
    const words = tokenizeSearchText(part.text);
    const column = columnOf(part.field, layout);
    // A search text without letters and digits matches nothing.
    if (words.length === 0) return { key: "-", where: () => sql`0` };
    values[name] = JSON.stringify(words);
    values[`${name}m`] = matchText(words, column);
    return { key: `~${column ?? ""}`, where: () => wordsCondition(layout, name, column, scanned) };
  }

  const { key, where } = compile(search);
  const indexed = "text" in search && values.q0 !== undefined && isIndexed(layout);
  return { key, values, where, keys: indexed ? foundKeys(layout, "q0", columnOf(search.field, layout)) : null };
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
  return `${column === null ? "" : `"${column}" : `}(${quoted} *)`;
}

function wordsCondition(layout: TableLayout, name: string, column: string | null, scanned: boolean): SQL {
  if (scanned || !isIndexed(layout)) return holdsWords(layout, name, column, "t");
  return sql`t."pk" IN (${foundKeys(layout, name, column)})`;
}

/** Keys of the rows that the index finds, plus the pending rows that contain the words. */
function foundKeys(layout: TableLayout, name: string, column: string | null): SQL {
  const index = sql.raw(searchTable(layout));
  const pending = sql.raw(`SELECT pk FROM search_pending WHERE type = '${layout.table}'`);
  const held = holdsWords(layout, name, column, "s");
  return sql`SELECT rowid FROM ${index} WHERE ${index} MATCH ${sql.placeholder(`${name}m`)} AND rowid NOT IN (${pending})
    UNION ALL SELECT s.pk FROM ${sql.raw(layout.table)} s WHERE s.pk IN (${pending}) AND ${held}`;
}

function holdsWords(layout: TableLayout, name: string, column: string | null, alias: string): SQL {
  const columns = column === null ? searchedColumns(layout).map((each) => each.name) : [column];
  const texts = columns.map((each) => `${alias}."${each}"`).join(", ");
  return texts === "" ? sql`0` : sql`holds_words(${sql.placeholder(name)}, ${sql.raw(texts)})`;
}
