import { invalidValue } from "../../base/errors.ts";
import { timestamp } from "../../schema/field.ts";
import type { Filter } from "../../store/store.ts";
import { idTexts, type Query, singleText } from "../query.ts";

/** From when to when rows were made. @source digest `/v1/reports/{reportId}` */
export const PERIOD = {
  beginTimestamp: timestamp("First moment; included."),
  endTimestamp: timestamp("Moment at which it ends; not included."),
};

/** The conditions of a period. Throws invalid-value. */
export function periodFilters(query: Query): Filter[] {
  const bounds = { beginTimestamp: "gte", endTimestamp: "lt" } as const;
  return Object.entries(bounds).flatMap(([name, op]) => {
    const text = singleText(query, name);
    if (!text) return [];
    const at = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? Date.parse(text) : Number.NaN;
    if (!Number.isFinite(at)) throw invalidValue(name, "A time such as 2026-03-01T08:00:00Z is expected.");
    return [{ field: "createdAt", op, value: at }];
  });
}

/** Ids given under a name or its plural, in lower case; null for none. Throws invalid-value. */
export function idsGiven(query: Query, name: string): string[] | null {
  const ids = idTexts(query, name) ?? idTexts(query, `${name}s`);
  return ids && ids.length > 0 ? ids.map((id) => id.toLowerCase()) : null;
}

/** True and false as given; null when absent. */
export function flagGiven(query: Query, name: string): boolean | null {
  const value = query[name];
  return value === undefined ? null : value === true || value === "true";
}
