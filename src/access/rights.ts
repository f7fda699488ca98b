import type { Reader, Scope } from "../store/store.ts";
import type { Grant } from "./grants.ts";

/** Everything that a user was given, without the rights that every user has. */
export interface Rights {
  /** A member of a super group may do everything. */
  superUser: boolean;
  grants: Grant[];
}

/** Reads what groups and own permissions give to a user. */
export function rightsOfUser(reader: Reader, userPk: number): Rights {
  const superGroup = reader.one(
    `SELECT g.pk FROM security_group_members m JOIN security_groups g ON g.pk = m.security_group_pk
     WHERE m.user_pk = ? AND g.super_group = 1 LIMIT 1`,
    userPk,
  );
  const grants = reader.all<{ verb: string; spec: string }>(
    `SELECT verb, spec FROM user_permissions WHERE user_pk = ?
     UNION SELECT p.verb, p.spec FROM security_group_members m
       JOIN security_group_permissions p ON p.security_group_pk = m.security_group_pk WHERE m.user_pk = ?`,
    userPk,
    userPk,
  ) as Grant[];
  return { superUser: superGroup !== null, grants };
}

/** Reads what a security group gives to its members. */
export function rightsOfGroup(reader: Reader, groupPk: number): Rights {
  const group = reader.one<{ super_group: number }>("SELECT super_group FROM security_groups WHERE pk = ?", groupPk);
  const grants = reader.all<{ verb: string; spec: string }>(
    "SELECT verb, spec FROM security_group_permissions WHERE security_group_pk = ?",
    groupPk,
  ) as Grant[];
  return { superUser: group?.super_group === 1, grants };
}

/** True when `scope` covers every grant, so that its holder could pass them on without gaining anything. */
export function covers(scope: Scope, grants: readonly Grant[]): boolean {
  return grants.every(({ verb, spec }) => scope.allows(verb, verb === "post" ? spec.replace(/\/\*$/, "") : spec));
}
