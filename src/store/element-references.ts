import { type FieldError, validationError } from "../lib/errors.ts";
import { tableName } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { ActorContext, StoreReader } from "./store.ts";

/** Members of a JSON list's elements that hold the id, or ids, of rows; a row keeps the ids in a many field beside. */
export type ElementReference<K extends string> = Readonly<Record<K, { resource: AnyResource; kept: string }>>;

type Element = Readonly<Record<string, unknown>>;

/** The ids that elements refer to, each once, by the many field that keeps them. */
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

/** Throws CallerError for what the elements of `field` refer to and `by` does not see, unless the row referred to it `before`. */
export function assertReferencesVisible<K extends string>(
  parts: readonly object[],
  references: ElementReference<K>,
  { field, before, reader, by }: { field: string; before: object | null; reader: StoreReader; by: ActorContext },
): void {
  const known = (before ?? {}) as Readonly<Record<string, readonly string[]>>;
  const faults: FieldError[] = [];
  for (const [member, { resource, kept }] of Object.entries<ElementReference<K>[K]>(references)) {
    const good = new Set(known[kept] ?? []);
    (parts as readonly Element[]).forEach((part, at) => {
      for (const id of toIds(part[member])) {
        if (good.has(id)) continue;
        if (reader.get(resource, id, by.scope)) good.add(id);
        else faults.push(referenceNotFound(`${field}[${at}].${member}`, id));
      }
    });
  }
  if (faults.length > 0) throw validationError(faults);
}

/** Ids and names of rows, by id, for what elements refer to; one query. */
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
  return { field, type: "invalid-value", message: `Field ${field} is not valid. There is none with the id ${id}.` };
}
