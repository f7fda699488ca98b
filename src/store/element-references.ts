import { type FieldError, validationError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { tableName } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { ActorContext, StoreReader } from "./store.ts";

/**
 * Members of JSON list elements that hold ids of rows; `kept` names the many field that stores these ids for the whole
 * row.
 */
export type ElementReference<K extends string> = Readonly<Record<K, { resource: AnyResource; kept: string }>>;

type Element = Readonly<Record<string, unknown>>;

/** The distinct ids that elements refer to, by the many field that stores them. */
export function collectReferences<K extends string>(
  parts: readonly object[],
  references: ElementReference<K>,
): Record<string, readonly string[]> {
  const kept = Object.entries<ElementReference<K>[K]>(references).map(([member, { kept: field }]) => {
    const ids = (parts as readonly Element[]).flatMap((part) => toIds(part[member]));
    return [field, [...new Set(ids)]] as const;
  });
  return Object.fromEntries(kept);
}

/**
 * Throws CallerError when elements of `field` refer to rows that `by` does not see, unless the row referred to them
 * `before`.
 */
export function assertReferencesVisible<K extends string>(
  parts: readonly object[],
  references: ElementReference<K>,
  { field, before, reader, by }: { field: string; before: object | null; reader: StoreReader; by: ActorContext },
): void {
  const known = (before ?? {}) as Readonly<Record<string, readonly string[]>>;
  const errors: FieldError[] = [];
  for (const [member, { resource, kept }] of Object.entries<ElementReference<K>[K]>(references)) {
    const visible = new Set(known[kept] ?? []);
    (parts as readonly Element[]).forEach((part, at) => {
      for (const id of toIds(part[member])) {
        if (visible.has(id)) continue;
        if (reader.get(resource, id, by.scope)) visible.add(id);
        else errors.push(referenceNotFound(`${field}[${at}].${member}`, id));
      }
    });
  }
  if (errors.length > 0) throw validationError(errors);
}

/** Ids and names of rows, by id; one query. */
export function readNamedRows(
  reader: StoreReader,
  resource: AnyResource,
  ids: readonly string[],
): ReadonlyMap<string, { id: string; name: string }> {
  if (ids.length === 0) return new Map();
  const lines = reader.all<{ id: string; name: string }>(
    `SELECT id, name FROM ${tableName(resource)} WHERE id IN (SELECT value FROM json_each(?))`,
    JSON.stringify([...new Set(ids)]),
  );
  return new Map(lines.map((line) => [line.id, line]));
}

function toIds(value: unknown): readonly string[] {
  if (value === null || value === undefined) return [];
  return Array.isArray(value) ? (value as string[]) : [value as string];
}

function referenceNotFound(field: string, id: string): FieldError {
  return {
    field,
    type: "invalid-value",
    message: `Field ${field} is not valid. ${sentence("field.no-resource-with-the-id-id-was-found", { id })}`,
  };
}
