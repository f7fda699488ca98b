import { BugError, ConflictError, forbidden, invalidValue, notFound } from "../lib/errors.ts";
import domains from "../resources/domains/domains.ts";
import type { AnyResource, RowBase } from "../schema/resource.ts";
import type { ActorContext, StoreReader, Transaction } from "../store/store.ts";

/** How a row may be put into a domain although it is in one above or below it. @source docs/decisions/0004-domains.md */
export interface DomainReplacement {
  /** The domain replaces those below it. */
  promote: boolean;
  /** The domain replaces the one above it. */
  demote: boolean;
}

/**
 * Puts a row into one more domain; one that it is in already stays as it is. Throws invalid-value on `id` for what the caller
 * does not see, forbidden where it may not write, invalid-value on `promote` or `demote` when the domain would have to replace others.
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
  if (!row || !domain) throw invalidValue("id", "There is none with this id.");
  assertCanAssign(by, domainId);
  const held = domainIdsOf(row);
  if (held.includes(domainId)) return;
  const below = held.filter((other) => readDomainPath(tx, other).includes(domainId));
  const above = held.filter((other) => readDomainPath(tx, domainId).includes(other));
  if (below.length > 0 && !promote) throw invalidValue("promote", "It must be true to replace domains below.");
  if (above.length > 0 && !demote) throw invalidValue("demote", "It must be true to replace the domain above.");
  for (const other of above) assertCanAssign(by, other);
  tx.update(resource, id, {}, by, replaceDomains(tx, row, [...below, ...above], domainId) as object);
}

/** Takes a row out of a domain. Throws not-found, forbidden, and a conflict for the last domain of a row, which stays. */
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
    throw new ConflictError("Everything is in at least one domain; put it into another one first.");
  tx.update(resource, id, {}, by, toDomainColumns(left) as object);
}

/** The domains of a row, its home first. */
export function domainIdsOf({ domainId, alsoIn }: Pick<RowBase, "domainId" | "alsoIn">): string[] {
  return domainId === null ? [] : [domainId, ...(alsoIn ?? [])];
}

/** What a row holds once `domainId` stands for the domains `replaced`; a domain above or below it goes with them. */
export function replaceDomains(
  reader: StoreReader,
  row: Pick<RowBase, "domainId" | "alsoIn">,
  replaced: readonly string[],
  domainId: string,
): Pick<RowBase, "domainId" | "alsoIn"> {
  const gone = (other: string): boolean => replaced.includes(other) || readDomainPath(reader, other).includes(domainId);
  const held = domainIdsOf(row);
  const kept = held.filter((other) => !gone(other));
  const staysHome = held[0] !== undefined && kept[0] === held[0];
  return toDomainColumns(staysHome ? [...kept, domainId] : [domainId, ...kept]);
}

function toDomainColumns([home, ...others]: readonly string[]): Pick<RowBase, "domainId" | "alsoIn"> {
  if (home === undefined) throw new BugError("A row is in at least one domain.");
  return { domainId: home, alsoIn: others.length > 0 ? others : null };
}

/** Ids from the root down to a domain, itself included. */
function readDomainPath(reader: StoreReader, domainId: string): string[] {
  return reader.get(domains, domainId)?.path?.split("/") ?? [];
}

function assertCanAssign({ scope }: ActorContext, domainId: string): void {
  if (!scope.canAssign(domainId)) throw forbidden();
}
