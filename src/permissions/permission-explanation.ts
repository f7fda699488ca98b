import { isAccountLocked } from "../auth/account-lock.ts";
import type { AccessControl } from "../auth/principal.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, invalidValue } from "../lib/errors.ts";
import domains from "../resources/domains/domains.ts";
import type users from "../resources/people/users.ts";
import securityGroups from "../resources/security/security-groups.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource, Method, RowOf } from "../schema/resource.ts";
import type { AccessScope, Store, StoreReader } from "../store/store.ts";
import { compileGrants, splitPath } from "./grants.ts";
import { buildImplicitGrants } from "./implicit-grants.ts";
import { GROUP_MEMBERSHIPS_SQL } from "./security-group-memberships.ts";
import { isOrganisationPath, organisationSegments } from "./user-scope.ts";

/** A grant with where it comes from. */
export interface SourcedGrant {
  /** A method; `*` for all. */
  verb: string;
  /** Pattern of paths; `*` for all. */
  spec: string;
  /** `implicit`: every user has it; `super-group`: everything; `own`: given to the user; `group`: given to a group. */
  from: "implicit" | "super-group" | "own" | "group";
  /** The row that gives it; null for what no permission gives, and for what the asker may not see. */
  permissionId: string | null;
  securityGroupId: string | null;
  securityGroupName: string | null;
  /** Domain that it is limited to, with those below; null for everywhere. */
  domainId: string | null;
}

type User = RowOf<typeof users>;

const GRANTED_SQL = `SELECT DISTINCT 'super-group' AS "from", '*' AS verb, '*' AS spec, NULL AS permissionId, g.id AS securityGroupId,
    g.name AS securityGroupName, NULL AS domainId
  FROM ${GROUP_MEMBERSHIPS_SQL} m JOIN security_groups g ON g.pk = m.security_group_pk
  WHERE m.user_pk = ? AND g.super_group = 1
  UNION ALL SELECT 'own', p.verb, p.spec, p.id, NULL, NULL, d.id
  FROM user_permissions p LEFT JOIN domains d ON d.pk = p.domain_pk WHERE p.user_pk = ?
  UNION ALL SELECT DISTINCT 'group', p.verb, p.spec, p.id, g.id, g.name, d.id
  FROM ${GROUP_MEMBERSHIPS_SQL} m JOIN security_groups g ON g.pk = m.security_group_pk
  JOIN security_group_permissions p ON p.security_group_pk = g.pk
  LEFT JOIN domains d ON d.pk = p.domain_pk WHERE m.user_pk = ?`;

/**
 * Everything that a user may do, implicit grants first, as far as `scope` lets one know: grants limited to other domains
 * are left out, groups out of sight are not named.
 */
export function listUserGrants(
  reader: StoreReader,
  { id, pk }: Pick<User, "id" | "pk">,
  scope: AccessScope,
): SourcedGrant[] {
  const nowhere = { permissionId: null, securityGroupId: null, securityGroupName: null, domainId: null };
  const implicit = buildImplicitGrants(id).map((grant) => ({ ...grant, ...nowhere, from: "implicit" as const }));
  const given = reader.all<SourcedGrant & Record<string, string | null>>(GRANTED_SQL, pk, pk, pk);
  const known = given.filter(({ domainId }) => domainId === null || scope.canReference(domainId));
  return [...implicit, ...known.map((grant) => withoutHiddenGroup(grant, reader, scope))];
}

function withoutHiddenGroup(grant: SourcedGrant, reader: StoreReader, { domainVisibility }: AccessScope): SourcedGrant {
  const { securityGroupId: id } = grant;
  if (id === null || reader.get(securityGroups, id, domainVisibility)) return grant;
  return { ...grant, permissionId: null, securityGroupId: null, securityGroupName: null };
}

/** What somebody would ask for. */
export interface PermissionQuery {
  user: User;
  verb: Method;
  /** Concrete: `/users/0190…`. */
  path: string;
  /** Null for the first domain available to the user. */
  domainId: string | null;
}

/** Whether a user may do something, and why. */
export interface PermissionExplanation {
  granted: boolean;
  /** The domain that it would be done in; null when the user may not act there. */
  domainId: string | null;
  /** The grants that allow it. */
  grants: readonly SourcedGrant[];
  /** What stands against it, in words; empty when granted. */
  missing: readonly string[];
}

/** What explaining needs. */
export interface PermissionExplanationDeps {
  store: Store;
  access: AccessControl;
  catalogue: Catalogue;
  clock: Clock;
}

/** Says whether `user` may do what is asked for and why, as far as the asker's `scope` lets one know. Throws invalid-value. */
export function explainPermission(
  { user, verb, path, domainId }: PermissionQuery,
  deps: PermissionExplanationDeps,
  scope: AccessScope,
): PermissionExplanation {
  const missing: string[] = [];
  if (isAccountLocked(user.lock, deps.clock.now())) missing.push("The account is locked.");
  const acting = resolveActingScope(user, domainId, deps);
  if (!acting)
    return {
      granted: false,
      domainId: null,
      grants: [],
      missing: [...missing, "The user may not act in this domain."],
    };
  const grants = findApplicableGrants(listUserGrants(deps.store, user, scope), acting, { verb, path }, deps);
  if (!acting.allows(verb, path)) missing.push(...explainMissingGrants({ verb, path }, grants, deps));
  else missing.push(...explainInvisibleRow({ verb, path }, acting, deps));
  const granted = missing.length === 0;
  return { granted, domainId: acting.domainId, grants, missing };
}

function resolveActingScope(
  { id: userId, pk: userPk, name, email }: User,
  domainId: string | null,
  { access }: PermissionExplanationDeps,
) {
  const principal = { userId, userPk, name, email, tokenId: "", scopes: null, accessToken: null };
  try {
    return access.resolveScope(principal, domainId);
  } catch (error) {
    if (error instanceof CallerError) return null;
    throw error;
  }
}

type RequestedOperation = Pick<PermissionQuery, "verb" | "path">;

/** Grants that cover the request and hold in the acting domain. */
function findApplicableGrants(
  grants: readonly SourcedGrant[],
  acting: AccessScope,
  { verb, path }: RequestedOperation,
  { store }: PermissionExplanationDeps,
): SourcedGrant[] {
  const places = acting.domainId === null ? [] : (store.get(domains, acting.domainId)?.path?.split("/") ?? []);
  return grants.filter((grant) => {
    if (grant.domainId !== null && !places.includes(grant.domainId)) return false;
    if (grant.verb === "*") return true;
    return compileGrants([{ verb: grant.verb as Method, spec: grant.spec }]).allows(verb, path);
  });
}

function explainMissingGrants(
  { verb, path }: RequestedOperation,
  grants: readonly SourcedGrant[],
  { catalogue }: PermissionExplanationDeps,
): string[] {
  const isWhole = verb !== "get" && isOrganisationPath(path, organisationSegments(catalogue));
  if (grants.length > 0 && isWhole) {
    return ["What belongs to the whole organisation takes a permission that is not limited to a domain."];
  }
  return [`No permission covers ${verb} ${path} here.`];
}

/** The row that the path names may lie out of the acting domain's sight or reach. */
function explainInvisibleRow(
  { verb, path }: RequestedOperation,
  acting: AccessScope,
  { catalogue, store }: PermissionExplanationDeps,
): string[] {
  const named = parseItemPath(path, catalogue);
  if (!named) return [];
  const { resource, id } = named;
  if (!store.get(resource, id, acting)) return ["The user does not see this row from there, or there is none."];
  if (verb === "get" || store.get(resource, id, acting.changeable)) return [];
  return ["The row is shared from a domain above and can be changed there alone."];
}

/** The resource and id of an item's path; null for collections and actions. */
function parseItemPath(path: string, catalogue: Catalogue): { resource: AnyResource; id: string } | null {
  const asked = splitPath(path);
  for (const resource of catalogue.all) {
    for (const each of resource.paths) {
      const at = splitPath(each.at);
      const fits = at.every((segment, index) => segment.startsWith("{") || segment === asked[index]);
      if (fits && asked.length === at.length + 1 && !each.itemBy) return { resource, id: asked.at(-1) as string };
    }
  }
  return null;
}

/** Throws invalid-value for a path that no request could have. */
export function assertRequestPath(path: string): void {
  if (!/^(\/[A-Za-z0-9-]+)+$/.test(path)) throw invalidValue("path", "It must be a path such as /users/0190….");
}
