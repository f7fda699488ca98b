import { notFound } from "../lib/errors.ts";
import scimGroupMembers from "../resources/security/scim-group-members.ts";
import scimGroups from "../resources/security/scim-groups.ts";
import type { ActorContext, Store, StoreReader, Transaction } from "../store/store.ts";

/** Ids of users to add to and remove from a directory group. */
export interface MemberChanges {
  join: readonly string[];
  leave: readonly string[];
}

/** Members written in one transaction: a few milliseconds. */
const CHUNK_SIZE = 25;

/**
 * Changes the members of a directory group (`scim-groups`). SCIM provisioning and logins both write memberships only
 * through this function. Adding a member or removing a non-member has no effect. Rights of the linked security groups
 * begin and end with the commit, also in open sessions and tokens. Returns the number of written memberships. Use at
 * most `CHUNK_SIZE` users per call. Throws not-found for an unknown group, invalid-value on `userId` for an unknown
 * user, forbidden when `by` may not delegate the rights of the group.
 */
function changeMembersInTransaction(
  tx: Transaction,
  scimGroupId: string,
  { join, leave }: MemberChanges,
  by: ActorContext,
): number {
  const group = tx.get(scimGroups, scimGroupId);
  if (!group) throw notFound();
  const present = readMemberships(tx, group.pk, [...join, ...leave]);
  const leaving = [...new Set(leave)].flatMap((userId) => present.get(userId) ?? []);
  const joining = [...new Set(join)].filter((userId) => !present.has(userId));
  for (const id of leaving) tx.remove(scimGroupMembers, id, by);
  for (const userId of joining) tx.create(scimGroupMembers, { scimGroupId, userId }, by);
  return leaving.length + joining.length;
}

/**
 * As `changeMembersInTransaction` for any number of users, in chunks. Removals come first. If a chunk is refused, the
 * earlier ones stay; repeating the call completes the change.
 */
export async function changeGroupMembers(
  store: Pick<Store, "write">,
  scimGroupId: string,
  { join, leave }: MemberChanges,
  by: ActorContext,
): Promise<void> {
  const chunks = [
    ...chunked(leave).map((users) => ({ join: [], leave: users })),
    ...chunked(join).map((users) => ({ join: users, leave: [] })),
  ];
  for (const chunk of chunks) await store.write((tx) => changeMembersInTransaction(tx, scimGroupId, chunk, by));
}

/**
 * Sets the directory groups of a user at login: within the groups `among` (ids) the user is a member of exactly those
 * in `wanted` (a subset); other groups are not touched. Throws what `changeMembersInTransaction` throws.
 */
export function syncUserGroups(
  tx: Transaction,
  userId: string,
  { wanted, among }: { wanted: readonly string[]; among: readonly string[] },
  by: ActorContext,
): void {
  const isWanted = new Set(wanted);
  for (const scimGroupId of among) {
    const changes = isWanted.has(scimGroupId) ? { join: [userId], leave: [] } : { join: [], leave: [userId] };
    changeMembersInTransaction(tx, scimGroupId, changes, by);
  }
}

/** Ids of the memberships in a group, by user id. */
function readMemberships(
  reader: StoreReader,
  groupPk: number,
  userIds: readonly string[],
): ReadonlyMap<string, string> {
  const found = reader.all<{ id: string; userId: string }>(
    `SELECT m.id, u.id AS userId FROM users u JOIN scim_group_members m ON m.user_pk = u.pk AND m.scim_group_pk = ?
     WHERE u.id IN (SELECT value FROM json_each(?))`,
    groupPk,
    JSON.stringify(userIds),
  );
  return new Map(found.map(({ id, userId }) => [userId, id]));
}

function chunked(ids: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(ids.length / CHUNK_SIZE) }, (_none, at) =>
    ids.slice(at * CHUNK_SIZE, (at + 1) * CHUNK_SIZE),
  );
}
