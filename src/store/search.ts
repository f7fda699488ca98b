import { and, or, type SQL, sql } from "drizzle-orm/sql";
import { filterCondition } from "./filter.ts";
import type { Layout } from "./layout.ts";
import type { RowShape } from "./rows.ts";
import { isIndexed, searchedColumns, searchTable } from "./search-index.ts";
import type { Search } from "./store.ts";
import { wordsOf } from "./words.ts";

/** A search as a condition: `key` names its form, `values` fills its placeholders. */
export interface SearchCondition {
  key: string;
  values: Record<string, unknown>;
  where(shape: RowShape): SQL;
}

/** Compiles what is searched for over a layout. */
export function searchCondition(search: Search, layout: Layout): SearchCondition {
  const values: Record<string, unknown> = {};
  let parts = 0;

  function compile(part: Search): { key: string; where(shape: RowShape): SQL } {
    if ("all" in part) return joined("&", part.all.map(compile));
    if ("any" in part) return joined("|", part.any.map(compile));
    const name = `q${parts++}`;
    if ("filter" in part) {
      const { filter } = part;
      values[name] = typeof filter.value === "boolean" ? Number(filter.value) : filter.value;
      return {
        key: `${filter.field}${filter.op}${filter.value === null ? "?" : ""}`,
        where: (shape) => filterCondition(shape, filter, name),
      };
    }
    const words = wordsOf(part.text);
    const field = part.field === null ? null : (layout.columnOf(part.field) ?? null);
    // own choice: what holds no letter and no digit is found nowhere.
    if (words.length === 0) return { key: "-", where: () => sql`0` };
    values[name] = JSON.stringify(words);
    values[`${name}m`] = matchText(words, field?.name ?? null);
    return { key: `~${field?.name ?? ""}`, where: () => wordsCondition(layout, name, field?.name ?? null) };
  }

  const { key, where } = compile(search);
  return { key, values, where };
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

/** The full-text query: every word must be there, the last one as a beginning. */
function matchText(words: readonly string[], column: string | null): string {
  const quoted = words.map((word) => `"${word}"`).join(" AND ");
  return `${column === null ? "" : `"${column}" : `}(${quoted} *)`;
}

function wordsCondition(layout: Layout, name: string, column: string | null): SQL {
  const texts = column === null ? searchedColumns(layout).map((each) => each.name) : [column];
  const held = (alias: string): SQL =>
    texts.length === 0
      ? sql`0`
      : sql`holds_words(${sql.placeholder(name)}, ${sql.raw(texts.map((text) => `${alias}."${text}"`).join(", "))})`;
  if (!isIndexed(layout)) return held("t");
  const index = sql.raw(searchTable(layout));
  const pending = sql.raw(`search_pending WHERE type = '${layout.table}'`);
  return sql`t."pk" IN (
    SELECT rowid FROM ${index} WHERE ${index} MATCH ${sql.placeholder(`${name}m`)} AND rowid NOT IN (SELECT pk FROM ${pending})
    UNION ALL SELECT s.pk FROM ${sql.raw(layout.table)} s WHERE s.pk IN (SELECT pk FROM ${pending}) AND ${held("s")})`;
}
