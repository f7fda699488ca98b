import { type Fault, faulty } from "../base/errors.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { By, Reader } from "./store.ts";

/** Members of a JSON list's elements that hold the id, or ids, of rows; a row keeps the ids in a many field beside. */
export type PartReference<K extends string> = Readonly<Record<K, { resource: AnyResource; kept: string }>>;

type Element = Readonly<Record<string, unknown>>;

/** The ids that elements refer to, each once, by the many field that keeps them. */
export function referencesOf<K extends string>(
  parts: readonly object[],
  references: PartReference<K>,
): Record<string, readonly string[]> {
  const kept = Object.entries<PartReference<K>[K]>(references).map(([member, { kept: field }]) => {
    const ids = (parts as readonly Element[]).flatMap((part) => idsOf(part[member]));
    return [field, [...new Set(ids)]] as const;
  });
  return Object.fromEntries(kept);
}

/** Throws CallerError for what the elements of `field` refer to and `by` does not see, unless the row referred to it `before`. */
export function requireReferences<K extends string>(
  parts: readonly object[],
  references: PartReference<K>,
  { field, before, reader, by }: { field: string; before: object | null; reader: Reader; by: By },
): void {
  const known = (before ?? {}) as Readonly<Record<string, readonly string[]>>;
  const faults: Fault[] = [];
  for (const [member, { resource, kept }] of Object.entries<PartReference<K>[K]>(references)) {
    const good = new Set(known[kept] ?? []);
    (parts as readonly Element[]).forEach((part, at) => {
      for (const id of idsOf(part[member])) {
        if (good.has(id)) continue;
        if (reader.get(resource, id, by.scope)) good.add(id);
        else faults.push(unseen(`${field}[${at}].${member}`, id));
      }
    });
  }
  if (faults.length > 0) throw faulty(faults);
}

/** Ids and names of rows, by id, for what elements refer to; one query. */
export function namedRows(
  reader: Reader,
  resource: AnyResource,
  ids: readonly string[],
): ReadonlyMap<string, { id: string; name: string }> {
  if (ids.length === 0) return new Map();
  const lines = reader.all<{ id: string; name: string }>(
    `SELECT id, name FROM ${tableOf(resource)} WHERE id IN (SELECT value FROM json_each(?))`,
    JSON.stringify([...new Set(ids)]),
  );
  return new Map(lines.map((line) => [line.id, line]));
}

function idsOf(value: unknown): readonly string[] {
  if (value === null || value === undefined) return [];
  return Array.isArray(value) ? (value as string[]) : [value as string];
}

function unseen(field: string, id: string): Fault {
  return { field, type: "invalid-value", message: `Field ${field} is not valid. There is none with the id ${id}.` };
}
