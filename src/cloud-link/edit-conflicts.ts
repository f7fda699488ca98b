import { ConflictError, forbidden, notFound } from "../lib/errors.ts";
import users from "../resources/people/users.ts";
import { type Catalogue, canonicalPath, methodsOf, visibilityReferences } from "../schema/catalogue.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource, Method, RowBase } from "../schema/resource.ts";
import type { AccessScope, ActorContext, Store, StoreReader } from "../store/store.ts";
import type { EditConflict } from "../sync/hub/tables.ts";
import { toApiValue } from "./api-values.ts";

/** One field of a row that both sides changed; values in API form. */
export interface LostField {
  name: string;
  site: unknown;
  present: unknown;
  /** What people call the rows that a reference names; null for other values. */
  siteName: string | null;
  presentName: string | null;
}

/** An edit of an appliance that lost, as people are shown it. Times are epoch ms. */
export interface ConflictView {
  id: string;
  resource: string;
  rowId: string;
  rowName: string | null;
  op: EditConflict["edit"]["op"];
  /** Both changed it; the row is gone; or the organisation's rules refused it. */
  kind: "changed" | "gone" | "refused";
  endpointId: string;
  /** Who edited at the site; its id where that user is not seen. */
  actorName: string;
  at: number;
  fields: LostField[];
  /** The site's value could still be had by a fresh edit. */
  usable: boolean;
}

/** Where conflicts are looked into. */
export interface ConflictDeps {
  reader: StoreReader;
  catalogue: Catalogue;
}

interface ConflictViewDeps extends ConflictDeps {
  /** Whose eyes it is shown to. */
  scope: AccessScope;
}

type Row = RowBase & Readonly<Record<string, unknown>>;
const NAMES = ["name", "subject", "description", "email", "deviceIdentifier"];
/** Stands for the row as a whole. */
const WHOLE = "*";

/**
 * A conflict as it is now, for somebody who sees its row; null where nothing of it is left: the row has the site's values
 * by now, or nobody may see it.
 */
export function viewConflict(lost: EditConflict, scope: AccessScope, needs: ConflictDeps): ConflictView | null {
  const { reader, catalogue } = needs;
  if (!catalogue.has(lost.type)) return null;
  const resource = catalogue.byName(lost.type);
  const row = reader.get(resource, lost.id) as Row | null;
  if (!(row ? reader.get(resource, lost.id, scope) : isVisibleIfPresent(lost, resource, scope, needs))) return null;
  const seen = { ...needs, scope };
  const fields = lostFields(lost, resource, row, seen);
  const { op } = lost.edit;
  if (op === "delete" ? row === null : row !== null && fields.length === 0) return null;
  return {
    ...{ id: lost.uid, resource: lost.type, rowId: lost.id, op, endpointId: lost.endpoint, at: lost.at, fields },
    rowName: nameOf({ ...lost.edit.set, ...row }),
    kind: !row && op === "update" ? "gone" : lost.lost.includes(WHOLE) && op !== "delete" ? "refused" : "changed",
    actorName: reader.get(users, lost.actor, scope)?.name ?? lost.actor,
    usable: isUsable(lost, resource, row, fields),
  };
}

/**
 * Gives the row the site's values by a fresh edit of whoever asks, who needs the permission for that. Throws what such an edit throws,
 * ConflictError where there is none to be made.
 */
export async function acceptSiteValue(
  lost: EditConflict,
  by: ActorContext,
  needs: ConflictDeps & { store: Store },
): Promise<void> {
  const shown = viewConflict(lost, by.scope, needs);
  if (!shown) throw notFound();
  if (!shown.usable) throw new ConflictError("The site's value can't be had any more: make the change anew.");
  const { store, catalogue } = needs;
  const resource = catalogue.byName(lost.type);
  const row = store.get(resource, lost.id) as Row | null;
  const input = Object.fromEntries(shown.fields.map(({ name, site }) => [name, site]));
  if (lost.edit.op === "delete") {
    requireAllowed("delete", resource, row ?? {}, by);
    await store.remove(resource, lost.id, by);
  } else if (row) {
    requireAllowed("put", resource, row, by);
    await store.update(resource, lost.id, input, by);
  } else {
    requireAllowed("post", resource, lost.edit.set, by);
    await store.create(resource, input, by, { id: lost.id });
  }
}

/**
 * Whether somebody would see a row that is not there, with what the site set: it may ask for it, and what says where it
 * belongs is known and within reach.
 */
function isVisibleIfPresent(
  { id, edit }: EditConflict,
  resource: AnyResource,
  scope: AccessScope,
  needs: ConflictDeps,
): boolean {
  const visible = scope.visible(resource);
  if (visible === "all" || visible === "none") return visible === "all";
  const { set } = edit;
  const isHeld = (domainId: unknown): boolean => typeof domainId === "string" && scope.canAssign(domainId);
  if (!scope.allows("get", `${collectionOf(resource, set)}/${id}`)) return false;
  if (resource.scope === "domain") return isHeld(set.domainId);
  if (resource.scope === "organisation") return !resource.domainField || isHeld({ ...set, id }[resource.domainField]);
  return visibilityReferences(resource).every((name) =>
    isReferenceVisible(resource.fields[name], set[name], scope, needs),
  );
}

/** Whether the row is seen that a reference names; one that may be left out leads nowhere. */
function isReferenceVisible(
  field: Field | undefined,
  value: unknown,
  scope: AccessScope,
  { reader, catalogue }: ConflictDeps,
): boolean {
  if (field?.kind !== "ref" || !catalogue.has(field.to)) return false;
  if (typeof value === "string") return reader.get(catalogue.byName(field.to), value, scope) !== null;
  return value === null && !field.required;
}

function lostFields(
  { edit, lost }: EditConflict,
  resource: AnyResource,
  row: Row | null,
  needs: ConflictViewDeps,
): LostField[] {
  if (edit.op === "delete") return [];
  const isWhole = lost.includes(WHOLE) || row === null;
  return Object.entries(resource.fields).flatMap(([name, field]) => {
    if (!(name in edit.set) || !(isWhole || lost.includes(name)) || !isUserEditable(field)) return [];
    const site = edit.set[name] ?? null;
    const present = row?.[name] ?? null;
    if (row && JSON.stringify(site) === JSON.stringify(present)) return [];
    if (!row && site === null) return [];
    const shown = { site: toApiValue(field, site), present: toApiValue(field, present) };
    return [
      {
        name,
        ...shown,
        siteName: referencedName(field, site, needs),
        presentName: referencedName(field, present, needs),
      },
    ];
  });
}

/** What the row is called that a reference names; null where it is not seen. */
function referencedName(field: Field, value: unknown, { reader, catalogue, scope }: ConflictViewDeps): string | null {
  if (field.kind !== "ref" || typeof value !== "string" || !catalogue.has(field.to)) return null;
  const row = reader.get(catalogue.byName(field.to), value, scope) as Row | null;
  return row && nameOf(row);
}

/** Whether people give it its value. */
function isUserEditable(field: Field): boolean {
  const isOwn = field.kind === "internal" || field.kind === "computed" || field.kind === "secret";
  return !isOwn && !("readOnly" in field && field.readOnly);
}

function isUsable(
  { edit }: EditConflict,
  resource: AnyResource,
  row: Row | null,
  fields: readonly LostField[],
): boolean {
  if (edit.op === "delete") return true;
  // A recording of the site that lost was never sent up.
  if (fields.some(({ name }) => resource.fields[name]?.kind === "file")) return false;
  return row !== null || edit.op === "create";
}

function nameOf(row: Readonly<Record<string, unknown>>): string | null {
  const found = NAMES.map((name) => row[name]).find((value) => typeof value === "string" && value !== "");
  return (found as string | undefined) ?? null;
}

/** Throws forbidden where the scope would not let a request through that does the same. */
function requireAllowed(
  method: Method,
  resource: AnyResource,
  row: Readonly<Record<string, unknown>>,
  by: ActorContext,
): void {
  const collection = collectionOf(resource, row);
  const asked = method === "post" ? collection : `${collection}/${String(row.id)}`;
  if (!methodsOf(canonicalPath(resource)).includes(method) || !by.scope.allows(method, asked)) throw forbidden();
}

/** Path of the list that a row is in. */
function collectionOf(resource: AnyResource, row: Readonly<Record<string, unknown>>): string {
  return `/${canonicalPath(resource).at.replace(/\{(\w+)\}/g, (_, name: string) => String(row[name] ?? ""))}`;
}
