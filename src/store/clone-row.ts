import { BugError, notFound } from "../lib/errors.ts";
import { type Catalogue, tableName } from "../schema/catalogue.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";
import { UploadedFile } from "../schema/uploaded-file.ts";
import type { AnyRow } from "./row-shape.ts";
import type { ActorContext, StoreReader, Transaction } from "./store.ts";

/** The open transaction and the declarations that name the children to copy. */
export interface CloneDeps {
  tx: Transaction;
  catalogue: Catalogue;
}

/** Maximum number of children of one kind that are copied; above every declared limit. */
const MAX_CHILDREN = 100_000;
/** Characters reserved for ` (Copy 1234567)` at the end of a name. */
const SUFFIX_LENGTH = 15;

/**
 * Copies a row that `by` sees, with the children that its declaration's `clone` names, through the checks of every
 * creation. Read-only and internal fields start fresh; files are shared by content. The copy belongs to those domains
 * of the source that the caller may write to, else to the acting domain. The hook `prepare` does not run: the source
 * row has passed it already. Throws not-found and everything that `create` throws. @source
 * docs/decisions/0001-lists-and-paging.md, Clone
 */
export function cloneRow(deps: CloneDeps, resource: AnyResource, id: string, by: ActorContext): AnyRow {
  if (!resource.clone) throw new BugError(`resource ${resource.name} is not declared to be cloned`);
  const source = deps.tx.get(resource, id, by.scope) as AnyRow | null;
  if (!source) throw notFound();
  const name = typeof source.name === "string" ? { name: findCopyName(deps.tx, resource, source.name) } : {};
  return cloneTree(deps, resource, source, name, {}, by);
}

function cloneTree(
  deps: CloneDeps,
  resource: AnyResource,
  source: AnyRow,
  name: { name?: string },
  parent: object,
  by: ActorContext,
): AnyRow {
  const { input, system } = cloneableContent(resource, source);
  const systemFields = { ...system, ...domainsOf(source, by), ...parent } as never;
  const copy = deps.tx.create(resource, { ...input, ...name }, by, systemFields) as unknown as AnyRow;
  for (const name of resource.clone?.children ?? []) {
    const child = deps.catalogue.byName(name);
    const parentField = parentFieldOf(child, resource);
    const rows = deps.tx.find(child, { [parentField]: source.id } as never, MAX_CHILDREN) as unknown as AnyRow[];
    for (const row of rows) cloneTree(deps, child, row, {}, { [parentField]: copy.id }, by);
  }
  return copy;
}

/** The copied content: writable fields as API input, and sealed values that bypass the checks. */
function cloneableContent(resource: AnyResource, row: AnyRow): { input: object; system: object } {
  const input: Record<string, unknown> = {};
  const system: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(resource.fields)) {
    const value = row[name];
    const isSystemField = field.readOnly || field.kind === "internal" || field.kind === "computed";
    if (isSystemField || value === null || value === undefined || resource.clone?.omit?.includes(name)) continue;
    // Sealed text is longer than the clear text, so it could fail the length check.
    if (field.kind === "secret") system[name] = value;
    else input[name] = toInput(field, value);
  }
  return { input, system };
}

function domainsOf({ domainId, alsoIn }: AnyRow, { scope }: ActorContext): object {
  const [home, ...others] = [domainId, ...(alsoIn ?? [])].filter((id) => id !== null && scope.canAssign(id));
  return home === undefined ? {} : { domainId: home, alsoIn: others.length > 0 ? others : null };
}

/** A stored value in the form of API input; read-only members of objects are left out. */
function toInput(field: Field, value: unknown): unknown {
  if (value === null) return null;
  if (field.kind === "timestamp") return new Date(value as number).toISOString();
  if (field.kind === "file") return new UploadedFile(value as UploadedFile["file"]);
  if (field.kind === "list") return (value as unknown[]).map((item) => toInput(field.item, item));
  if (field.kind !== "object") return value;
  const members = Object.entries(value as object).flatMap(([name, member]) => {
    const spec = field.fields[name];
    return spec && !spec.readOnly ? [[name, toInput(spec, member)]] : [];
  });
  return Object.fromEntries(members);
}

function parentFieldOf(child: AnyResource, parent: AnyResource): string {
  const field = Object.entries(child.fields).find(([, spec]) => spec.kind === "ref" && spec.to === parent.name);
  if (!field) throw new BugError(`resource ${child.name} does not refer to ${parent.name}`);
  return field[0];
}

/**
 * The first free name of `name (Copy)`, `name (Copy 2)` and so on, compared without case over the whole table. A name
 * that is too long is shortened at its end.
 */
function findCopyName(reader: StoreReader, resource: AnyResource, name: string): string {
  const spec = resource.fields.name;
  const maxLength = spec?.kind === "text" ? spec.max : Number.POSITIVE_INFINITY;
  const characters = [...name];
  const stem = characters.slice(0, Math.max(0, maxLength - SUFFIX_LENGTH)).join("");
  const similar = reader.all<{ name: string }>(
    `SELECT name FROM ${tableName(resource)} WHERE name LIKE ? ESCAPE '\\'`,
    `${stem.replace(/[\\%_]/g, "\\$&")}%`,
  );
  const taken = new Set(similar.map((row) => row.name.toLowerCase()));
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? " (Copy)" : ` (Copy ${number})`;
    const candidate = `${characters.slice(0, maxLength - suffix.length).join("")}${suffix}`;
    if (!taken.has(candidate.toLowerCase())) return candidate;
  }
}
