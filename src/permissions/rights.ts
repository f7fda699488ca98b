import type { StoreReader } from "../store/store.ts";
import type { Domain, DomainTree } from "./domain-tree.ts";
import type { Grant } from "./grants.ts";
import { GROUP_MEMBERSHIPS_SQL } from "./security-group-memberships.ts";

/** A grant with its domain limit. */
export interface DomainGrant extends Grant {
  /** Domain to which the grant is limited, with its descendants; null: every domain in which the holder may act. */
  domainId: string | null;
}

/** The rights given to a user, without the implicit grants. */
export interface Rights {
  /** True for members of a super group: all rights in all domains. */
  superUser: boolean;
  grants: DomainGrant[];
}

type Line = Record<string, string | number | null>;

/** Reads the rights of a user from groups and user permissions. */
export function readUserRights(reader: StoreReader, userPk: number): Rights {
  const superGroup = reader.one(
    `SELECT g.pk FROM ${GROUP_MEMBERSHIPS_SQL} m JOIN security_groups g ON g.pk = m.security_group_pk
     WHERE m.user_pk = ? AND g.super_group = 1 LIMIT 1`,
    userPk,
  );
  const grants = reader.all<DomainGrant & Line>(
    `SELECT p.verb, p.spec, d.id AS domainId FROM user_permissions p LEFT JOIN domains d ON d.pk = p.domain_pk
       WHERE p.user_pk = ?
     UNION SELECT p.verb, p.spec, d.id FROM ${GROUP_MEMBERSHIPS_SQL} m
       JOIN security_group_permissions p ON p.security_group_pk = m.security_group_pk
       LEFT JOIN domains d ON d.pk = p.domain_pk WHERE m.user_pk = ?`,
    userPk,
    userPk,
  );
  return { superUser: superGroup !== null, grants };
}

/** True if a security group of the user requires a second factor. */
export function isSecondFactorRequired(reader: StoreReader, userPk: number): boolean {
  const group = reader.one(
    `SELECT g.pk FROM ${GROUP_MEMBERSHIPS_SQL} m JOIN security_groups g ON g.pk = m.security_group_pk
     WHERE m.user_pk = ? AND g.second_factor_required = 1 LIMIT 1`,
    userPk,
  );
  return group !== null;
}

/** Reads the rights that a security group gives its members. */
export function readGroupRights(reader: StoreReader, groupPk: number): Rights {
  const group = reader.one<{ super_group: number }>("SELECT super_group FROM security_groups WHERE pk = ?", groupPk);
  const grants = reader.all<DomainGrant & Line>(
    `SELECT p.verb, p.spec, d.id AS domainId FROM security_group_permissions p
     LEFT JOIN domains d ON d.pk = p.domain_pk WHERE p.security_group_pk = ?`,
    groupPk,
  );
  return { superUser: group?.super_group === 1, grants };
}

/** Ids of the domains of a user. */
export function readUserDomainIds(reader: StoreReader, userPk: number): string[] {
  return uniqueDomainIds(
    reader.all("SELECT d.id, u.also_in FROM users u LEFT JOIN domains d ON d.pk = u.domain_pk WHERE u.pk = ?", userPk),
  );
}

/** Ids of the domains of the members of a security group. */
export function readGroupMemberDomainIds(reader: StoreReader, groupPk: number): string[] {
  return uniqueDomainIds(
    reader.all(
      `SELECT DISTINCT d.id, u.also_in FROM ${GROUP_MEMBERSHIPS_SQL} m JOIN users u ON u.pk = m.user_pk
       LEFT JOIN domains d ON d.pk = u.domain_pk WHERE m.security_group_pk = ?`,
      groupPk,
    ),
  );
}

/** Ids of the domains of the members of a directory group. */
export function readScimGroupMemberDomainIds(reader: StoreReader, scimGroupId: string): string[] {
  return uniqueDomainIds(
    reader.all(
      `SELECT DISTINCT d.id, u.also_in FROM scim_group_members m JOIN scim_groups s ON s.pk = m.scim_group_pk
       JOIN users u ON u.pk = m.user_pk LEFT JOIN domains d ON d.pk = u.domain_pk WHERE s.id = ?`,
      scimGroupId,
    ),
  );
}

function uniqueDomainIds(lines: readonly { id: string | null; also_in: string | null }[]): string[] {
  const ids = lines.flatMap(({ id, also_in }) => [
    ...(id === null ? [] : [id]),
    ...(also_in === null ? [] : (JSON.parse(also_in) as string[])),
  ]);
  return [...new Set(ids)];
}

/**
 * The topmost domains in which a user may act; their descendants are available too. These are the user's domains and
 * the domains of its limited grants; super users act everywhere.
 */
export function findAvailableDomains(
  reader: StoreReader,
  userPk: number,
  rights: Rights,
  tree: DomainTree,
): ReadonlySet<Domain> {
  if (rights.superUser) return new Set(tree.root ? [tree.root] : []);
  const ids = [...readUserDomainIds(reader, userPk), ...rights.grants.flatMap(({ domainId }) => domainId ?? [])];
  return new Set(ids.flatMap((id) => tree.byId.get(id) ?? []));
}
