import type confirmationRequests from "../../resources/confirmations/confirmation-requests.ts";
import dynamicReplies from "../../resources/confirmations/dynamic-replies.ts";
import escalationRules from "../../resources/confirmations/escalation-rules.ts";
import { canonicalPath } from "../../schema/catalogue.ts";
import type { StoredFile } from "../../schema/field.ts";
import type { AnyResource, Method, RowBase, RowOf } from "../../schema/resource.ts";
import type { AccessScope, PresentContext } from "../../store/store.ts";
import { filterVisibleIds } from "../../store/visible-ids.ts";

const ITEM_METHODS: readonly Method[] = ["get", "put", "delete"];

type Child = RowBase & { confirmationRequestId: string };

/**
 * The computed fields of confirmation requests: dynamicReplies and escalationRules, oldest first, unless the query's
 * includeDynamicReplies or includeEscalationRules is false. Two queries per page for each.
 */
export function serializeConfirmationRequests(
  rows: readonly RowOf<typeof confirmationRequests>[],
  context: PresentContext,
): Record<string, unknown>[] {
  const { query } = context;
  const replies = query.includeDynamicReplies === false ? null : childrenOf(context, dynamicReplies, rows);
  const rules = query.includeEscalationRules === false ? null : childrenOf(context, escalationRules, rows);
  return rows.map(({ id }) => ({
    ...(replies ? { dynamicReplies: replies.get(id) ?? [] } : {}),
    ...(rules ? { escalationRules: rules.get(id) ?? [] } : {}),
  }));
}

function childrenOf(
  { reader, scope, hide }: Pick<PresentContext, "reader" | "scope" | "hide">,
  resource: typeof dynamicReplies | typeof escalationRules,
  requests: readonly RowBase[],
): Map<string, Record<string, unknown>[]> {
  const table = resource.name.replaceAll("-", "_");
  const keys = reader.all<{ pk: number }>(
    `SELECT pk FROM ${table} WHERE confirmation_request_pk IN (SELECT value FROM json_each(?))`,
    JSON.stringify(requests.map(({ pk }) => pk)),
  );
  const pks = keys.map(({ pk }) => pk);
  const children: readonly Child[] = hide(
    resource,
    reader.getByPks<typeof dynamicReplies | typeof escalationRules>(resource, pks),
  );
  const ids = children.map(({ id }) => id);
  const changeable = filterVisibleIds(reader, resource, ids, scope.changeable.visible(resource));
  const found = new Map<string, Record<string, unknown>[]>();
  for (const child of [...children].sort((a, b) => a.pk - b.pk)) {
    const list = found.get(child.confirmationRequestId) ?? [];
    found.set(child.confirmationRequestId, list);
    list.push({
      ...serializeChild(resource, child),
      permissions: allowedMethods(resource, child, scope, changeable.has(child.id)),
    });
  }
  return found;
}

/** A child in API form: times as text, a file as its size and metadata. */
function serializeChild(resource: AnyResource, row: Child): Record<string, unknown> {
  const values = row as unknown as Record<string, unknown>;
  const form: Record<string, unknown> = { id: row.id };
  for (const [name, { kind }] of Object.entries(resource.fields)) {
    if (kind === "file") Object.assign(form, serializeFile(name, values[name] as StoredFile | null));
    else form[name] = values[name];
  }
  return { ...form, createdAt: isoTime(row.createdAt), updatedAt: isoTime(row.updatedAt) };
}

/** The operations that the caller may do on a child, from the child's own path. */
function allowedMethods(
  resource: AnyResource,
  { id, confirmationRequestId }: Child,
  scope: AccessScope,
  changes: boolean,
): Method[] {
  const at = canonicalPath(resource).at.replace("{confirmationRequestId}", confirmationRequestId);
  const possible = ITEM_METHODS.filter((method) => changes || method === "get");
  return possible.filter((method) => scope.allows(method, `/${at}/${id}`));
}

function serializeFile(name: string, file: StoredFile | null): Record<string, unknown> {
  if (file === null) return { [name]: 0, [`${name}Files`]: [] };
  const { fileName, size, contentType, metadata } = file;
  return { [name]: size, [`${name}Files`]: [{ fileName, size, contentType, metadata }] };
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
