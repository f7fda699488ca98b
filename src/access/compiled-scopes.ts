import { invalidValue } from "../base/errors.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { Scope, Store } from "../store/store.ts";
import { type Domain, type DomainTree, isBelow, readTree } from "./domain-tree.ts";
import { readScopes } from "./oauth-scopes.ts";
import type { Principal } from "./principal.ts";
import { availableTo, type Rights, rightsOfUser } from "./rights.ts";
import { type CompileScope, organisationSegments } from "./user-scope.ts";

/** The compiled scopes of all who ask, kept until something they were made of changes. */
export interface Scopes {
  /** See `Access.scopeOf`. */
  of(principal: Pick<Principal, "userId" | "userPk" | "scopes">, domain: string | null, named?: string): Scope;
  /** Forgets everything. */
  clear(): void;
}

interface Holder {
  rights: Rights;
  /** Topmost domains the user may act in. */
  available: ReadonlySet<Domain>;
}

/** The rights of whoever was given none. */
const NONE: Rights = { superUser: false, grants: [] };

/** Scopes kept; beyond it all are made anew. */
const MOST_KEPT = 10_000;

/** What `createScopes` needs. */
export interface ScopesNeeds {
  store: Store;
  catalogue: Catalogue;
  compile: CompileScope;
}

/** Makes the scopes of users from what the store says of them. */
export function createScopes({ store, catalogue, compile }: ScopesNeeds): Scopes {
  const organisation = organisationSegments(catalogue);
  const compiled = new Map<string, Scope>();
  const holders = new Map<number, Holder>();
  let tree: DomainTree | null = null;

  const holderOf = (userPk: number, domains: DomainTree): Holder => {
    const known = holders.get(userPk);
    if (known) return known;
    const rights = rightsOfUser(store, userPk);
    const holder = { rights, available: availableTo(store, userPk, rights, domains) };
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
    of({ userId, userPk, scopes }, domain, named = "domain") {
      const key = `${userPk} ${domain === null ? "first" : `=${domain}`} ${scopes?.join(" ") ?? "*"}`;
      const known = compiled.get(key);
      if (known) return known;
      if (compiled.size >= MOST_KEPT) clear();
      tree ??= readTree(store);
      const { byId, root } = tree;
      const { rights: held, available } = holderOf(userPk, tree);
      const acting = root === null ? null : chosen({ domain, named }, tree, available);
      const narrowing = readScopes(scopes);
      const rights = narrowing?.ownOnly ? NONE : held;
      const user = { userId, userPk };
      const scope = compile({ user, rights, acting, available, byId, narrowing, catalogue, organisation });
      compiled.set(key, scope);
      return scope;
    },
  };
}

/** The domain asked for, or the first available by name path. Throws invalid-value on `named` when the user may not act there. */
function chosen(
  { domain, named }: { domain: string | null; named: string },
  tree: DomainTree,
  available: ReadonlySet<Domain>,
): Domain {
  const first = [...available].sort((one, other) => (one.namePath < other.namePath ? -1 : 1))[0];
  const found = domain === null ? first : tree.byId.get(domain.toLowerCase());
  if (!found || !isBelow(found, available)) throw invalidValue(named, "Not a domain that the user may act in.");
  return found;
}
