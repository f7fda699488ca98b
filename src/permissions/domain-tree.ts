import type { StoreReader } from "../store/store.ts";

/** A domain with its ancestors and descendants. */
export interface Domain {
  pk: number;
  id: string;
  /** Names from the root, joined by `/`. */
  namePath: string;
  parent: Domain | null;
  /** Ancestors, nearest first. */
  above: readonly Domain[];
  /** The domain itself and its descendants. */
  within: readonly Domain[];
}

/** All domains; at most 200 exist. */
export interface DomainTree {
  /** Null before the first domain exists. */
  root: Domain | null;
  byId: ReadonlyMap<string, Domain>;
  byPk: ReadonlyMap<number, Domain>;
}

type Growing = Domain & { above: Domain[]; within: Domain[] };

/** Reads the whole tree with one query. */
export function readDomainTree(reader: StoreReader): DomainTree {
  const lines = reader.all<{
    pk: number;
    id: string;
    name: string;
    name_path: string | null;
    parent_pk: number | null;
  }>("SELECT pk, id, name, name_path, parent_pk FROM domains");
  const byPk = new Map<number, Growing>();
  for (const { pk, id, name, name_path } of lines) {
    byPk.set(pk, { pk, id, namePath: name_path ?? name, parent: null, above: [], within: [] });
  }
  for (const { pk, parent_pk } of lines) {
    const domain = byPk.get(pk) as Growing;
    domain.parent = parent_pk === null ? null : (byPk.get(parent_pk) ?? null);
  }
  for (const domain of byPk.values()) {
    domain.within.push(domain);
    for (let above = domain.parent as Growing | null; above; above = above.parent as Growing | null) {
      domain.above.push(above);
      above.within.push(domain);
    }
  }
  const root = [...byPk.values()].find(({ parent }) => parent === null) ?? null;
  return { root, byPk, byId: new Map([...byPk.values()].map((domain) => [domain.id, domain])) };
}

/** True when `domain` is one of `tops` or a descendant of one. */
export function isWithinAny(domain: Domain, tops: ReadonlySet<Domain>): boolean {
  return tops.has(domain) || domain.above.some((above) => tops.has(above));
}
