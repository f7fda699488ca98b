import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource, Method } from "../schema/resource.ts";
import { fullScope } from "../store/full-scope.ts";
import type { Scope, Sight, Visibility } from "../store/store.ts";
import { type Domain, isBelow } from "./domain-tree.ts";
import { compileGrants, type Grant, type Grants, segmentsOf } from "./grants.ts";
import type { Narrowing } from "./oauth-scopes.ts";
import { ownRights } from "./own-rights.ts";
import type { Rights } from "./rights.ts";
import { both, changeableFrom, either, sightOf } from "./sight.ts";
import { visibleRows } from "./visibility.ts";

/** A scope that also knows what its holder could pass on. */
export interface UserScope extends Scope {
  /**
   * True when whoever acts holds all of `rights` and would let nobody act where it may not act itself: grants without a
   * domain reach as far as their holders, who are in the domains `holders` (ids).
   */
  mayPassOn(rights: Rights, holders: readonly string[]): boolean;
}

/** Whose scope is compiled, and for where. */
export interface ScopeNeeds {
  user: { userId: string; userPk: number };
  rights: Rights;
  /** The acting domain, null before the first domain exists. */
  acting: Domain | null;
  /** Topmost domains in which the user may act. */
  available: ReadonlySet<Domain>;
  byId: ReadonlyMap<string, Domain>;
  /** What the token's scopes leave; null for everything. */
  narrowing: Narrowing | null;
  catalogue: Catalogue;
  /** First segments of paths that belong to the whole organisation. */
  organisation: ReadonlySet<string>;
}

/** All rights everywhere; `home` says where new rows go. */
export function systemScope(home: () => string | null): UserScope {
  return Object.assign(fullScope(home), { mayPassOn: () => true });
}

/** Which appliances are linked is the whole organisation's to say; what lost on a link belongs where its row does. */
const LINKS = "link";
const LOST_THERE = "conflicts";
/** What concerns the appliance itself and stands in no row. */
const OF_APPLIANCE = [LINKS, "certificate", "licence"];

/** First segments of the paths that belong to the whole organisation; the tree of domains is everybody's own part of it. */
export function organisationSegments(catalogue: Catalogue): ReadonlySet<string> {
  const whole = catalogue.all.filter(({ scope, domainField }) => scope === "organisation" && !domainField);
  return new Set([
    ...OF_APPLIANCE,
    ...whole.flatMap(({ paths }) => paths.map(({ at }) => segmentsOf(at)[0] as string)),
  ]);
}

/** True for the path of a change that takes a permission which is not limited to a domain. */
export function isOfWholeOrganisation(path: string, organisation: ReadonlySet<string>): boolean {
  const [first = "", second] = segmentsOf(path);
  return organisation.has(first) && !(first === LINKS && second === LOST_THERE);
}

/** The one decision of who may do and see what. */
export type CompileScope = (needs: ScopeNeeds) => UserScope;

/** Compiles what a user may do and see in one domain. What it answers follows from its needs alone. */
export function compileScope(needs: ScopeNeeds): UserScope {
  const { rights, acting, available, narrowing, byId } = needs;
  const judge = compileJudge(needs);
  const inSight = acting ? sightOf({ ...needs.user, acting, own: [...available], catalogue: needs.catalogue }) : ALL;
  const changeable = acting ? changeableFrom({ ...needs.user, acting, own: [], catalogue: needs.catalogue }) : ALL;
  const held = new Set(acting?.within.map(({ id }) => id));
  const known = new Set([...held, ...[...(acting?.above ?? []), ...available].map(({ id }) => id)]);
  const visible = new Map<string, Visibility>();
  return {
    domainId: acting?.id ?? null,
    allows: judge.allows,
    visible(resource) {
      const found =
        visible.get(resource.name) ??
        either(both(judge.granted(resource), inSight.visible(resource)), judge.own(resource));
      visible.set(resource.name, found);
      return found;
    },
    inSight,
    changeable,
    holds: (domainId) => held.has(domainId),
    knows: (domainId) => known.has(domainId),
    mayPassOn({ superUser, grants }, holders) {
      if (rights.superUser && narrowing === null) return true;
      if (superUser) return false;
      const open = grants.filter(({ domainId }) => domainId === null);
      const limited = grants.filter(({ domainId }) => domainId !== null);
      const reaches = (id: string): boolean => isAvailable(byId.get(id), available);
      return (
        open.every((grant) => judge.allowsEverywhere(...asked(grant))) &&
        (open.length === 0 || holders.every(reaches)) &&
        limited.every((grant) => held.has(grant.domainId as string) && judge.allows(...asked(grant)))
      );
    },
  };
}

const ALL: Sight = { visible: () => "all" };

function isAvailable(domain: Domain | undefined, available: ReadonlySet<Domain>): boolean {
  return domain !== undefined && isBelow(domain, available);
}

/** The request that a grant would be needed for. */
function asked({ verb, spec }: Grant): [Method, string] {
  return [verb, verb === "post" ? spec.replace(/\/\*$/, "") : spec];
}

interface Judge {
  allows(method: Method, path: string): boolean;
  /** As `allows`, by grants that are not limited to a domain alone. */
  allowsEverywhere(method: Method, path: string): boolean;
  /** Rows that permissions show, wherever they lie. */
  granted(resource: AnyResource): Visibility;
  /** Rows that every user sees because they concern it. */
  own(resource: AnyResource): Visibility;
}

function compileJudge({ user, rights, acting, narrowing, catalogue, organisation }: ScopeNeeds): Judge {
  const left = (grant: Grant): boolean => narrowing?.allows(grant.verb, grant.spec) ?? true;
  const own = compileGrants(ownRights(user.userId).filter(left));
  const places = new Set(acting ? [acting, ...acting.above].map(({ id }) => id) : []);
  const given = rights.grants.filter(left).filter(({ domainId }) => domainId === null || places.has(domainId));
  const open = compileGrants([
    ...ownRights(user.userId).filter(left),
    ...given.filter((grant) => grant.domainId === null),
  ]);
  const here = compileGrants([...ownRights(user.userId).filter(left), ...given]);
  const forGiven: Grants = compileGrants(given);
  const bySuper = (method: Method, path: string): boolean => narrowing?.allows(method, path) ?? true;
  if (rights.superUser) {
    const shows = ({ paths }: AnyResource) => paths.some(({ at }) => bySuper("get", at));
    return {
      allows: bySuper,
      allowsEverywhere: bySuper,
      granted: (resource) => (shows(resource) ? "all" : "none"),
      own: (resource) => visibleRows(resource, own, catalogue),
    };
  }
  return {
    allows: (method, path) =>
      (method === "get" || !isOfWholeOrganisation(path, organisation) ? here : open).allows(method, path),
    allowsEverywhere: open.allows,
    granted: (resource) => visibleRows(resource, forGiven, catalogue),
    own: (resource) => visibleRows(resource, own, catalogue),
  };
}
