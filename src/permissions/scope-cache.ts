import type { ApplianceLimit, Principal } from "../auth/principal.ts";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AccessScope, Store } from "../store/store.ts";
import { type Domain, type DomainTree, isWithinAny, readDomainTree } from "./domain-tree.ts";
import { findAvailableDomains, type Rights, readUserRights } from "./rights.ts";
import { compileTokenScopes } from "./token-scopes.ts";
import { type CompileScope, organisationSegments } from "./user-scope.ts";

/** Cache of compiled scopes, cleared when rights, users or the domain tree change. */
export interface ScopeCache {
  /** See `AccessControl.resolveScope`. */
  get(
    principal: Pick<Principal, "userId" | "userPk" | "scopes" | "appliance">,
    domain: string | null,
    named?: string,
  ): AccessScope;
  /** Clears the cache. */
  clear(): void;
}

interface UserRights {
  rights: Rights;
  /** Topmost domains in which the user may act. */
  available: ReadonlySet<Domain>;
}

/** Rights of a user without permissions. */
const NO_RIGHTS: Rights = { superUser: false, grants: [] };

/** Maximum number of cached scopes; the cache is cleared when full. */
const MAX_CACHED_SCOPES = 10_000;

/** Dependencies of the scope cache. */
export interface ScopeCacheDeps {
  store: Store;
  catalogue: Catalogue;
  compile: CompileScope;
}

/** Creates the cache. */
export function createScopeCache({ store, catalogue, compile }: ScopeCacheDeps): ScopeCache {
  const organisation = organisationSegments(catalogue);
  const compiled = new Map<string, AccessScope>();
  const holders = new Map<number, UserRights>();
  let tree: DomainTree | null = null;

  const rightsFor = (userPk: number, domains: DomainTree): UserRights => {
    const known = holders.get(userPk);
    if (known) return known;
    const rights = readUserRights(store, userPk);
    const holder = { rights, available: findAvailableDomains(store, userPk, rights, domains) };
    holders.set(userPk, holder);
    return holder;
  };

  const clear = (): void => {
    compiled.clear();
    holders.clear();
    tree = null;
  };

  return {
    clear,
    get({ userId, userPk, scopes, appliance = null }, domain, named = "domain") {
      const limit = appliance ? ` ${appliance.domainIds ?? "*"}` : "";
      const key = `${userPk} ${domain === null ? "first" : `=${domain}`} ${scopes?.join(" ") ?? "*"}${limit}`;
      const known = compiled.get(key);
      if (known) return known;
      if (compiled.size >= MAX_CACHED_SCOPES) clear();
      tree ??= readDomainTree(store);
      const { byId, root } = tree;
      const { rights: held, available } = withinAppliance(rightsFor(userPk, tree), appliance, byId);
      const acting = root === null ? null : chooseActingDomain({ domain, named }, tree, { rights: held, available });
      const tokenLimit = compileTokenScopes(scopes);
      const rights = tokenLimit?.isImplicitOnly ? NO_RIGHTS : held;
      const user = { userId, userPk };
      const scope = compile({ user, rights, acting, available, byId, tokenLimit, appliance, catalogue, organisation });
      compiled.set(key, scope);
      return scope;
    },
  };
}

/** The rights that hold in the domains of the appliance through which the user acts. */
function withinAppliance(
  user: UserRights,
  appliance: ApplianceLimit | null,
  byId: ReadonlyMap<string, Domain>,
): UserRights {
  if (!appliance?.domainIds) return user;
  const tops = appliance.domainIds.flatMap((id) => byId.get(id) ?? []);
  const narrow = (domain: Domain): Domain[] =>
    isWithinAny(domain, new Set(tops)) ? [domain] : tops.filter((top) => isWithinAny(top, new Set([domain])));
  const grants = user.rights.grants.flatMap((grant) => {
    const domain = grant.domainId === null ? null : byId.get(grant.domainId);
    const reached = domain === null ? tops : domain ? narrow(domain) : [];
    return reached.map(({ id }) => ({ ...grant, domainId: id }));
  });
  return { rights: { ...user.rights, grants }, available: new Set([...user.available].flatMap(narrow)) };
}

/** The requested domain, or the default one. Throws invalid-value on `named` when the user may not act there. */
function chooseActingDomain(
  { domain, named }: { domain: string | null; named: string },
  { byId }: DomainTree,
  user: UserRights,
): Domain {
  const { available } = user;
  const found = domain === null ? defaultDomain(user, byId) : byId.get(domain.toLowerCase());
  if (!found || !isWithinAny(found, available))
    throw invalidValue(named, sentence("field.must-be-a-domain-in-which-the-user-is-allowed-to-act"));
  return found;
}

/**
 * The first available domain by name path in which the user has rights; the first available one when there is none. A
 * member of the root domain whose rights lie in one school acts in this school.
 * @source docs/decisions/0004-domains.md
 */
function defaultDomain({ rights, available }: UserRights, byId: ReadonlyMap<string, Domain>): Domain | undefined {
  const inOrder = (domains: readonly Domain[]): Domain[] =>
    [...domains].sort((one, other) => (one.namePath < other.namePath ? -1 : 1));
  const tops = inOrder([...available]);
  if (rights.superUser || rights.grants.some(({ domainId }) => domainId === null)) return tops[0];
  const granted = rights.grants.flatMap(({ domainId }) => (domainId === null ? [] : (byId.get(domainId) ?? [])));
  const ofTops = tops.filter((top) => granted.some((domain) => domain === top || top.above.includes(domain)));
  const below = granted.filter((domain) => isWithinAny(domain, available));
  return inOrder([...ofTops, ...below])[0] ?? tops[0];
}
