import securityGroupMembers from "../resources/security/security-group-members.ts";
import securityGroupPermissions from "../resources/security/security-group-permissions.ts";
import securityGroups from "../resources/security/security-groups.ts";
import userPermissions from "../resources/security/user-permissions.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import type { Reader } from "../store/store.ts";

/** A right that somebody holds by a rule; a super group gives `*` on `*`. */
export interface Right {
  verb: string;
  spec: string;
}

/** Who holds what by one rule. */
export interface Given {
  /** The row that gives it: a permission, a membership or a group. */
  by: string;
  /** Internal keys of users. */
  holders: readonly number[];
  rights: readonly Right[];
}

/** One user and one right. */
export interface Holding extends Right {
  userPk: number;
}

const EVERYTHING: Right = { verb: "*", spec: "*" };

/** Who holds what by a row; null for rows that give no rights. */
export function givenBy(reader: Reader, resource: AnyResource, row: unknown): Given | null {
  const by = (row as { id: string }).id;
  switch (resource.name) {
    case userPermissions.name: {
      const { userId, verb, spec } = row as RowOf<typeof userPermissions>;
      return { by, holders: userKeys(reader, userId), rights: [{ verb, spec }] };
    }
    case securityGroupPermissions.name: {
      const { securityGroupId, verb, spec } = row as RowOf<typeof securityGroupPermissions>;
      return { by, holders: memberKeys(reader, securityGroupId), rights: [{ verb, spec }] };
    }
    case securityGroupMembers.name: {
      const { userId, securityGroupId } = row as RowOf<typeof securityGroupMembers>;
      return { by, holders: userKeys(reader, userId), rights: rightsOf(reader, securityGroupId) };
    }
    case securityGroups.name:
      return { by, holders: memberKeys(reader, by), rights: rightsOf(reader, by) };
    default:
      return null;
  }
}

function userKeys(reader: Reader, userId: string): number[] {
  return reader.all<{ pk: number }>("SELECT pk FROM users WHERE id = ?", userId).map(({ pk }) => pk);
}

function memberKeys(reader: Reader, groupId: string): number[] {
  const sql = `SELECT m.user_pk AS pk FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
    WHERE g.id = ? ORDER BY m.user_pk`;
  return reader.all<{ pk: number }>(sql, groupId).map(({ pk }) => pk);
}

function rightsOf(reader: Reader, groupId: string): Right[] {
  const rights = reader.all<{ verb: string; spec: string }>(
    `SELECT DISTINCT p.verb, p.spec FROM security_group_permissions p JOIN security_groups g ON g.pk = p.security_group_pk
     WHERE g.id = ?`,
    groupId,
  );
  const isSuper = reader.one("SELECT 1 FROM security_groups WHERE id = ? AND super_group = 1", groupId) !== null;
  return isSuper ? [EVERYTHING, ...rights] : rights;
}

/** The holdings of `one` that `other` does not give, and that no rule but theirs gives either. */
export function heldOnlyBy(one: Given | null, other: Given | null, reader: Reader): Holding[] {
  if (!one) return [];
  return one.rights.flatMap((right) => {
    const isGiven = other?.rights.some(({ verb, spec }) => verb === right.verb && spec === right.spec) ?? false;
    const kept = new Set(isGiven ? other?.holders : []);
    const holders = one.holders.filter((pk) => !kept.has(pk));
    const elsewhere = holders.length === 0 ? new Set<number>() : heldElsewhere(holders, right, one.by, reader);
    return holders.filter((pk) => !elsewhere.has(pk)).map((userPk) => ({ userPk, ...right }));
  });
}

/**
 * Which of the users hold a right by other rules, a membership in another super group included. A right that is limited to
 * a domain makes up for none.
 */
function heldElsewhere(users: readonly number[], { verb, spec }: Right, by: string, reader: Reader): Set<number> {
  const among = JSON.stringify(users);
  const found = reader.all<{ pk: number }>(
    `SELECT user_pk AS pk FROM user_permissions
       WHERE verb = ? AND spec = ? AND id <> ? AND domain_pk IS NULL AND user_pk IN (SELECT value FROM json_each(?))
     UNION SELECT m.user_pk FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
       LEFT JOIN security_group_permissions p ON p.security_group_pk = g.pk AND p.verb = ? AND p.spec = ? AND p.id <> ?
         AND p.domain_pk IS NULL
       WHERE (p.pk IS NOT NULL OR g.super_group = 1) AND m.id <> ? AND g.id <> ?
         AND m.user_pk IN (SELECT value FROM json_each(?))`,
    ...[verb, spec, by, among, verb, spec, by, by, by, among],
  );
  return new Set(found.map(({ pk }) => pk));
}
