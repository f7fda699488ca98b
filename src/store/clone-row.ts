import { BugError, notFound } from "../lib/errors.ts";
import { type Catalogue, tableName } from "../schema/catalogue.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";
import { UploadedFile } from "../schema/uploaded-file.ts";
import type { AnyRow } from "./row-shape.ts";
import type { ActorContext, StoreReader, Transaction } from "./store.ts";

/** The open transaction and the declarations that say what a copy takes along. */
export interface CloneDeps {
  tx: Transaction;
  catalogue: Catalogue;
}

/** Most children of one kind that a copy takes along. own choice: more than any limit of a documented family allows. */
const MAX_CHILDREN = 100_000;
/** Room that ` (Copy 1234567)` may take at the end of a name. */
const SUFFIX_LENGTH = 15;

/**
 * Copies a row that `by` sees, with the children that its declaration's `clone` names, through the checks of every
 * creation. Fields that Carillon keeps (read-only, internal) begin anew; files are shared by content; of its domains the
 * copy is in those that the caller may write to, else in the acting one. `prepare` is not asked again: what a row holds has passed it. Throws not-found, and all that `create` throws.
 * @source decisions.md 1, clone
 */
export function cloneRow(needs: CloneDeps, resource: AnyResource, id: string, by: ActorContext): AnyRow {
  if (!resource.clone) throw new BugError(`resource ${resource.name} is not declared to be cloned`);
  const source = needs.tx.get(resource, id, by.scope) as AnyRow | null;
  if (!source) throw notFound();
  const name = typeof source.name === "string" ? { name: findCopyName(needs.tx, resource, source.name) } : {};
  return cloneTree(needs, resource, source, name, {}, by);
}

function cloneTree(
  needs: CloneDeps,
  resource: AnyResource,
  source: AnyRow,
  name: { name?: string },
  parent: object,
  by: ActorContext,
): AnyRow {
  const { input, system } = cloneableContent(resource, source);
  const own = { ...system, ...domainsOf(source, by), ...parent } as never;
  const made = needs.tx.create(resource, { ...input, ...name }, by, own) as unknown as AnyRow;
  for (const name of resource.clone?.children ?? []) {
    const child = needs.catalogue.byName(name);
    const parentField = parentFieldOf(child, resource);
    const rows = needs.tx.find(child, { [parentField]: source.id } as never, MAX_CHILDREN) as unknown as AnyRow[];
    for (const row of rows) cloneTree(needs, child, row, {}, { [parentField]: made.id }, by);
  }
  return made;
}

/** What the copy takes over: writable fields as API input, and what is set past the checks. */
function cloneableContent(resource: AnyResource, row: AnyRow): { input: object; system: object } {
  const input: Record<string, unknown> = {};
  const system: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(resource.fields)) {
    const value = row[name];
    const kept = field.readOnly || field.kind === "internal" || field.kind === "computed";
    if (kept || value === null || value === undefined || resource.clone?.omit?.includes(name)) continue;
    // A row holds a secret sealed; sealed texts are longer than the clear ones that the check measures.
    if (field.kind === "secret") system[name] = value;
    else input[name] = toInput(field, value);
  }
  return { input, system };
}

function domainsOf({ domainId, alsoIn }: AnyRow, { scope }: ActorContext): object {
  const [home, ...others] = [domainId, ...(alsoIn ?? [])].filter((id) => id !== null && scope.canAssign(id));
  return home === undefined ? {} : { domainId: home, alsoIn: others.length > 0 ? others : null };
}

/** A value of a row as a request would give it; members of objects that Carillon keeps are left out. */
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
 * The first free name of `name (Copy)`, `name (Copy 2)` …, compared without case over the whole family.
 * own choice: a name too long for that is shortened at its end.
 */
function findCopyName(reader: StoreReader, resource: AnyResource, name: string): string {
  const spec = resource.fields.name;
  const most = spec?.kind === "text" ? spec.max : Number.POSITIVE_INFINITY;
  const characters = [...name];
  const stem = characters.slice(0, Math.max(0, most - SUFFIX_LENGTH)).join("");
  const alike = reader.all<{ name: string }>(
    `SELECT name FROM ${tableName(resource)} WHERE name LIKE ? ESCAPE '\\'`,
    `${stem.replace(/[\\%_]/g, "\\$&")}%`,
  );
  const taken = new Set(alike.map((row) => row.name.toLowerCase()));
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? " (Copy)" : ` (Copy ${number})`;
    const candidate = `${characters.slice(0, most - suffix.length).join("")}${suffix}`;
    if (!taken.has(candidate.toLowerCase())) return candidate;
  }
}
