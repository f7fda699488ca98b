import { BugError, ConflictError, forbidden, invalidValue, notFound } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import domains from "../resources/domains/domains.ts";
import type { AnyResource, RowBase } from "../schema/resource.ts";
import type { ActorContext, StoreReader, Transaction } from "../store/store.ts";

/**
 * Allows to add a row to a domain although it belongs to an ancestor or descendant of it.
 * @source docs/decisions/0004-domains.md
 */
export interface DomainReplacement {
  /** The domain replaces its descendants. */
  promote: boolean;
  /** The domain replaces its ancestor. */
  demote: boolean;
}

/**
 * Adds a row to a domain; no effect if it belongs to it already. Throws invalid-value on `id` when the caller does not
 * see the row or the domain, forbidden when the caller may not write there, and invalid-value on `promote` or `demote`
 * when the domain would have to replace others.
 */
export function addToDomain<R extends AnyResource>(
  tx: Transaction,
  resource: R,
  { id, domainId }: { id: string; domainId: string },
  { promote, demote }: DomainReplacement,
  by: ActorContext,
): void {
  const row = tx.get(resource, id, by.scope) as RowBase | null;
  const domain = tx.get(domains, domainId, by.scope.domainVisibility);
  if (!row || !domain) throw invalidValue("id", sentence("field.no-resource-with-this-id-was-found"));
  assertCanAssign(by, domainId);
  const held = domainIdsOf(row);
  if (held.includes(domainId)) return;
  const below = held.filter((other) => readDomainPath(tx, other).includes(domainId));
  const above = held.filter((other) => readDomainPath(tx, domainId).includes(other));
  if (below.length > 0 && !promote)
    throw invalidValue("promote", sentence("field.must-be-true-to-replace-descendant-domains"));
  if (above.length > 0 && !demote)
    throw invalidValue("demote", sentence("field.must-be-true-to-replace-the-ancestor-domain"));
  for (const other of above) assertCanAssign(by, other);
  tx.update(resource, id, {}, by, replaceDomains(tx, row, [...below, ...above], domainId) as object);
}

/** Removes a row from a domain. Throws not-found, forbidden, and ConflictError for the last domain of a row. */
export function removeFromDomain<R extends AnyResource>(
  tx: Transaction,
  resource: R,
  id: string,
  domainId: string,
  by: ActorContext,
): void {
  const row = tx.get(resource, id, by.scope) as RowBase | null;
  if (!row || !domainIdsOf(row).includes(domainId) || !by.scope.canReference(domainId)) throw notFound();
  assertCanAssign(by, domainId);
  const left = domainIdsOf(row).filter((other) => other !== domainId);
  if (left.length === 0)
    throw new ConflictError(sentence("conflict.the-resource-must-belong-to-at-least-one-domain-add"));
  tx.update(resource, id, {}, by, toDomainColumns(left) as object);
}

/** The domains of a row, home domain first. */
export function domainIdsOf({ domainId, alsoIn }: Pick<RowBase, "domainId" | "alsoIn">): string[] {
  return domainId === null ? [] : [domainId, ...(alsoIn ?? [])];
}

/**
 * The domain columns of a row after `domainId` replaces the domains `replaced`, and any ancestor or descendant of it.
 */
export function replaceDomains(
  reader: StoreReader,
  row: Pick<RowBase, "domainId" | "alsoIn">,
  replaced: readonly string[],
  domainId: string,
): Pick<RowBase, "domainId" | "alsoIn"> {
  const isReplaced = (other: string): boolean =>
    replaced.includes(other) || readDomainPath(reader, other).includes(domainId);
  const held = domainIdsOf(row);
  const remaining = held.filter((other) => !isReplaced(other));
  const staysHome = held[0] !== undefined && remaining[0] === held[0];
  return toDomainColumns(staysHome ? [...remaining, domainId] : [domainId, ...remaining]);
}

function toDomainColumns([home, ...others]: readonly string[]): Pick<RowBase, "domainId" | "alsoIn"> {
  if (home === undefined) throw new BugError("a row must belong to at least one domain");
  return { domainId: home, alsoIn: others.length > 0 ? others : null };
}

/** Ids from the root to a domain, inclusive. */
function readDomainPath(reader: StoreReader, domainId: string): string[] {
  return reader.get(domains, domainId)?.path?.split("/") ?? [];
}

function assertCanAssign({ scope }: ActorContext, domainId: string): void {
  if (!scope.canAssign(domainId)) throw forbidden();
}
