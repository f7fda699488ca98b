import { not, type SQL, sql } from "drizzle-orm";
import { fieldIsNull } from "./prepared-selects.ts";
import { fieldEquals, type RowShape } from "./row-shape.ts";
import type { FieldFilter, SqlValue } from "./store.ts";

const SQL_OPERATORS = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/** Cache key of a filter: filters with equal keys differ only in their bound values. */
export function filterKey({ field, op, value }: FieldFilter): string {
  if (op === "in") {
    const values = value as readonly unknown[];
    return `${field} in ${values.length} ${values.indexOf(null)}`;
  }
  return `${field} ${op}${value === null || op === "set" ? String(value) : ""}`;
}

/** Values of the placeholders in a filter's condition; their names start with `name`. */
export function filterValues({ value }: FieldFilter, name: string): Record<string, SqlValue> {
  const values = Array.isArray(value) ? value : [value as Exclude<FieldFilter["value"], readonly unknown[]>];
  const bound = values.map((each) => (typeof each === "boolean" ? Number(each) : each));
  return Object.fromEntries(bound.map((each, at) => [`${name}_${at}`, each]));
}

/** Compiles a filter to an SQL condition over the placeholders of `filterValues`. */
export function filterCondition(shape: RowShape, { field, op, value }: FieldFilter, name: string): SQL {
  if (op === "set") return value === true ? not(fieldIsNull(shape, field)) : fieldIsNull(shape, field);
  if (op === "eq") return value === null ? fieldIsNull(shape, field) : fieldEquals(shape, field, `${name}_0`);
  if (op === "in") {
    const each = (value as readonly unknown[]).map((one, at) =>
      one === null ? fieldIsNull(shape, field) : fieldEquals(shape, field, `${name}_${at}`),
    );
    return sql`(${sql.join(each, sql` OR `)})`;
  }
  const column =
    field === "createdAt" ? "created_at" : field === "updatedAt" ? "updated_at" : shape.layout.columnOf(field)?.name;
  return column ? sql`${shape.column(column)} ${sql.raw(SQL_OPERATORS[op])} ${sql.placeholder(`${name}_0`)}` : sql`0`;
}
