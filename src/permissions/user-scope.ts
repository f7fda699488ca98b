import type { ApplianceLimit } from "../auth/principal.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource, Method } from "../schema/resource.ts";
import { fullScope } from "../store/full-scope.ts";
import type { AccessScope, RowVisibility, VisibilityCondition } from "../store/store.ts";
import { type Domain, isWithinAny } from "./domain-tree.ts";
import { compileGrantVisibility } from "./grant-visibility.ts";
import { compileGrants, type Grant, type GrantMatcher, splitPath } from "./grants.ts";
import { buildImplicitGrants } from "./implicit-grants.ts";
import type { Rights } from "./rights.ts";
import {
  compileChangeableRows,
  compileDomainVisibility,
  intersectVisibility,
  uniteVisibility,
} from "./row-visibility.ts";
import type { TokenScopeLimit } from "./token-scopes.ts";

/** A scope that can also check delegation. */
export interface UserScope extends AccessScope {
  /**
   * True when the caller holds all of `rights` and may act wherever they would apply: grants without a domain limit
   * reach as far as their holders, who are in the domains `holders` (ids).
   */
  canDelegate(rights: Rights, holders: readonly string[]): boolean;
}

/** Input of the scope compiler. */
export interface ScopeInput {
  user: { userId: string; userPk: number };
  rights: Rights;
  /** The acting domain, null before the first domain exists. */
  acting: Domain | null;
  /** Topmost domains in which the user may act. */
  available: ReadonlySet<Domain>;
  byId: ReadonlyMap<string, Domain>;
  /** Restriction by the token's scopes; null: none. */
  tokenLimit: TokenScopeLimit | null;
  /** Set if the user acts through an appliance: then not even a super user has super rights. */
  appliance: ApplianceLimit | null;
  catalogue: Catalogue;
  /** First segments of paths that belong to the whole organisation. */
  organisation: ReadonlySet<string>;
}

/** A scope with all rights; `home` returns the home domain of new rows. */
export function systemScope(home: () => string | null): UserScope {
  return Object.assign(fullScope(home), { canDelegate: () => true });
}

/** Links between appliances belong to the whole organisation; sync conflicts belong to the domain of their row. */
const LINK_SEGMENT = "link";
const CONFLICTS_SEGMENT = "conflicts";
/** Paths about the appliance itself, without a resource. */
const APPLIANCE_SEGMENTS = [LINK_SEGMENT, "certificate", "licence"];

/** First segments of the paths that belong to the whole organisation; `domains` is not one of them. */
export function organisationSegments(catalogue: Catalogue): ReadonlySet<string> {
  const whole = catalogue.all.filter(({ scope, domainField }) => scope === "organisation" && !domainField);
  return new Set([
    ...APPLIANCE_SEGMENTS,
    ...whole.flatMap(({ paths }) => paths.map(({ at }) => splitPath(at)[0] as string)),
  ]);
}

/** True if changing this path requires a permission without a domain limit. */
export function isOrganisationPath(path: string, organisation: ReadonlySet<string>): boolean {
  const [first = "", second] = splitPath(path);
  return organisation.has(first) && !(first === LINK_SEGMENT && second === CONFLICTS_SEGMENT);
}

/** The single decision about permissions and visibility. */
export type CompileScope = (input: ScopeInput) => UserScope;

/**
 * Compiles the permissions and visibility of a user in one acting domain. Pure: the result depends only on the input.
 */
export function compileScope(input: ScopeInput): UserScope {
  const { rights, acting, available, tokenLimit, byId, appliance } = input;
  const authorizer = compileAuthorizer(input);
  const domainVisibility = acting
    ? compileDomainVisibility({ ...input.user, acting, own: [...available], catalogue: input.catalogue })
    : ALL_ROWS;
  const changeable = acting
    ? compileChangeableRows({ ...input.user, acting, own: [], catalogue: input.catalogue })
    : ALL_ROWS;
  const held = new Set(acting?.within.map(({ id }) => id));
  const known = new Set([...held, ...[...(acting?.above ?? []), ...available].map(({ id }) => id)]);
  const visible = new Map<string, VisibilityCondition>();
  return {
    domainId: acting?.id ?? null,
    allows: authorizer.allows,
    visible(resource) {
      const found =
        visible.get(resource.name) ??
        uniteVisibility(
          intersectVisibility(authorizer.grantedRows(resource), domainVisibility.visible(resource)),
          authorizer.implicitRows(resource),
        );
      visible.set(resource.name, found);
      return found;
    },
    domainVisibility,
    changeable,
    canAssign: (domainId) => held.has(domainId),
    canReference: (domainId) => known.has(domainId),
    canDelegate({ superUser, grants }, holders) {
      if (rights.superUser && tokenLimit === null && appliance === null) return true;
      if (superUser) return false;
      const open = grants.filter(({ domainId }) => domainId === null);
      const limited = grants.filter(({ domainId }) => domainId !== null);
      const reaches = (id: string): boolean => isAvailable(byId.get(id), available);
      return (
        open.every((grant) => authorizer.allowsEverywhere(...requestFor(grant))) &&
        (open.length === 0 || holders.every(reaches)) &&
        limited.every((grant) => held.has(grant.domainId as string) && authorizer.allows(...requestFor(grant)))
      );
    },
  };
}

const ALL_ROWS: RowVisibility = { visible: () => "all" };

function isAvailable(domain: Domain | undefined, available: ReadonlySet<Domain>): boolean {
  return domain !== undefined && isWithinAny(domain, available);
}

/** The request that a grant would allow. */
function requestFor({ verb, spec }: Grant): [Method, string] {
  return [verb, verb === "post" ? spec.replace(/\/\*$/, "") : spec];
}

interface Authorizer {
  allows(method: Method, path: string): boolean;
  /** As `allows`, but only by grants without a domain limit. */
  allowsEverywhere(method: Method, path: string): boolean;
  /** Rows visible by permissions, in any domain. */
  grantedRows(resource: AnyResource): VisibilityCondition;
  /** Rows visible to every user because they are about that user. */
  implicitRows(resource: AnyResource): VisibilityCondition;
}

function compileAuthorizer(input: ScopeInput): Authorizer {
  const { user, rights, acting, tokenLimit, appliance, catalogue, organisation } = input;
  const withinToken = (grant: Grant): boolean => tokenLimit?.allows(grant.verb, grant.spec) ?? true;
  const own = compileGrants(buildImplicitGrants(user.userId).filter(withinToken));
  const actingPath = new Set(acting ? [acting, ...acting.above].map(({ id }) => id) : []);
  const given = rights.grants
    .filter(withinToken)
    .filter(({ domainId }) => domainId === null || actingPath.has(domainId));
  const open = compileGrants([
    ...buildImplicitGrants(user.userId).filter(withinToken),
    ...given.filter((grant) => grant.domainId === null),
  ]);
  const here = compileGrants([...buildImplicitGrants(user.userId).filter(withinToken), ...given]);
  const forGiven: GrantMatcher = compileGrants(given);
  const bySuper = (method: Method, path: string): boolean => tokenLimit?.allows(method, path) ?? true;
  if (rights.superUser) {
    const shows = ({ paths }: AnyResource) => paths.some(({ at }) => bySuper("get", at));
    const isLimited = appliance !== null && appliance.domainIds !== null;
    return {
      allows: (method, path) =>
        bySuper(method, path) && !(isLimited && method !== "get" && isOrganisationPath(path, organisation)),
      allowsEverywhere: isLimited ? () => false : bySuper,
      grantedRows: (resource) => (shows(resource) ? "all" : "none"),
      implicitRows: (resource) => compileGrantVisibility(resource, own, catalogue),
    };
  }
  return {
    allows: (method, path) =>
      (method === "get" || !isOrganisationPath(path, organisation) ? here : open).allows(method, path),
    allowsEverywhere: open.allows,
    grantedRows: (resource) => compileGrantVisibility(resource, forGiven, catalogue),
    implicitRows: (resource) => compileGrantVisibility(resource, own, catalogue),
  };
}
