import { sentence } from "../lib/sentences/sentences.ts";
import { domainIdsOf } from "../permissions/domain-membership.ts";
import { type Domain, type DomainTree, isWithinAny, readDomainTree } from "../permissions/domain-tree.ts";
import { findAvailableDomains, readUserRights } from "../permissions/rights.ts";
import endpoints from "../resources/devices/endpoints.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import { type Catalogue, tableName, visibilityReferences } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { StoreReader } from "../store/store.ts";
import type { RowBody, SiteChange } from "../sync/storage/transaction-program.ts";

/** Judges a change of an appliance: why it goes beyond its authority, or null. */
export type JudgeSiteChange = (change: SiteChange, reader: StoreReader) => string | null;

const MAX_DEPTH = 8;
/** Ids that a changed row may contain; more are refused, because each is looked up. */
const MAX_IDS = 2_000;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

const OUTSIDE = sentence("error.the-row-is-outside-the-domains-of-this-appliance");
const REFERS_OUTSIDE = sentence("error.the-row-refers-to-a-row-outside-the-domains-of-this-appliance");
const TOKEN = sentence("error.tokens-made-at-an-appliance-are-valid-only-there");
const SUPER_USER = sentence("error.accounts-of-super-users-can-only-be-changed-in-the-cloud");
const TOO_MANY_IDS = sentence("error.the-row-refers-to-more-than-limit-rows", { limit: MAX_IDS });

/**
 * What the cloud believes of an appliance. No appliance makes tokens or changes accounts of super users; one that is bound
 * to domains changes only rows of these, which refer only to rows of these and the domains above.
 * @source docs/decisions/0491-trust-in-appliances.md
 */
export function createApplianceAuthority(catalogue: Catalogue): JudgeSiteChange {
  return (change, reader) => {
    const { type, after, domainIds } = change;
    if (!catalogue.has(type)) return null;
    const resource = catalogue.byName(type);
    if (resource.name === userTokens.name && after) return TOKEN;
    const bounds = domainIds && toBounds(domainIds, reader);
    const account = resource.name === users.name ? judgeAccount(change.id, bounds, reader) : null;
    return account ?? (bounds && judgeDomains(resource, change, bounds, reader));
  };

  function judgeDomains(resource: AnyResource, change: SiteChange, bounds: Bounds, reader: StoreReader): string | null {
    const { before, after } = change;
    if (resource.scope === "organisation") return isAboutItself(resource, change) ? null : OUTSIDE;
    if (before && !belongs(resource, before, bounds.isInside, reader)) return OUTSIDE;
    if (!after) return null;
    const [old, next] = [before ? domainsOf(before) : [], domainsOf(after)];
    const moved = [...next.filter((id) => !old.includes(id)), ...old.filter((id) => !next.includes(id))];
    if (!moved.every(bounds.isInside) || !belongs(resource, after, bounds.isInside, reader)) return OUTSIDE;
    return judgeReferences(before, after, bounds, reader);
  }

  /** Whether a row belongs to such a domain: by itself, or by all rows that it is part of. */
  function belongs(resource: AnyResource, row: RowBody, isSuch: IsSuch, reader: StoreReader, depth = 0): boolean {
    if (resource.scope === "domain") return domainsOf(row).some(isSuch);
    if (resource.scope === "organisation") return !resource.domainField || isSuch(String(row[resource.domainField]));
    if (depth >= MAX_DEPTH) return false;
    return visibilityReferences(resource).every((field) => {
      const spec = resource.fields[field];
      const target = row[field];
      if (spec?.kind !== "ref" || target == null) return true;
      const of = catalogue.byName(spec.to);
      const parent = reader.get(of, String(target)) as RowBody | null;
      return parent !== null && belongs(of, parent, isSuch, reader, depth + 1);
    });
  }

  /** Ids that the change adds anywhere in the row; rows of other domains would be reached through them. */
  function judgeReferences(before: RowBody | null, after: RowBody, bounds: Bounds, reader: StoreReader): string | null {
    const known = new Set(idsIn(before));
    const added = [...new Set(idsIn(after))].filter((id) => !known.has(id));
    if (added.length > MAX_IDS) return TOO_MANY_IDS;
    const list = JSON.stringify(added);
    for (const resource of catalogue.all) {
      if (added.length === 0 || (resource.scope === "organisation" && !resource.domainField)) continue;
      const sql = `SELECT id FROM ${tableName(resource)} WHERE id IN (SELECT value FROM json_each(?))`;
      for (const { id } of reader.all<{ id: string }>(sql, list)) {
        const row = reader.get(resource, id) as RowBody | null;
        if (row && !belongs(resource, row, bounds.isReferable, reader)) return REFERS_OUTSIDE;
      }
    }
    return null;
  }
}

/** Its row in the list of appliances, and what names it. */
function isAboutItself({ name }: AnyResource, { id, endpoint, before, after }: SiteChange): boolean {
  if (name === endpoints.name) return id === endpoint && after !== null;
  return [before, after].every((row) => row === null || row.endpointId === endpoint);
}

type IsSuch = (domainId: string) => boolean;

interface Bounds {
  tree: DomainTree;
  tops: ReadonlySet<Domain>;
  /** Whether the appliance may change rows of a domain. */
  isInside: IsSuch;
  /** Whether its rows may refer to rows of a domain: those of domains above are shared with it. */
  isReferable: IsSuch;
}

function toBounds(domainIds: readonly string[], reader: StoreReader): Bounds {
  const tree = readDomainTree(reader);
  const tops = new Set(domainIds.flatMap((id) => tree.byId.get(id) ?? []));
  const above = new Set([...tops].flatMap((domain) => domain.above));
  const isInside: IsSuch = (id) => {
    const domain = tree.byId.get(id);
    return domain !== undefined && isWithinAny(domain, tops);
  };
  return { tree, tops, isInside, isReferable: (id) => isInside(id) || above.has(tree.byId.get(id) as Domain) };
}

/** Ids of the domains whose rows an appliance reads: its own with those below, and those above, which share theirs. */
export function readableDomains(domainIds: readonly string[], reader: StoreReader): string[] {
  const { tree, isReferable } = toBounds(domainIds, reader);
  return [...tree.byId.keys()].filter(isReferable);
}

/** Whether a user has super rights, or stays able to log in when others are not. */
export function isSuperAccount(userId: string, reader: StoreReader): boolean {
  const user = reader.get(users, userId);
  return user !== null && (user.breakGlass || readUserRights(reader, user.pk).superUser);
}

/** Passwords, locks and provider keys decide who logs in, so an account counts with all that it may do. */
function judgeAccount(userId: string, bounds: Bounds | null, reader: StoreReader): string | null {
  if (isSuperAccount(userId, reader)) return SUPER_USER;
  const user = bounds && reader.get(users, userId);
  if (!user) return null;
  const rights = readUserRights(reader, user.pk);
  const reached = findAvailableDomains(reader, user.pk, rights, bounds.tree);
  return [...reached].every((domain) => isWithinAny(domain, bounds.tops)) ? null : OUTSIDE;
}

function domainsOf(row: RowBody): string[] {
  return domainIdsOf({
    domainId: (row.domainId ?? null) as string | null,
    alsoIn: (row.alsoIn ?? null) as string[] | null,
  });
}

function idsIn(row: RowBody | null): string[] {
  return row ? [...JSON.stringify(row).matchAll(UUID)].map(([id]) => id.toLowerCase()) : [];
}
