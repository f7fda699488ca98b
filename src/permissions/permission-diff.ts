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

/** A right that somebody holds by a rule; a super group gives `*` on `*`. */
export interface HeldRight {
  verb: string;
  spec: string;
  /** Domain within which, with those below it, it holds; null for wherever its holder may act. */
  domainId: string | null;
}

/** Who holds what by one rule. */
export interface RightsSource {
  /** The row that gives it: a permission, a membership or a group. */
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

/** Who holds what by a row; null for rows that give no rights. */
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
 * The holdings of `one` that `other` does not give, and that no rule but theirs gives either. A right everywhere, or in a
 * domain above, is as good as one in a domain.
 */
export function findRightsHeldOnlyBy(
  one: RightsSource | null,
  other: RightsSource | null,
  reader: StoreReader,
): UserRight[] {
  if (!one) return [];
  return one.rights.flatMap((right) => {
    const places = right.domainId === null ? [] : readDomainPath(right.domainId, reader);
    const isGiven = other?.rights.some((given) => covers(given, right, places)) ?? false;
    const kept = new Set(isGiven ? other?.holders : []);
    const holders = one.holders.filter((pk) => !kept.has(pk));
    const elsewhere =
      holders.length === 0 ? new Set<number>() : findUsersWithOtherSource(holders, right, places, one.sourceId, reader);
    return holders.filter((pk) => !elsewhere.has(pk)).map((userPk) => ({ userPk, ...right }));
  });
}

function covers(given: HeldRight, { verb, spec }: HeldRight, places: readonly string[]): boolean {
  const reaches = given.domainId === null || places.includes(given.domainId);
  return reaches && given.verb === verb && given.spec === spec;
}

/** Ids of a domain and those above it. */
function readDomainPath(domainId: string, reader: StoreReader): readonly string[] {
  return reader.get(domains, domainId)?.path?.split("/") ?? [domainId];
}

/** Which of the users hold a right by other rules, a membership in another super group included. */
function findUsersWithOtherSource(
  users: readonly number[],
  { verb, spec }: HeldRight,
  places: readonly string[],
  by: string,
  reader: StoreReader,
): Set<number> {
  const [among, within] = [JSON.stringify(users), JSON.stringify(places)];
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
    ...[verb, spec, by, within, among, verb, spec, by, within, by, by, by, among],
  );
  return new Set(found.map(({ pk }) => pk));
}
