import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { notFound } from "../lib/errors.ts";
import { changeGroupMembers } from "../permissions/directory-group-members.ts";
import scimGroups from "../resources/security/scim-groups.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, StoreReader } from "../store/store.ts";
import { GROUP_RESOURCE_TYPE, parseDocument, type ScimDocument } from "./document.ts";
import { assertEtagMatches, buildEtag } from "./etag.ts";
import type { ScimCandidate } from "./filter-evaluator.ts";
import { extractMemberOperations, type MemberPatch, parseMemberIds, replaceMembers } from "./member-patch.ts";
import { applyPatch, parsePatchOperations } from "./patch.ts";
import type { ScimResourceSource } from "./resource-list.ts";
import { ScimRequestError } from "./scim-error.ts";

/** A directory group's row. */
export type ScimGroupRow = RowOf<typeof scimGroups>;

/** What writing groups takes. */
export interface ScimGroupDeps {
  store: Store;
  clock: Clock;
}

/** One of a group's members. */
export interface ScimGroupMember {
  id: string;
  name: string;
}

/** Users read in one turn of the event loop. own choice */
const CHUNK_SIZE = 1_000;

/** Makes a group with its members. Throws ScimRequestError `uniqueness`, and `invalidValue` for a member that is no user of the directory. */
export async function createScimGroup(deps: ScimGroupDeps, body: unknown, by: ActorContext): Promise<ScimGroupRow> {
  const { input, members } = parseGroup(body);
  await assertProvisionedMembers(deps, members);
  const group = await deps.store.write((tx) => {
    assertNameFree(tx, input.name, null);
    return tx.create(scimGroups, input, by);
  });
  await changeGroupMembers(deps.store, group.id, { join: members, leave: [] }, by);
  return group;
}

/** Writes all that a directory says of a group anew; members are those that it names. Throws as `createGroup`, not-found. */
export async function replaceScimGroup(
  deps: ScimGroupDeps,
  id: string,
  body: unknown,
  ifMatch: string | null,
  by: ActorContext,
): Promise<ScimGroupRow> {
  const { input, members } = parseGroup(body);
  return changeGroup(deps, id, ifMatch, replaceMembers(members), () => input, by);
}

/** Changes a group by the operations of a PATCH. Throws as `replaceGroup`. */
export function patchScimGroup(
  deps: ScimGroupDeps,
  id: string,
  body: unknown,
  ifMatch: string | null,
  by: ActorContext,
): Promise<ScimGroupRow> {
  // Members may be very many, so they are no part of the document.
  const { plan, others } = extractMemberOperations(parsePatchOperations(body));
  const patched = (document: ScimDocument): GroupInput => {
    const { displayName, externalId } = applyPatch(GROUP_RESOURCE_TYPE, document, others);
    return parseGroupInput(displayName, externalId ?? null);
  };
  return changeGroup(deps, id, ifMatch, plan, patched, by);
}

/** Deletes a group: what is tied to it loses its members. Throws not-found, ScimRequestError `precondition`. */
export async function deleteScimGroup(
  { store }: ScimGroupDeps,
  id: string,
  ifMatch: string | null,
  by: ActorContext,
): Promise<void> {
  assertEtagMatches(ifMatch, groupEtag(store, getProvisionedGroup(store, id)));
  await store.remove(scimGroups, id, by);
}

/** The group of that id that provisioning or people fill. Throws not-found for those that a log-in fills. */
export function getProvisionedGroup(reader: StoreReader, id: string): ScimGroupRow {
  const group = reader.get(scimGroups, id);
  if (!group || group.identityProviderId !== null) throw notFound();
  return group;
}

/** A group's version, which a change of its members changes too. */
export function groupEtag(reader: StoreReader, group: ScimGroupRow): string {
  const line = reader.one<{ n: number; last: number | null }>(
    `SELECT count(*) AS n, (SELECT created_at FROM scim_group_members WHERE scim_group_pk = ? ORDER BY pk DESC LIMIT 1) AS last
     FROM scim_group_members WHERE scim_group_pk = ?`,
    group.pk,
    group.pk,
  );
  return buildEtag(group, `-${(line?.n ?? 0).toString(36)}-${(line?.last ?? 0).toString(36)}`);
}

/** The users of the directory who are in a group, in slices, in the order in which they came. */
export function* readGroupMembers(reader: StoreReader, groupPk: number): Generator<readonly ScimGroupMember[]> {
  let last = 0;
  for (;;) {
    const lines = reader.all<ScimGroupMember & { pk: number }>(
      `SELECT m.pk, u.id, u.name FROM scim_group_members m JOIN users u ON u.pk = m.user_pk
       WHERE m.scim_group_pk = ? AND m.pk > ? AND u.scim_user_name IS NOT NULL ORDER BY m.pk LIMIT ?`,
      groupPk,
      last,
      CHUNK_SIZE,
    );
    if (lines.length > 0) yield lines;
    if (lines.length < CHUNK_SIZE) return;
    last = lines.at(-1)?.pk ?? last;
  }
}

/** What the directory calls a group, with the id. */
export function buildGroupDocument({
  id,
  name,
  externalId,
  createdAt,
  updatedAt,
}: Omit<ScimGroupRow, "pk">): ScimDocument {
  return {
    id,
    ...(externalId === null ? {} : { externalId }),
    displayName: name,
    meta: { created: new Date(createdAt).toISOString(), lastModified: new Date(updatedAt).toISOString() },
  };
}

/** Where groups are found. */
export function createGroupSource(reader: StoreReader): ScimResourceSource {
  const mine = "g.identity_provider_id IS NULL";
  return {
    type: GROUP_RESOURCE_TYPE,
    count: () => reader.one<{ n: number }>(`SELECT count(*) AS n FROM scim_groups g WHERE ${mine}`)?.n ?? 0,
    keys: (skip, limit) =>
      reader
        .all<{ pk: number }>(`SELECT g.pk FROM scim_groups g WHERE ${mine} ORDER BY g.pk LIMIT ? OFFSET ?`, limit, skip)
        .map(({ pk }) => pk),
    after: (pk, limit) => findCandidates(reader, `g.pk > ? AND ${mine} ORDER BY g.pk LIMIT ?`, pk, limit),
    findByKey: ({ name, value }) => {
      if (name === "displayName") return findCandidates(reader, `g.name = ? COLLATE NOCASE AND ${mine}`, value);
      if (name === "externalId") return findCandidates(reader, `g.external_id = ? COLLATE NOCASE AND ${mine}`, value);
      return name === "id" ? findCandidates(reader, `g.id = ? AND ${mine}`, value.toLowerCase()) : [];
    },
    relatedTo: (userId) =>
      new Set(
        reader
          .all<{ pk: number }>(
            "SELECT m.scim_group_pk AS pk FROM scim_group_members m JOIN users u ON u.pk = m.user_pk WHERE u.id = ?",
            userId,
          )
          .map(({ pk }) => pk),
      ),
  };
}

function findCandidates(reader: StoreReader, where: string, ...params: (string | number)[]): ScimCandidate[] {
  const lines = reader.all<{
    pk: number;
    id: string;
    name: string;
    externalId: string | null;
    at: number;
    updated: number;
  }>(
    `SELECT g.pk, g.id, g.name, g.external_id AS externalId, g.created_at AS at, g.updated_at AS updated
     FROM scim_groups g WHERE ${where}`,
    ...params,
  );
  return lines.map(({ pk, at, updated, ...line }) => ({
    pk,
    document: buildGroupDocument({ ...line, createdAt: at, updatedAt: updated } as Omit<ScimGroupRow, "pk">),
  }));
}

async function changeGroup(
  deps: ScimGroupDeps,
  id: string,
  ifMatch: string | null,
  plan: MemberPatch,
  changed: (document: ScimDocument) => GroupInput,
  by: ActorContext,
): Promise<ScimGroupRow> {
  const { store } = deps;
  const joining = [...plan.added];
  const present = getProvisionedGroup(store, id);
  await assertProvisionedMembers(deps, joining);
  const leaving = await findLeavingMembers(deps, present, plan);
  const group = await store.write((tx) => {
    const before = getProvisionedGroup(tx, id);
    assertEtagMatches(ifMatch, groupEtag(tx, before));
    const input = changed(buildGroupDocument(before));
    if (input.name === before.name && input.externalId === before.externalId) return before;
    assertNameFree(tx, input.name, before);
    return tx.update(scimGroups, id, input, by);
  });
  await changeGroupMembers(store, id, { join: joining, leave: leaving }, by);
  return group;
}

/** Ids of those who go. Somebody whom people put into the group is not the directory's to take out. */
async function findLeavingMembers(
  deps: ScimGroupDeps,
  { pk }: ScimGroupRow,
  { added, removed, replacesAll }: MemberPatch,
): Promise<string[]> {
  const ids = await filterProvisioned(deps, [...removed]);
  if (!replacesAll) return ids;
  for (const slice of readGroupMembers(deps.store, pk)) {
    for (const { id } of slice) if (!added.has(id)) ids.push(id);
    await yieldToEventLoop(deps.clock);
  }
  return ids;
}

/** Throws ScimRequestError `invalidValue` for ids that are no users of the directory. */
async function assertProvisionedMembers(deps: ScimGroupDeps, ids: readonly string[]): Promise<void> {
  const found = await filterProvisioned(deps, ids);
  if (found.length < ids.length)
    throw new ScimRequestError("invalidValue", "A member is no user that was provisioned here.");
}

async function filterProvisioned({ store, clock }: ScimGroupDeps, ids: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (let at = 0; at < ids.length; at += CHUNK_SIZE) {
    const lines = store.all<{ id: string }>(
      "SELECT id FROM users WHERE id IN (SELECT value FROM json_each(?)) AND scim_user_name IS NOT NULL",
      JSON.stringify(ids.slice(at, at + CHUNK_SIZE)),
    );
    for (const { id } of lines) found.push(id);
    await yieldToEventLoop(clock);
  }
  return found;
}

interface GroupInput {
  name: string;
  externalId: string | null;
}

function parseGroup(body: unknown): { input: GroupInput; members: string[] } {
  const { members, ...rest } = (body ?? {}) as Record<string, unknown>;
  const { displayName, externalId } = parseDocument(GROUP_RESOURCE_TYPE, Array.isArray(body) ? body : rest);
  return { input: parseGroupInput(displayName, externalId ?? null), members: parseMemberIds(members ?? []) };
}

function parseGroupInput(displayName: unknown, externalId: unknown): GroupInput {
  const name = typeof displayName === "string" ? displayName.trim() : "";
  if (name === "" || name.length > 255) {
    throw new ScimRequestError("invalidValue", "Attribute displayName is required and has at most 255 signs.");
  }
  return { name, externalId: typeof externalId === "string" ? externalId : null };
}

/** own choice: names tell groups apart where ties are made, so no two that are provisioned share one. */
function assertNameFree(reader: StoreReader, name: string, group: ScimGroupRow | null): void {
  const [other] = findCandidates(reader, "g.name = ? COLLATE NOCASE AND g.identity_provider_id IS NULL", name);
  if (other && other.pk !== group?.pk) throw new ScimRequestError("uniqueness", "Another group has that displayName.");
}
