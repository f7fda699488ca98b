import { notFound } from "../lib/errors.ts";
import scimGroupMembers from "../resources/security/scim-group-members.ts";
import scimGroups from "../resources/security/scim-groups.ts";
import type { ActorContext, Store, StoreReader, Transaction } from "../store/store.ts";

/** Ids of users who come into a directory's group and of those who go. */
export interface MemberChanges {
  join: readonly string[];
  leave: readonly string[];
}

/** Members written in one transaction: a few milliseconds. own choice */
const CHUNK_SIZE = 25;

/**
 * The one way in which a directory's word, be it provisioning or a log-in, changes who is in one of its groups (`scim-groups`).
 * Who is in it already joins without effect, who is not leaves without. What security groups tied to it give begins and ends
 * with the commit, in sessions and tokens that are open, too. Returns how many memberships were written. Keep a call to
 * `SLICE` users; more are `changeManyMembers`'. Throws not-found without such a group, invalid-value on `userId` for a user
 * that there is not, forbidden where `by` is a user who may not pass on what the group gives.
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
 * As `changeMembers`, for any number of users: in slices between which others write. own choice: who has to leave does so
 * first; a slice that is refused leaves those before it, and the same call once more completes it.
 */
export async function changeGroupMembers(
  store: Pick<Store, "write">,
  scimGroupId: string,
  { join, leave }: MemberChanges,
  by: ActorContext,
): Promise<void> {
  const slices = [
    ...chunked(leave).map((users) => ({ join: [], leave: users })),
    ...chunked(join).map((users) => ({ join: users, leave: [] })),
  ];
  for (const slice of slices) await store.write((tx) => changeMembersInTransaction(tx, scimGroupId, slice, by));
}

/**
 * Puts a user into exactly those of the directory's groups `among` (ids) that `wanted` (ids, all in `among`) names, as a
 * directory says at log-in; groups beside them are left alone. Throws what `changeMembers` throws.
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

/** Ids of the memberships that users have in a group, by the user's id. */
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
