import domains from "../resources/domains/domains.ts";
import scimGroupMembers from "../resources/security/scim-group-members.ts";
import securityGroupMembers from "../resources/security/security-group-members.ts";
import securityGroupPermissions from "../resources/security/security-group-permissions.ts";
import securityGroupScimGroups from "../resources/security/security-group-scim-groups.ts";
import securityGroups from "../resources/security/security-groups.ts";
import userPermissions from "../resources/security/user-permissions.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import type { StoreReader } from "../store/store.ts";
import { GROUP_MEMBERSHIPS_SQL } from "./security-group-memberships.ts";

/** A right with its limit; a super group gives `*` on `*`. */
export interface HeldRight {
  verb: string;
  spec: string;
  /** Domain to which the right is limited, with its descendants; null: every domain in which the holder may act. */
  domainId: string | null;
}

/** The rights that one row gives, and their holders. */
export interface RightsSource {
  /** The row that gives the rights: a permission, a membership, a link or a group. */
  sourceId: string;
  /** Internal keys of users. */
  holders: readonly number[];
  rights: readonly HeldRight[];
}

/** One user and one right. */
export interface UserRight extends HeldRight {
  userPk: number;
}

const SUPER_USER_RIGHT: HeldRight = { verb: "*", spec: "*", domainId: null };

/** Reads the rights that a row gives; null for rows that give none. */
export function readRightsSource(reader: StoreReader, resource: AnyResource, row: unknown): RightsSource | null {
  const sourceId = (row as { id: string }).id;
  switch (resource.name) {
    case userPermissions.name: {
      const { userId, verb, spec, domainId } = row as RowOf<typeof userPermissions>;
      return { sourceId, holders: readUserKeys(reader, userId), rights: [{ verb, spec, domainId }] };
    }
    case securityGroupPermissions.name: {
      const { securityGroupId, verb, spec, domainId } = row as RowOf<typeof securityGroupPermissions>;
      return { sourceId, holders: readMemberKeys(reader, securityGroupId), rights: [{ verb, spec, domainId }] };
    }
    case securityGroupMembers.name: {
      const { userId, securityGroupId } = row as RowOf<typeof securityGroupMembers>;
      return { sourceId, holders: readUserKeys(reader, userId), rights: readRights(reader, securityGroupId) };
    }
    case scimGroupMembers.name: {
      const { userId, scimGroupId } = row as RowOf<typeof scimGroupMembers>;
      const groups = reader.find(securityGroupScimGroups, { scimGroupId });
      const rights = groups.flatMap(({ securityGroupId }) => readRights(reader, securityGroupId));
      return { sourceId, holders: readUserKeys(reader, userId), rights };
    }
    case securityGroupScimGroups.name: {
      const { scimGroupId, securityGroupId } = row as RowOf<typeof securityGroupScimGroups>;
      return {
        sourceId,
        holders: readScimMemberKeys(reader, scimGroupId),
        rights: readRights(reader, securityGroupId),
      };
    }
    case securityGroups.name:
      return { sourceId, holders: readMemberKeys(reader, sourceId), rights: readRights(reader, sourceId) };
    default:
      return null;
  }
}

function readUserKeys(reader: StoreReader, userId: string): number[] {
  return reader.all<{ pk: number }>("SELECT pk FROM users WHERE id = ?", userId).map(({ pk }) => pk);
}

function readMemberKeys(reader: StoreReader, groupId: string): number[] {
  const sql = `SELECT DISTINCT m.user_pk AS pk FROM ${GROUP_MEMBERSHIPS_SQL} m JOIN security_groups g ON g.pk = m.security_group_pk
    WHERE g.id = ? ORDER BY m.user_pk`;
  return reader.all<{ pk: number }>(sql, groupId).map(({ pk }) => pk);
}

function readScimMemberKeys(reader: StoreReader, scimGroupId: string): number[] {
  const sql = `SELECT m.user_pk AS pk FROM scim_group_members m JOIN scim_groups g ON g.pk = m.scim_group_pk
    WHERE g.id = ? ORDER BY m.user_pk`;
  return reader.all<{ pk: number }>(sql, scimGroupId).map(({ pk }) => pk);
}

function readRights(reader: StoreReader, groupId: string): HeldRight[] {
  const rights = reader.all<{ verb: string; spec: string; domainId: string | null }>(
    `SELECT DISTINCT p.verb, p.spec, d.id AS domainId FROM security_group_permissions p
     JOIN security_groups g ON g.pk = p.security_group_pk LEFT JOIN domains d ON d.pk = p.domain_pk WHERE g.id = ?`,
    groupId,
  );
  const isSuper = reader.one("SELECT 1 FROM security_groups WHERE id = ? AND super_group = 1", groupId) !== null;
  return isSuper ? [SUPER_USER_RIGHT, ...rights] : rights;
}

/**
 * The rights of `one` that neither `other` nor any third row gives to the same users. A right without a domain limit,
 * or in an ancestor domain, includes the right in a domain.
 */
export function findRightsHeldOnlyBy(
  one: RightsSource | null,
  other: RightsSource | null,
  reader: StoreReader,
): UserRight[] {
  if (!one) return [];
  return one.rights.flatMap((right) => {
    const domainPath = right.domainId === null ? [] : readDomainPath(right.domainId, reader);
    const isGiven = other?.rights.some((given) => covers(given, right, domainPath)) ?? false;
    const keepingUsers = new Set(isGiven ? other?.holders : []);
    const holders = one.holders.filter((pk) => !keepingUsers.has(pk));
    const elsewhere =
      holders.length === 0
        ? new Set<number>()
        : findUsersWithOtherSource(holders, right, domainPath, one.sourceId, reader);
    return holders.filter((pk) => !elsewhere.has(pk)).map((userPk) => ({ userPk, ...right }));
  });
}

function covers(given: HeldRight, { verb, spec }: HeldRight, domainPath: readonly string[]): boolean {
  const reaches = given.domainId === null || domainPath.includes(given.domainId);
  return reaches && given.verb === verb && given.spec === spec;
}

/** Ids of a domain and its ancestors. */
function readDomainPath(domainId: string, reader: StoreReader): readonly string[] {
  return reader.get(domains, domainId)?.path?.split("/") ?? [domainId];
}

/** The users who hold a right through other rows, including membership in another super group. */
function findUsersWithOtherSource(
  users: readonly number[],
  { verb, spec }: HeldRight,
  domainPath: readonly string[],
  sourceId: string,
  reader: StoreReader,
): Set<number> {
  const [among, within] = [JSON.stringify(users), JSON.stringify(domainPath)];
  const reaches = `(p.domain_pk IS NULL
    OR p.domain_pk IN (SELECT d.pk FROM domains d WHERE d.id IN (SELECT value FROM json_each(?))))`;
  const found = reader.all<{ pk: number }>(
    `SELECT p.user_pk AS pk FROM user_permissions p
       WHERE p.verb = ? AND p.spec = ? AND p.id <> ? AND ${reaches} AND p.user_pk IN (SELECT value FROM json_each(?))
     UNION SELECT m.user_pk FROM ${GROUP_MEMBERSHIPS_SQL} m JOIN security_groups g ON g.pk = m.security_group_pk
       LEFT JOIN security_group_permissions p ON p.security_group_pk = g.pk AND p.verb = ? AND p.spec = ? AND p.id <> ?
         AND ${reaches}
       WHERE (p.pk IS NOT NULL OR g.super_group = 1) AND m.id <> ? AND m.tie IS NOT ? AND g.id <> ?
         AND m.user_pk IN (SELECT value FROM json_each(?))`,
    ...[verb, spec, sourceId, within, among, verb, spec, sourceId, within, sourceId, sourceId, sourceId, among],
  );
  return new Set(found.map(({ pk }) => pk));
}
