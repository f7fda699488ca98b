import { type FieldError, validationError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { AnyRow } from "./row-shape.ts";
import type { RowStatements } from "./row-statements.ts";
import type { ActorContext, SqlValue, StoreReader } from "./store.ts";
import { encodeColumnValue, type TableLayout } from "./table-layout.ts";
import type { Tables } from "./tables.ts";
import { buildVisibilitySql } from "./visibility-sql.ts";
import { invalidFieldError, referenceNotFoundError, throwFieldErrors } from "./write-errors.ts";

/** Whose visibility decides about a reference; null: the reference is not checked for visibility. */
export type ReferenceViewer = (field: string, id: string) => ActorContext | null;

/** Converts rows to column values. */
export interface RowValues {
  /**
   * Values by column name, with references resolved to internal keys: all of a new row, else those that differ from
   * `before`. Throws CallerError when a referenced row is not found.
   */
  columns(layout: TableLayout, row: AnyRow, viewer: ReferenceViewer, before: AnyRow | null): Record<string, SqlValue>;
  /** Writes the lists of references that differ from `before`. Throws CallerError as `columns` does. */
  writeLinks(
    layout: TableLayout,
    links: RowStatements["links"],
    row: { after: AnyRow; before: AnyRow | null },
    viewer: ReferenceViewer,
  ): void;
}

/** References set by the system, and those that the row held before, need not be visible to the caller. */
export function referenceViewerFor(by: ActorContext, system: object, before: AnyRow | null): ReferenceViewer {
  return (field, id) => {
    const held = before?.[field];
    const isUnchanged = Array.isArray(held) ? held.includes(id) : held === id;
    return isUnchanged || field in system ? null : by;
  };
}

/** Creates the converter. */
export function createRowValues(tables: Tables, reader: Pick<StoreReader, "one">): RowValues {
  function columns(
    layout: TableLayout,
    row: AnyRow,
    viewer: ReferenceViewer,
    before: AnyRow | null,
  ): Record<string, SqlValue> {
    const values: Record<string, SqlValue> = {};
    const differs = (field: string): boolean => before === null || !isSameValue(row[field], before[field]);
    const errors: FieldError[] = [];
    if (differs("id")) values.id = row.id;
    if (differs("createdAt")) values.created_at = row.createdAt;
    if (differs("updatedAt")) values.updated_at = row.updatedAt;
    if (tables.domainColumn(layout)) {
      if (differs("domainId")) {
        const home = row.domainId === null ? null : keyOf("domains", row.domainId, null);
        if (home === null && row.domainId !== null) errors.push(referenceNotFoundError("domainId", row.domainId));
        values.domain_pk = home;
      }
      if (differs("alsoIn")) values.also_in = row.alsoIn === null ? null : JSON.stringify(row.alsoIn);
    }
    for (const { field, spec, name, target } of layout.columns) {
      if (!differs(field)) continue;
      const value = row[field] ?? null;
      if (!target || spec.kind !== "ref") values[name] = encodeColumnValue(spec, value);
      else {
        const key = value === null ? null : keyOf(spec.to, value as string, viewer(field, value as string));
        if (key === null && value !== null) errors.push(referenceNotFoundError(field, value as string));
        values[name] = key;
      }
    }
    throwFieldErrors([...errors, ...layout.absent.flatMap(({ field }) => errorsOfAbsent(field, row[field]))]);
    return values;
  }

  /** Internal key of a row that `by` may see, or of a domain that `by` may refer to; null if not found. */
  function keyOf(name: string, id: string, by: ActorContext | null): number | null {
    const resource = tables.catalogue.byName(name);
    const visibility = resource.domainField === "id" ? by?.scope.domainVisibility : by?.scope;
    const visible = buildVisibilitySql(visibility?.visible(resource) ?? "all");
    const found = reader.one<{ pk: number }>(
      `SELECT t.pk FROM ${tables.layout(resource).table} t WHERE t.id = ? AND ${visible.sql}`,
      id,
      ...visible.params,
    );
    return found?.pk ?? null;
  }

  function writeLinks(
    layout: TableLayout,
    links: RowStatements["links"],
    { after, before }: { after: AnyRow; before: AnyRow | null },
    viewer: ReferenceViewer,
  ): void {
    for (const link of links) {
      const spec = layout.resource.fields[link.field];
      const ids = after[link.field] as string[] | undefined;
      if (!ids || spec?.kind !== "many" || (before && isSameValue(before[link.field], ids))) continue;
      if (before) link.clear.run(after.pk);
      ids.forEach((id, position) => {
        const target = keyOf(spec.to, id, viewer(link.field, id));
        if (target === null) throw validationError([referenceNotFoundError(link.field, id)]);
        link.add.run(after.pk, position, target);
      });
    }
  }

  return { columns, writeLinks };
}

/** Compares two field values; lists and objects by their JSON. */
export function isSameValue(a: unknown, b: unknown): boolean {
  const [one, other] = [a ?? null, b ?? null];
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) && Array.isArray(other) && one.length === 0 && other.length === 0) return true;
  return JSON.stringify(one) === JSON.stringify(other);
}

/** References to resources that are not declared must be empty. */
function errorsOfAbsent(field: string, value: unknown): FieldError[] {
  const isNothing = value === null || value === undefined || (Array.isArray(value) && value.length === 0);
  return isNothing
    ? []
    : [invalidFieldError(field, sentence("field.must-be-empty-references-to-this-kind-of-resource-are-not-supported"))];
}
