import { ConflictError, forbidden, notFound } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import users from "../resources/people/users.ts";
import { type Catalogue, canonicalPath, methodsOf, visibilityReferences } from "../schema/catalogue.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource, Method, RowBase } from "../schema/resource.ts";
import type { AccessScope, ActorContext, Store, StoreReader } from "../store/store.ts";
import type { EditConflict } from "../sync/hub/tables.ts";
import { receivedHashes } from "../sync/protocol/replicated-body.ts";
import { toApiValue } from "./api-values.ts";

/** A field that both sides changed; values in API form. */
export interface LostField {
  name: string;
  site: unknown;
  present: unknown;
  /** Display names of referenced rows; null for other values. */
  siteName: string | null;
  presentName: string | null;
}

/** A lost edit of an appliance, as shown to users. Times are epoch ms. */
export interface ConflictView {
  id: string;
  resource: string;
  rowId: string;
  rowName: string | null;
  op: EditConflict["edit"]["op"];
  /** `changed`: both sides changed it; `gone`: the row was deleted; `refused`: the cloud rejected the edit. */
  kind: "changed" | "gone" | "refused";
  endpointId: string;
  /** Name of the editor at the site; the id if that user is not visible. */
  actorName: string;
  at: number;
  fields: LostField[];
  /** The site's value can still be applied by a new edit. */
  usable: boolean;
}

export interface ConflictDeps {
  reader: StoreReader;
  catalogue: Catalogue;
}

interface ConflictViewDeps extends ConflictDeps {
  /** Visibility of the viewer. */
  scope: AccessScope;
}

type Row = RowBase & Readonly<Record<string, unknown>>;
const NAMES = ["name", "subject", "description", "email", "deviceIdentifier"];
/** Marks the row as a whole in `lost`. */
const WHOLE = "*";

/**
 * The present view of a conflict for a user; null if it is resolved (the row has the site's values by now) or not
 * visible to the user.
 */
export function viewConflict(lost: EditConflict, scope: AccessScope, deps: ConflictDeps): ConflictView | null {
  const { reader, catalogue } = deps;
  if (!catalogue.has(lost.type)) return null;
  const resource = catalogue.byName(lost.type);
  const row = reader.get(resource, lost.id) as Row | null;
  if (!(row ? reader.get(resource, lost.id, scope) : isVisibleIfPresent(lost, resource, scope, deps))) return null;
  const seen = { ...deps, scope };
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
 * Applies the site's values by a new edit of the caller, who needs the permission for it. Throws what such an edit
 * throws, and ConflictError if it is not possible.
 */
export async function acceptSiteValue(
  lost: EditConflict,
  by: ActorContext,
  deps: ConflictDeps & { store: Store },
): Promise<void> {
  const shown = viewConflict(lost, by.scope, deps);
  if (!shown) throw notFound();
  if (!shown.usable)
    throw new ConflictError(sentence("error.the-site-s-value-can-no-longer-be-applied-repeat-the-change"));
  const { store, catalogue } = deps;
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
    await store.create(resource, input, by, { id: lost.id, ...receivedHashes(resource, lost.edit.set) });
  }
}

/**
 * Whether a missing row with the values of the site would be visible: the user may read it, and the fields that decide
 * about its visibility are known and within the user's scope.
 */
function isVisibleIfPresent(
  { id, edit }: EditConflict,
  resource: AnyResource,
  scope: AccessScope,
  deps: ConflictDeps,
): boolean {
  const visible = scope.visible(resource);
  if (visible === "all" || visible === "none") return visible === "all";
  const { set } = edit;
  const isAssignable = (domainId: unknown): boolean => typeof domainId === "string" && scope.canAssign(domainId);
  if (!scope.allows("get", `${collectionOf(resource, set)}/${id}`)) return false;
  if (resource.scope === "domain") return isAssignable(set.domainId);
  if (resource.scope === "organisation")
    return !resource.domainField || isAssignable({ ...set, id }[resource.domainField]);
  return visibilityReferences(resource).every((name) =>
    isReferenceVisible(resource.fields[name], set[name], scope, deps),
  );
}

/** Whether the referenced row is visible; an optional reference may be null. */
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
  deps: ConflictViewDeps,
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
        siteName: referencedName(field, site, deps),
        presentName: referencedName(field, present, deps),
      },
    ];
  });
}

/** Display name of the referenced row; null if it is not visible. */
function referencedName(field: Field, value: unknown, { reader, catalogue, scope }: ConflictViewDeps): string | null {
  if (field.kind !== "ref" || typeof value !== "string" || !catalogue.has(field.to)) return null;
  const row = reader.get(catalogue.byName(field.to), value, scope) as Row | null;
  return row && nameOf(row);
}

/** Whether users can set the field. */
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
  // A lost file of the site was never uploaded.
  if (fields.some(({ name }) => resource.fields[name]?.kind === "file")) return false;
  return row !== null || edit.op === "create";
}

function nameOf(row: Readonly<Record<string, unknown>>): string | null {
  const found = NAMES.map((name) => row[name]).find((value) => typeof value === "string" && value !== "");
  return (found as string | undefined) ?? null;
}

/** Throws forbidden if a request with the same effect would be denied. */
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

/** Path of the collection that contains the row. */
function collectionOf(resource: AnyResource, row: Readonly<Record<string, unknown>>): string {
  return `/${canonicalPath(resource).at.replace(/\{(\w+)\}/g, (_, name: string) => String(row[name] ?? ""))}`;
}
