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

/** A scope that also knows what its holder could pass on. */
export interface UserScope extends AccessScope {
  /**
   * True when whoever acts holds all of `rights` and would let nobody act where it may not act itself: grants without a
   * domain reach as far as their holders, who are in the domains `holders` (ids).
   */
  canDelegate(rights: Rights, holders: readonly string[]): boolean;
}

/** Whose scope is compiled, and for where. */
export interface ScopeInput {
  user: { userId: string; userPk: number };
  rights: Rights;
  /** The acting domain, null before the first domain exists. */
  acting: Domain | null;
  /** Topmost domains in which the user may act. */
  available: ReadonlySet<Domain>;
  byId: ReadonlyMap<string, Domain>;
  /** What the token's scopes leave; null for everything. */
  tokenLimit: TokenScopeLimit | null;
  catalogue: Catalogue;
  /** First segments of paths that belong to the whole organisation. */
  organisation: ReadonlySet<string>;
}

/** All rights everywhere; `home` says where new rows go. */
export function systemScope(home: () => string | null): UserScope {
  return Object.assign(fullScope(home), { canDelegate: () => true });
}

/** Which appliances are linked is the whole organisation's to say; what lost on a link belongs where its row does. */
const LINK_SEGMENT = "link";
const CONFLICTS_SEGMENT = "conflicts";
/** What concerns the appliance itself and stands in no row. */
const APPLIANCE_SEGMENTS = [LINK_SEGMENT, "certificate", "licence"];

/** First segments of the paths that belong to the whole organisation; the tree of domains is everybody's own part of it. */
export function organisationSegments(catalogue: Catalogue): ReadonlySet<string> {
  const whole = catalogue.all.filter(({ scope, domainField }) => scope === "organisation" && !domainField);
  return new Set([
    ...APPLIANCE_SEGMENTS,
    ...whole.flatMap(({ paths }) => paths.map(({ at }) => splitPath(at)[0] as string)),
  ]);
}

/** True for the path of a change that takes a permission which is not limited to a domain. */
export function isOrganisationPath(path: string, organisation: ReadonlySet<string>): boolean {
  const [first = "", second] = splitPath(path);
  return organisation.has(first) && !(first === LINK_SEGMENT && second === CONFLICTS_SEGMENT);
}

/** The one decision of who may do and see what. */
export type CompileScope = (input: ScopeInput) => UserScope;

/** Compiles what a user may do and see in one domain. What it answers follows from its needs alone. */
export function compileScope(input: ScopeInput): UserScope {
  const { rights, acting, available, tokenLimit, byId } = input;
  const judge = compileAuthorizer(input);
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
    allows: judge.allows,
    visible(resource) {
      const found =
        visible.get(resource.name) ??
        uniteVisibility(
          intersectVisibility(judge.grantedRows(resource), domainVisibility.visible(resource)),
          judge.implicitRows(resource),
        );
      visible.set(resource.name, found);
      return found;
    },
    domainVisibility,
    changeable,
    canAssign: (domainId) => held.has(domainId),
    canReference: (domainId) => known.has(domainId),
    canDelegate({ superUser, grants }, holders) {
      if (rights.superUser && tokenLimit === null) return true;
      if (superUser) return false;
      const open = grants.filter(({ domainId }) => domainId === null);
      const limited = grants.filter(({ domainId }) => domainId !== null);
      const reaches = (id: string): boolean => isAvailable(byId.get(id), available);
      return (
        open.every((grant) => judge.allowsEverywhere(...requestFor(grant))) &&
        (open.length === 0 || holders.every(reaches)) &&
        limited.every((grant) => held.has(grant.domainId as string) && judge.allows(...requestFor(grant)))
      );
    },
  };
}

const ALL_ROWS: RowVisibility = { visible: () => "all" };

function isAvailable(domain: Domain | undefined, available: ReadonlySet<Domain>): boolean {
  return domain !== undefined && isWithinAny(domain, available);
}

/** The request that a grant would be needed for. */
function requestFor({ verb, spec }: Grant): [Method, string] {
  return [verb, verb === "post" ? spec.replace(/\/\*$/, "") : spec];
}

interface Authorizer {
  allows(method: Method, path: string): boolean;
  /** As `allows`, by grants that are not limited to a domain alone. */
  allowsEverywhere(method: Method, path: string): boolean;
  /** Rows that permissions show, wherever they lie. */
  grantedRows(resource: AnyResource): VisibilityCondition;
  /** Rows that every user sees because they concern it. */
  implicitRows(resource: AnyResource): VisibilityCondition;
}

function compileAuthorizer({ user, rights, acting, tokenLimit, catalogue, organisation }: ScopeInput): Authorizer {
  const left = (grant: Grant): boolean => tokenLimit?.allows(grant.verb, grant.spec) ?? true;
  const own = compileGrants(buildImplicitGrants(user.userId).filter(left));
  const places = new Set(acting ? [acting, ...acting.above].map(({ id }) => id) : []);
  const given = rights.grants.filter(left).filter(({ domainId }) => domainId === null || places.has(domainId));
  const open = compileGrants([
    ...buildImplicitGrants(user.userId).filter(left),
    ...given.filter((grant) => grant.domainId === null),
  ]);
  const here = compileGrants([...buildImplicitGrants(user.userId).filter(left), ...given]);
  const forGiven: GrantMatcher = compileGrants(given);
  const bySuper = (method: Method, path: string): boolean => tokenLimit?.allows(method, path) ?? true;
  if (rights.superUser) {
    const shows = ({ paths }: AnyResource) => paths.some(({ at }) => bySuper("get", at));
    return {
      allows: bySuper,
      allowsEverywhere: bySuper,
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
