import { invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { camelCase } from "../../schema/decoder.ts";
import { isFullTextSearched } from "../../schema/field.ts";
import type { AnyResource } from "../../schema/resource.ts";
import { tokenizeSearchText } from "../../store/search-tokens.ts";
import type { FieldFilter, SearchQuery } from "../../store/store.ts";
import { type Query, textParameter } from "./query.ts";

/** Parses the value of one attribute as a filter; null for fields without filters. Throws invalid-value. */
export type FilterParser = (name: string, text: string) => FieldFilter | null;

/** Maximum length of a search. */
const MAX_CHARACTERS = 1_000;
/** Maximum number of words. */
const MAX_WORDS = 20;
/** Maximum number of clauses. */
const MAX_CLAUSES = 20;
/** Maximum nesting of and/or. */
const MAX_DEPTH = 4;

/**
 * Compiles the parser of `q`: words, `attribute:value`, or JSON `{"and":[…]}` / `{"or":[…]}` of these. Null without a
 * search. Throws invalid-value. Text before a colon that is not an attribute belongs to the words, as in `10:30`.
 * @source docs/decisions/0001-lists-and-paging.md
 */
export function compileSearchQuery(
  resource: AnyResource,
  readFilter: FilterParser,
): (query: Query) => SearchQuery | null {
  const searched = new Set(
    Object.entries(resource.fields).flatMap(([name, field]) => (isFullTextSearched(field) ? [name] : [])),
  );

  function leaf(text: string): SearchQuery {
    const colon = text.indexOf(":");
    const name = camelCase(text.slice(0, Math.max(0, colon)).trim());
    const value = text.slice(colon + 1).trim();
    if (searched.has(name)) return textSearch(value, name);
    const filter = name === "" || value === "" ? null : attribute(name, value);
    return filter ? { filter } : textSearch(text, null);
  }

  function attribute(name: string, value: string): FieldFilter | null {
    try {
      return readFilter(name, value);
    } catch {
      throw invalidValue("q", sentence("field.invalid-value-of-name", { name }));
    }
  }

  function tree(value: unknown, level: number, budget: { clauses: number }): SearchQuery {
    budget.clauses += 1;
    if (budget.clauses > MAX_CLAUSES)
      throw invalidValue(
        "q",
        sentence("field.must-have-at-most-limit-strings-and-groups-remove-some", { limit: MAX_CLAUSES }),
      );
    if (level > MAX_DEPTH)
      throw invalidValue("q", sentence("field.groups-must-be-nested-at-most-limit-deep", { limit: MAX_DEPTH - 1 }));
    if (typeof value === "string") return leaf(value);
    const [[kind, clauses] = ["", null], ...more] =
      typeof value === "object" && value !== null ? Object.entries(value) : [];
    if ((kind !== "and" && kind !== "or") || more.length > 0 || !Array.isArray(clauses) || clauses.length === 0) {
      throw invalidValue("q", sentence("field.must-be-and-or-or-of-strings"));
    }
    const searches = clauses.map((part) => tree(part, level + 1, budget));
    return kind === "and" ? { all: searches } : { any: searches };
  }

  return (query) => {
    const text = textParameter(query, "q")?.trim() ?? "";
    if (text === "") return null;
    if (text.length > MAX_CHARACTERS)
      throw invalidValue("q", sentence("field.must-have-at-most-limit-characters", { limit: MAX_CHARACTERS }));
    return text.startsWith("{") ? tree(jsonOf(text), 1, { clauses: 0 }) : leaf(text);
  };
}

function textSearch(text: string, field: string | null): SearchQuery {
  if (tokenizeSearchText(text).length > MAX_WORDS)
    throw invalidValue("q", sentence("field.must-have-at-most-limit-words", { limit: MAX_WORDS }));
  return { text, field };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidValue("q", sentence("field.must-be-json-if-it-begins-with"));
  }
}
