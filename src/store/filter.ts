import { type SQL, sql } from "drizzle-orm/sql";
import { equals, type RowShape } from "./rows.ts";
import { isNull } from "./selects.ts";
import type { Filter } from "./store.ts";

const SIGNS = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/** A filter as a condition; its value is bound to the placeholder `name`. */
export function filterCondition(shape: RowShape, { field, op, value }: Filter, name: string): SQL {
  if (op === "eq") return value === null ? isNull(shape, field) : equals(shape, field, name);
  const column =
    field === "createdAt" ? "created_at" : field === "updatedAt" ? "updated_at" : shape.layout.columnOf(field)?.name;
  return column ? sql`${shape.column(column)} ${sql.raw(SIGNS[op])} ${sql.placeholder(name)}` : sql`0`;
}
