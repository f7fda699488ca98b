import { ConflictError, forbidden, invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import domains from "../resources/domains/domains.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import { tableName } from "../schema/catalogue.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import type { ActorContext, ResourceHooks, Store, StoreReader, Sync, Transaction } from "../store/store.ts";
import { replaceDomains } from "./domain-membership.ts";

type DomainRow = RowOf<typeof domains>;

/**
 * Hooks of domains: keep a single tree, update paths after a rename or move, and move the rows of a deleted domain to
 * its parent.
 */
export function domainHooks(families: readonly AnyResource[]): ResourceHooks<typeof domains> {
  return {
    beforeWrite({ before, after }, tx, by) {
      if (after) assignPath(before, after, tx, by);
      else if (before) moveContentsToParent(before, families, tx, by);
    },
    afterWrite({ before, after }, tx, by) {
      if (!before || !after || (before.path === after.path && before.namePath === after.namePath)) return;
      for (const { id } of tx.find(domains, { parentId: after.id })) tx.update(domains, id, {}, by);
    },
  };
}

/** The resources whose rows are scoped to a domain. */
export function domainScopedResources(catalogue: Catalogue): readonly AnyResource[] {
  return catalogue.all.filter(({ scope }) => scope === "domain");
}

function assignPath(before: DomainRow | null, after: DomainRow, tx: StoreReader, by: ActorContext): void {
  if (!before && after.parentId === null) after.parentId = by.scope.domainId;
  if (after.parentId === null) {
    if (!before && tx.count(domains, { parentId: null }) > 0)
      throw invalidValue(
        "parentId",
        sentence("field.required-only-the-root-domain-has-no-parent-and-it-already-exists"),
      );
    after.path = after.id;
    after.namePath = after.name;
    return;
  }
  const parent = by.scope.canAssign(after.parentId) ? tx.get(domains, after.parentId) : null;
  if (!parent)
    throw invalidValue("parentId", sentence("field.no-resource-with-the-id-id-was-found", { id: after.parentId }));
  after.path = `${parent.path}/${after.id}`;
  after.namePath = `${parent.namePath}/${after.name}`;
}

/** Moves the rows and child domains of a deleted domain to its parent. @source docs/decisions/0004-domains.md */
function moveContentsToParent(
  domain: DomainRow,
  families: readonly AnyResource[],
  tx: Transaction,
  by: ActorContext,
): void {
  if (domain.parentId === null) throw new ConflictError(sentence("conflict.the-root-domain-must-not-be-deleted"));
  for (const family of families) {
    for (const id of findRowsInDomain(tx, family, domain, -1)) moveRowToParent(tx, family, id, domain, by);
  }
  for (const { id } of tx.find(domains, { parentId: domain.id })) {
    tx.update(domains, id, {}, by, { parentId: domain.parentId });
  }
}

function moveRowToParent(
  tx: Transaction,
  family: AnyResource,
  id: string,
  { id: from, parentId }: DomainRow,
  by: ActorContext,
): void {
  const row = tx.get(family, id);
  if (row) tx.update(family, id, {}, by, replaceDomains(tx, row, [from], parentId as string) as object);
}

/** Ids of at most `limit` rows (-1: all) of a domain. */
function findRowsInDomain(reader: StoreReader, family: AnyResource, { pk, id }: DomainRow, limit: number): string[] {
  const sql = `SELECT id FROM ${tableName(family)} t WHERE domain_pk = ? OR
    (also_in IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(t.also_in) j WHERE j.value = ?)) LIMIT ?`;
  return reader.all<{ id: string }>(sql, pk, id, limit).map((row) => row.id);
}

/** Rows moved in one transaction; about 4 ms of work. */
const CHUNK_SIZE = 50;

/**
 * Deletes a domain with any number of rows: its rows move to the parent in chunks, the domain is deleted last. A crash
 * in between leaves the domain with the rows that have not moved. Throws as every deletion does, before anything moves.
 */
export async function removeDomain(
  { store, catalogue }: { store: Store; catalogue: Catalogue },
  id: string,
  by: ActorContext,
  check?: (row: DomainRow) => void,
): Promise<void> {
  const families = domainScopedResources(catalogue);
  const domain = store.get(domains, id);
  if (domain) assertRemovable(store, domain, by, check);
  for (const family of domain ? families : []) {
    let moved = CHUNK_SIZE;
    while (moved === CHUNK_SIZE) {
      moved = await store.write((tx) => {
        const ids = findRowsInDomain(tx, family, domain as DomainRow, CHUNK_SIZE);
        for (const row of ids) moveRowToParent(tx, family, row, domain as DomainRow, by);
        return ids.length as Sync<number>;
      });
    }
  }
  await store.remove(domains, id, by, check);
}

function assertRemovable(
  reader: StoreReader,
  domain: DomainRow,
  by: ActorContext,
  check?: (row: DomainRow) => void,
): void {
  check?.(domain);
  if (domain.parentId === null) throw new ConflictError(sentence("conflict.the-root-domain-must-not-be-deleted"));
  if (!by.scope.canAssign(domain.parentId)) throw forbidden();
  const [children, siblings] = [domain.id, domain.parentId].map((parentId) => reader.find(domains, { parentId }));
  const taken = new Set(siblings?.filter(({ id }) => id !== domain.id).map(({ name }) => name.toLowerCase()));
  const clash = children?.find(({ name }) => taken.has(name.toLowerCase()));
  if (clash)
    throw new ConflictError(
      sentence("conflict.field-name-is-already-in-use-the-parent-domain-already", { name: clash.name }),
      "name",
    );
}
