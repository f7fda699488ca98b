import { type Clock, nextTurn } from "../../base/clock.ts";
import { notFound } from "../../base/errors.ts";
import scimGroups from "../../resources/security/scim-groups.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { By, Reader, Store } from "../../store/store.ts";
import { changeManyMembers } from "../directory-membership.ts";
import { type Document, GROUPS, readDocument } from "./document.ts";
import type { Source } from "./listing.ts";
import type { Candidate } from "./matches.ts";
import { type MemberPlan, memberIds, onlyMembers, planMembers } from "./member-plan.ts";
import { patchDocument, readOperations } from "./patch.ts";
import { ScimRefusal } from "./refusal.ts";
import { requireVersion, versionOf } from "./version.ts";

/** A directory group's row. */
export type Group = RowOf<typeof scimGroups>;

/** What writing groups takes. */
export interface GroupNeeds {
  store: Store;
  clock: Clock;
}

/** One of a group's members. */
export interface Member {
  id: string;
  name: string;
}

/** Users read in one turn of the event loop. own choice */
const SLICE = 1_000;

/** Makes a group with its members. Throws ScimRefusal `uniqueness`, and `invalidValue` for a member that is no user of the directory. */
export async function createGroup(needs: GroupNeeds, body: unknown, by: By): Promise<Group> {
  const { input, members } = readGroup(body);
  await requireMembers(needs, members);
  const group = await needs.store.write((tx) => {
    requireFreeName(tx, input.name, null);
    return tx.create(scimGroups, input, by);
  });
  await changeManyMembers(needs.store, group.id, { join: members, leave: [] }, by);
  return group;
}

/** Writes all that a directory says of a group anew; members are those that it names. Throws as `createGroup`, not-found. */
export async function replaceGroup(
  needs: GroupNeeds,
  id: string,
  body: unknown,
  ifMatch: string | null,
  by: By,
): Promise<Group> {
  const { input, members } = readGroup(body);
  return change(needs, id, ifMatch, onlyMembers(members), () => input, by);
}

/** Changes a group by the operations of a PATCH. Throws as `replaceGroup`. */
export function patchGroup(
  needs: GroupNeeds,
  id: string,
  body: unknown,
  ifMatch: string | null,
  by: By,
): Promise<Group> {
  // Members may be very many, so they are no part of the document.
  const { plan, others } = planMembers(readOperations(body));
  const patched = (document: Document): GroupInput => {
    const { displayName, externalId } = patchDocument(GROUPS, document, others);
    return inputOf(displayName, externalId ?? null);
  };
  return change(needs, id, ifMatch, plan, patched, by);
}

/** Deletes a group: what is tied to it loses its members. Throws not-found, ScimRefusal `precondition`. */
export async function deleteGroup({ store }: GroupNeeds, id: string, ifMatch: string | null, by: By): Promise<void> {
  requireVersion(ifMatch, groupVersion(store, provisionedGroup(store, id)));
  await store.remove(scimGroups, id, by);
}

/** The group of that id that provisioning or people fill. Throws not-found for those that a log-in fills. */
export function provisionedGroup(reader: Reader, id: string): Group {
  const group = reader.get(scimGroups, id);
  if (!group || group.identityProviderId !== null) throw notFound();
  return group;
}

/** A group's version, which a change of its members changes too. */
export function groupVersion(reader: Reader, group: Group): string {
  const line = reader.one<{ n: number; last: number | null }>(
    `SELECT count(*) AS n, (SELECT created_at FROM scim_group_members WHERE scim_group_pk = ? ORDER BY pk DESC LIMIT 1) AS last
     FROM scim_group_members WHERE scim_group_pk = ?`,
    group.pk,
    group.pk,
  );
  return versionOf(group, `-${(line?.n ?? 0).toString(36)}-${(line?.last ?? 0).toString(36)}`);
}

/** The users of the directory who are in a group, in slices, in the order in which they came. */
export function* membersOf(reader: Reader, groupPk: number): Generator<readonly Member[]> {
  let last = 0;
  for (;;) {
    const lines = reader.all<Member & { pk: number }>(
      `SELECT m.pk, u.id, u.name FROM scim_group_members m JOIN users u ON u.pk = m.user_pk
       WHERE m.scim_group_pk = ? AND m.pk > ? AND u.scim_user_name IS NOT NULL ORDER BY m.pk LIMIT ?`,
      groupPk,
      last,
      SLICE,
    );
    if (lines.length > 0) yield lines;
    if (lines.length < SLICE) return;
    last = lines.at(-1)?.pk ?? last;
  }
}

/** What the directory calls a group, with the id. */
export function groupDocument({ id, name, externalId, createdAt, updatedAt }: Omit<Group, "pk">): Document {
  return {
    id,
    ...(externalId === null ? {} : { externalId }),
    displayName: name,
    meta: { created: new Date(createdAt).toISOString(), lastModified: new Date(updatedAt).toISOString() },
  };
}

/** Where groups are found. */
export function groupSource(reader: Reader): Source {
  const mine = "g.identity_provider_id IS NULL";
  return {
    type: GROUPS,
    count: () => reader.one<{ n: number }>(`SELECT count(*) AS n FROM scim_groups g WHERE ${mine}`)?.n ?? 0,
    keys: (skip, limit) =>
      reader
        .all<{ pk: number }>(`SELECT g.pk FROM scim_groups g WHERE ${mine} ORDER BY g.pk LIMIT ? OFFSET ?`, limit, skip)
        .map(({ pk }) => pk),
    after: (pk, limit) => candidates(reader, `g.pk > ? AND ${mine} ORDER BY g.pk LIMIT ?`, pk, limit),
    having: ({ name, value }) => {
      if (name === "displayName") return candidates(reader, `g.name = ? COLLATE NOCASE AND ${mine}`, value);
      if (name === "externalId") return candidates(reader, `g.external_id = ? COLLATE NOCASE AND ${mine}`, value);
      return name === "id" ? candidates(reader, `g.id = ? AND ${mine}`, value.toLowerCase()) : [];
    },
    related: (userId) =>
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

function candidates(reader: Reader, where: string, ...params: (string | number)[]): Candidate[] {
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
    document: groupDocument({ ...line, createdAt: at, updatedAt: updated } as Omit<Group, "pk">),
  }));
}

async function change(
  needs: GroupNeeds,
  id: string,
  ifMatch: string | null,
  plan: MemberPlan,
  changed: (document: Document) => GroupInput,
  by: By,
): Promise<Group> {
  const { store } = needs;
  const joining = [...plan.joins];
  const present = provisionedGroup(store, id);
  await requireMembers(needs, joining);
  const leaving = await leavingBy(needs, present, plan);
  const group = await store.write((tx) => {
    const before = provisionedGroup(tx, id);
    requireVersion(ifMatch, groupVersion(tx, before));
    const input = changed(groupDocument(before));
    if (input.name === before.name && input.externalId === before.externalId) return before;
    requireFreeName(tx, input.name, before);
    return tx.update(scimGroups, id, input, by);
  });
  await changeManyMembers(store, id, { join: joining, leave: leaving }, by);
  return group;
}

/** Ids of those who go. Somebody whom people put into the group is not the directory's to take out. */
async function leavingBy(needs: GroupNeeds, { pk }: Group, { joins, leaves, isWhole }: MemberPlan): Promise<string[]> {
  const ids = await provisionedAmong(needs, [...leaves]);
  if (!isWhole) return ids;
  for (const slice of membersOf(needs.store, pk)) {
    for (const { id } of slice) if (!joins.has(id)) ids.push(id);
    await nextTurn(needs.clock);
  }
  return ids;
}

/** Throws ScimRefusal `invalidValue` for ids that are no users of the directory. */
async function requireMembers(needs: GroupNeeds, ids: readonly string[]): Promise<void> {
  const found = await provisionedAmong(needs, ids);
  if (found.length < ids.length)
    throw new ScimRefusal("invalidValue", "A member is no user that was provisioned here.");
}

async function provisionedAmong({ store, clock }: GroupNeeds, ids: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (let at = 0; at < ids.length; at += SLICE) {
    const lines = store.all<{ id: string }>(
      "SELECT id FROM users WHERE id IN (SELECT value FROM json_each(?)) AND scim_user_name IS NOT NULL",
      JSON.stringify(ids.slice(at, at + SLICE)),
    );
    for (const { id } of lines) found.push(id);
    await nextTurn(clock);
  }
  return found;
}

interface GroupInput {
  name: string;
  externalId: string | null;
}

function readGroup(body: unknown): { input: GroupInput; members: string[] } {
  const { members, ...rest } = (body ?? {}) as Record<string, unknown>;
  const { displayName, externalId } = readDocument(GROUPS, Array.isArray(body) ? body : rest);
  return { input: inputOf(displayName, externalId ?? null), members: memberIds(members ?? []) };
}

function inputOf(displayName: unknown, externalId: unknown): GroupInput {
  const name = typeof displayName === "string" ? displayName.trim() : "";
  if (name === "" || name.length > 255) {
    throw new ScimRefusal("invalidValue", "Attribute displayName is required and has at most 255 signs.");
  }
  return { name, externalId: typeof externalId === "string" ? externalId : null };
}

/** own choice: names tell groups apart where ties are made, so no two that are provisioned share one. */
function requireFreeName(reader: Reader, name: string, group: Group | null): void {
  const [other] = candidates(reader, "g.name = ? COLLATE NOCASE AND g.identity_provider_id IS NULL", name);
  if (other && other.pk !== group?.pk) throw new ScimRefusal("uniqueness", "Another group has that displayName.");
}
