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

/** Row of a directory group. */
export type ScimGroupRow = RowOf<typeof scimGroups>;

/** Dependencies of group operations. */
export interface ScimGroupDeps {
  store: Store;
  clock: Clock;
}

/** A member of a group. */
export interface ScimGroupMember {
  id: string;
  name: string;
}

/** Users read per turn of the event loop. */
const CHUNK_SIZE = 1_000;

/**
 * Creates a group with its members. Throws ScimRequestError `uniqueness`, and `invalidValue` for a member that is not a
 * provisioned user.
 */
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

/** Replaces a group and its members. Throws not-found and what `createScimGroup` throws. */
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

/** Applies a PATCH to a group. Throws what `replaceScimGroup` throws. */
export function patchScimGroup(
  deps: ScimGroupDeps,
  id: string,
  body: unknown,
  ifMatch: string | null,
  by: ActorContext,
): Promise<ScimGroupRow> {
  // A group may have very many members, so they are not part of the document.
  const { plan, others } = extractMemberOperations(parsePatchOperations(body));
  const patched = (document: ScimDocument): GroupInput => {
    const { displayName, externalId } = applyPatch(GROUP_RESOURCE_TYPE, document, others);
    return parseGroupInput(displayName, externalId ?? null);
  };
  return changeGroup(deps, id, ifMatch, plan, patched, by);
}

/** Deletes a group; linked security groups lose its members. Throws not-found, ScimRequestError `precondition`. */
export async function deleteScimGroup(
  { store }: ScimGroupDeps,
  id: string,
  ifMatch: string | null,
  by: ActorContext,
): Promise<void> {
  assertEtagMatches(ifMatch, groupEtag(store, getProvisionedGroup(store, id)));
  await store.remove(scimGroups, id, by);
}

/** Gets a group by id. Throws not-found for groups that an identity provider fills at login. */
export function getProvisionedGroup(reader: StoreReader, id: string): ScimGroupRow {
  const group = reader.get(scimGroups, id);
  if (!group || group.identityProviderId !== null) throw notFound();
  return group;
}

/** Version of a group, which includes its members. */
export function groupEtag(reader: StoreReader, group: ScimGroupRow): string {
  const line = reader.one<{ n: number; last: number | null }>(
    `SELECT count(*) AS n, (SELECT created_at FROM scim_group_members WHERE scim_group_pk = ? ORDER BY pk DESC LIMIT 1) AS last
     FROM scim_group_members WHERE scim_group_pk = ?`,
    group.pk,
    group.pk,
  );
  return buildEtag(group, `-${(line?.n ?? 0).toString(36)}-${(line?.last ?? 0).toString(36)}`);
}

/** Reads the provisioned members of a group in chunks, in the order in which they were added. */
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

/** Builds the document of a group, without members. */
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

/** Resource source for groups. */
export function createGroupSource(reader: StoreReader): ScimResourceSource {
  const provisioned = "g.identity_provider_id IS NULL";
  return {
    type: GROUP_RESOURCE_TYPE,
    count: () => reader.one<{ n: number }>(`SELECT count(*) AS n FROM scim_groups g WHERE ${provisioned}`)?.n ?? 0,
    keys: (skip, limit) =>
      reader
        .all<{ pk: number }>(
          `SELECT g.pk FROM scim_groups g WHERE ${provisioned} ORDER BY g.pk LIMIT ? OFFSET ?`,
          limit,
          skip,
        )
        .map(({ pk }) => pk),
    after: (pk, limit) => findCandidates(reader, `g.pk > ? AND ${provisioned} ORDER BY g.pk LIMIT ?`, pk, limit),
    findByKey: ({ name, value }) => {
      if (name === "displayName") return findCandidates(reader, `g.name = ? COLLATE NOCASE AND ${provisioned}`, value);
      if (name === "externalId")
        return findCandidates(reader, `g.external_id = ? COLLATE NOCASE AND ${provisioned}`, value);
      return name === "id" ? findCandidates(reader, `g.id = ? AND ${provisioned}`, value.toLowerCase()) : [];
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

/** Ids of the members to remove. Members added locally are not removed by the directory. */
async function findLeavingMembers(
  deps: ScimGroupDeps,
  { pk }: ScimGroupRow,
  { added, removed, replacesAll }: MemberPatch,
): Promise<string[]> {
  const ids = await filterProvisioned(deps, [...removed]);
  if (!replacesAll) return ids;
  for (const chunk of readGroupMembers(deps.store, pk)) {
    for (const { id } of chunk) if (!added.has(id)) ids.push(id);
    await yieldToEventLoop(deps.clock);
  }
  return ids;
}

/** Throws ScimRequestError `invalidValue` for ids that are not provisioned users. */
async function assertProvisionedMembers(deps: ScimGroupDeps, ids: readonly string[]): Promise<void> {
  const found = await filterProvisioned(deps, ids);
  if (found.length < ids.length)
    throw new ScimRequestError("invalidValue", "Every member must be a user provisioned by the directory.");
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
    throw new ScimRequestError(
      "invalidValue",
      "Attribute displayName is required and must have at most 255 characters.",
    );
  }
  return { name, externalId: typeof externalId === "string" ? externalId : null };
}

/** Names of provisioned groups are unique, because administrators link groups by name. */
function assertNameFree(reader: StoreReader, name: string, group: ScimGroupRow | null): void {
  const [other] = findCandidates(reader, "g.name = ? COLLATE NOCASE AND g.identity_provider_id IS NULL", name);
  if (other && other.pk !== group?.pk)
    throw new ScimRequestError("uniqueness", "A group with this displayName already exists.");
}
