import type { Clock } from "../../lib/clock.ts";
import { invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { integer, timestamp } from "../../schema/field.ts";
import { parseQueryTimestamp } from "../../schema/timestamp.ts";
import type { FieldFilter } from "../../store/store.ts";
import { idListParameter, type Query, textParameter } from "../query/query.ts";

/** Period of the creation time. @source docs/decisions/0042-api-contract.md, `/v1/reports/{reportId}` */
export const PERIOD_QUERY = {
  beginTimestamp: timestamp("Start of the period, inclusive."),
  endTimestamp: timestamp("End of the period, exclusive."),
  sentLastDays: integer("Only the last number of days.", { min: 1, max: 9_999, unit: "d" }),
};

/** Filters of a period including `sentLastDays`. Throws invalid-value. */
export function periodFilters(query: Query, clock: Clock): FieldFilter[] {
  const since = daysAgo(query, "sentLastDays", clock);
  const last: FieldFilter[] = since === null ? [] : [{ field: "createdAt", op: "gte", value: since }];
  return [...last, ...boundsOf(query)];
}

/** Epoch ms of a number of days ago; null if the parameter is absent. Throws invalid-value. */
export function daysAgo(query: Query, name: string, clock: Clock): number | null {
  const text = textParameter(query, name);
  if (!text) return null;
  if (!/^\d{1,4}$/.test(text) || text === "0")
    throw invalidValue(name, sentence("field.must-be-between-1-and-9999-days"));
  return clock.now() - Number(text) * 86_400_000;
}

function boundsOf(query: Query): FieldFilter[] {
  const bounds = { beginTimestamp: "gte", endTimestamp: "lt" } as const;
  return Object.entries(bounds).flatMap(([name, op]) => {
    const text = textParameter(query, name);
    if (!text) return [];
    const at = parseQueryTimestamp(text);
    if (at === null) throw invalidValue(name, sentence("field.must-be-a-timestamp-such-as-2026-03-01t08-00"));
    return [{ field: "createdAt", op, value: at }];
  });
}

/** Ids given under a name or its plural, in lower case; null if absent. Throws invalid-value. */
export function idsParameter(query: Query, name: string): string[] | null {
  const ids = idListParameter(query, name) ?? idListParameter(query, `${name}s`);
  return ids && ids.length > 0 ? ids.map((id) => id.toLowerCase()) : null;
}

/** A boolean parameter; null if absent. */
export function flagParameter(query: Query, name: string): boolean | null {
  const value = query[name];
  return value === undefined ? null : value === true || value === "true";
}
