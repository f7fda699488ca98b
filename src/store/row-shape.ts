import { eq, type SQL, sql } from "drizzle-orm";
import { decodeColumnValue, ignoresCase, type TableLayout } from "./table-layout.ts";
import type { Tables } from "./tables.ts";

/** A row as the store passes it around: field names to decoded values. */
export type AnyRow = Record<string, unknown> & {
  pk: number;
  id: string;
  createdAt: number;
  updatedAt: number;
  domainId: string | null;
  alsoIn: readonly string[] | null;
};

/** How rows of one resource are selected and decoded; built once at start. */
export interface RowShape {
  layout: TableLayout;
  /** The table under the alias `t`. */
  from: SQL;
  /** A column of the table, with the alias. */
  column(name: string): SQL;
  selection: Record<string, SQL>;
  /** Decodes the raw values of `selection`, in its order. */
  toRow(values: readonly unknown[]): AnyRow;
}

/** Compiles the selection and the decoder of a layout. */
export function createRowShape(layout: TableLayout, tables: Tables): RowShape {
  const from = sql`${sql.identifier(layout.table)} t`;
  const column = (name: string): SQL => sql.raw(`t."${name}"`);
  const selection: Record<string, SQL> = {
    pk: column("pk"),
    id: column("id"),
    createdAt: column("created_at"),
    updatedAt: column("updated_at"),
  };
  const names = ["pk", "id", "createdAt", "updatedAt"];
  const decoders: ((value: unknown) => unknown)[] = names.map(() => (value) => value);
  const inDomain = tables.domainColumn(layout) !== null;
  if (inDomain) {
    selection.domainId = sql`(SELECT d.id FROM domains d WHERE d.pk = ${column("domain_pk")})`;
    selection.alsoIn = column("also_in");
    names.push("domainId", "alsoIn");
    decoders.push(
      (value) => value,
      (value) => (value === null ? null : JSON.parse(value as string)),
    );
  }
  for (const stored of layout.columns) {
    selection[stored.field] = stored.target
      ? sql`(SELECT r.id FROM ${sql.raw(stored.target)} r WHERE r.pk = ${column(stored.name)})`
      : column(stored.name);
    names.push(stored.field);
    decoders.push((value) => decodeColumnValue(stored.spec, value));
  }
  for (const link of layout.links) {
    selection[link.field] =
      sql`(SELECT json_group_array(x.id) FROM (SELECT r.id FROM ${sql.raw(link.table)} l JOIN ${sql.raw(
        link.target,
      )} r ON r.pk = l.target WHERE l.owner = ${column("pk")} ORDER BY l.position) x)`;
    names.push(link.field);
    decoders.push((value) => (value === "[]" ? [] : JSON.parse(value as string)));
  }
  return {
    layout,
    from,
    column,
    selection,
    toRow(values) {
      const row: Record<string, unknown> = {};
      for (let at = 0; at < names.length; at++) row[names[at] as string] = decoders[at]?.(values[at]);
      for (const { field, empty } of layout.absent) row[field] = empty;
      if (!inDomain) {
        row.domainId ??= null;
        row.alsoIn = null;
      }
      return row as AnyRow;
    },
  };
}

/** The condition that a field equals a placeholder's value; references compare by the target's id. */
export function fieldEquals(shape: RowShape, field: string, placeholder: string): SQL {
  if (field === "id" || field === "pk") return eq(shape.column(field), sql.placeholder(placeholder));
  if (field === "createdAt") return eq(shape.column("created_at"), sql.placeholder(placeholder));
  if (field === "updatedAt") return eq(shape.column("updated_at"), sql.placeholder(placeholder));
  if (field === "domainId" && "domainId" in shape.selection && !shape.layout.columnOf(field)) {
    const id = sql.placeholder(placeholder);
    const also = shape.column("also_in");
    return sql`(${shape.column("domain_pk")} = (SELECT d.pk FROM domains d WHERE d.id = ${id})
      OR (${also} IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(${also}) j WHERE j.value = ${id})))`;
  }
  const column = shape.layout.columnOf(field);
  if (!column) {
    const link = shape.layout.links.find((candidate) => candidate.field === field);
    if (!link) return sql`0`;
    return sql`${shape.column("pk")} IN (SELECT l.owner FROM ${sql.raw(link.table)} l JOIN ${sql.raw(link.target)} r ON r.pk = l.target WHERE r.id = ${sql.placeholder(placeholder)})`;
  }
  if (column.target) {
    return sql`${shape.column(column.name)} = (SELECT r.pk FROM ${sql.raw(column.target)} r WHERE r.id = ${sql.placeholder(placeholder)})`;
  }
  const exact = sql`${shape.column(column.name)} = ${sql.placeholder(placeholder)}`;
  // Text indexes ignore case: the first condition uses the index, the second decides.
  return ignoresCase(column.spec)
    ? sql`(${shape.column(column.name)} COLLATE NOCASE = ${sql.placeholder(placeholder)} AND ${exact})`
    : exact;
}
