import { isAccountLocked } from "../auth/account-lock.ts";
import type { AccessControl } from "../auth/principal.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, invalidValue } from "../lib/errors.ts";
import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
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

/** A grant with its source. */
export interface SourcedGrant {
  /** Method; `*` for all. */
  verb: string;
  /** Path pattern; `*` for all. */
  spec: string;
  /** `implicit`: every user has it; `super-group`: all rights; `own`: given to the user; `group`: given to a group. */
  from: "implicit" | "super-group" | "own" | "group";
  /** The permission row; null for implicit grants and for rows that the caller may not see. */
  permissionId: string | null;
  securityGroupId: string | null;
  securityGroupName: string | null;
  /** Domain to which it is limited, with its descendants; null: no limit. */
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
 * All grants of a user, implicit grants first, as far as `scope` may see them: grants limited to hidden domains are
 * left out, hidden groups are not named.
 */
export function listUserGrants(
  reader: StoreReader,
  { id, pk }: Pick<User, "id" | "pk">,
  scope: AccessScope,
): SourcedGrant[] {
  const noSource = { permissionId: null, securityGroupId: null, securityGroupName: null, domainId: null };
  const implicit = buildImplicitGrants(id).map((grant) => ({ ...grant, ...noSource, from: "implicit" as const }));
  const given = reader.all<SourcedGrant & Record<string, string | null>>(GRANTED_SQL, pk, pk, pk);
  const known = given.filter(({ domainId }) => domainId === null || scope.canReference(domainId));
  return [...implicit, ...known.map((grant) => withoutHiddenGroup(grant, reader, scope))];
}

function withoutHiddenGroup(grant: SourcedGrant, reader: StoreReader, { domainVisibility }: AccessScope): SourcedGrant {
  const { securityGroupId: id } = grant;
  if (id === null || reader.get(securityGroups, id, domainVisibility)) return grant;
  return { ...grant, permissionId: null, securityGroupId: null, securityGroupName: null };
}

/** The request to explain. */
export interface PermissionQuery {
  user: User;
  verb: Method;
  /** Concrete path, such as `/users/0190…`. */
  path: string;
  /** Acting domain; null: the first one available to the user. */
  domainId: string | null;
}

/** Result of a permission check, with the reasons. */
export interface PermissionExplanation {
  granted: boolean;
  /** The acting domain; null when the user may not act there. */
  domainId: string | null;
  /** The grants that allow it. */
  grants: readonly SourcedGrant[];
  /** Reasons for the refusal, in English; empty when granted. */
  missing: readonly Sentence[];
}

/** Dependencies of the explanation. */
export interface PermissionExplanationDeps {
  store: Store;
  access: AccessControl;
  catalogue: Catalogue;
  clock: Clock;
}

/** Explains whether `user` may perform a request, as far as the caller's `scope` may know. Throws invalid-value. */
export function explainPermission(
  { user, verb, path, domainId }: PermissionQuery,
  deps: PermissionExplanationDeps,
  scope: AccessScope,
): PermissionExplanation {
  const missing: Sentence[] = [];
  if (isAccountLocked(user.lock, deps.clock.now())) missing.push(sentence("login.the-account-is-locked"));
  const acting = resolveActingScope(user, domainId, deps);
  if (!acting)
    return {
      granted: false,
      domainId: null,
      grants: [],
      missing: [...missing, sentence("permission.not-in-domain")],
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

/** The grants that cover the request in the acting domain. */
function findApplicableGrants(
  grants: readonly SourcedGrant[],
  acting: AccessScope,
  { verb, path }: RequestedOperation,
  { store }: PermissionExplanationDeps,
): SourcedGrant[] {
  const domainPath = acting.domainId === null ? [] : (store.get(domains, acting.domainId)?.path?.split("/") ?? []);
  return grants.filter((grant) => {
    if (grant.domainId !== null && !domainPath.includes(grant.domainId)) return false;
    if (grant.verb === "*") return true;
    return compileGrants([{ verb: grant.verb as Method, spec: grant.spec }]).allows(verb, path);
  });
}

function explainMissingGrants(
  { verb, path }: RequestedOperation,
  grants: readonly SourcedGrant[],
  { catalogue }: PermissionExplanationDeps,
): Sentence[] {
  const isWhole = verb !== "get" && isOrganisationPath(path, organisationSegments(catalogue));
  if (grants.length > 0 && isWhole) {
    return [sentence("permission.organisation")];
  }
  return [sentence("permission.uncovered", { verb, path })];
}

/** The row of the path may be hidden or read-only in the acting domain. */
function explainInvisibleRow(
  { verb, path }: RequestedOperation,
  acting: AccessScope,
  { catalogue, store }: PermissionExplanationDeps,
): Sentence[] {
  const named = parseItemPath(path, catalogue);
  if (!named) return [];
  const { resource, id } = named;
  if (!store.get(resource, id, acting)) return [sentence("permission.row-invisible")];
  if (verb === "get" || store.get(resource, id, acting.changeable)) return [];
  return [sentence("permission.row-shared")];
}

/** The resource and id of an item path; null for collections and actions. */
function parseItemPath(path: string, catalogue: Catalogue): { resource: AnyResource; id: string } | null {
  const requested = splitPath(path);
  for (const resource of catalogue.all) {
    for (const each of resource.paths) {
      const at = splitPath(each.at);
      const matches = at.every((segment, index) => segment.startsWith("{") || segment === requested[index]);
      if (matches && requested.length === at.length + 1 && !each.itemBy)
        return { resource, id: requested.at(-1) as string };
    }
  }
  return null;
}

/** Throws invalid-value for a malformed path. */
export function assertRequestPath(path: string): void {
  if (!/^(\/[A-Za-z0-9-]+)+$/.test(path))
    throw invalidValue("path", sentence("field.must-be-a-path-such-as-users-0190"));
}
