import { ConflictError, forbidden, invalidValue } from "../base/errors.ts";
import domains from "../resources/domains/domains.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import type { Behaviour, By, Reader, Store, Sync, Transaction } from "../store/store.ts";
import { exchange } from "./membership.ts";

type DomainRow = RowOf<typeof domains>;

/** What a domain does beyond being stored: one tree, paths that follow every rename and move, and heirs when it goes. */
export function domainBehaviour(families: readonly AnyResource[]): Behaviour<typeof domains> {
  return {
    beforeWrite({ before, after }, tx, by) {
      if (after) place(before, after, tx, by);
      else if (before) bequeath(before, families, tx, by);
    },
    afterWrite({ before, after }, tx, by) {
      if (!before || !after || (before.path === after.path && before.namePath === after.namePath)) return;
      for (const { id } of tx.find(domains, { parentId: after.id })) tx.update(domains, id, {}, by);
    },
  };
}

/** The families whose rows lie in domains. */
export function familiesIn(catalogue: Catalogue): readonly AnyResource[] {
  return catalogue.all.filter(({ scope }) => scope === "domain");
}

function place(before: DomainRow | null, after: DomainRow, tx: Reader, by: By): void {
  if (!before && after.parentId === null) after.parentId = by.scope.domainId;
  if (after.parentId === null) {
    if (!before && tx.count(domains, { parentId: null }) > 0) throw invalidValue("parentId", "There is one root.");
    after.path = after.id;
    after.namePath = after.name;
    return;
  }
  const parent = by.scope.holds(after.parentId) ? tx.get(domains, after.parentId) : null;
  if (!parent) throw invalidValue("parentId", `There is none with the id ${after.parentId}.`);
  after.path = `${parent.path}/${after.id}`;
  after.namePath = `${parent.namePath}/${after.name}`;
}

/** What lies in a domain that goes away moves to its parent, and so do the domains below it. @source decisions.md 4 */
function bequeath(domain: DomainRow, families: readonly AnyResource[], tx: Transaction, by: By): void {
  if (domain.parentId === null) throw new ConflictError("The root can't be deleted.");
  for (const family of families) {
    for (const id of rowsIn(tx, family, domain, -1)) moveUp(tx, family, id, domain, by);
  }
  for (const { id } of tx.find(domains, { parentId: domain.id })) {
    tx.update(domains, id, {}, by, { parentId: domain.parentId });
  }
}

function moveUp(tx: Transaction, family: AnyResource, id: string, { id: from, parentId }: DomainRow, by: By): void {
  const row = tx.get(family, id);
  if (row) tx.update(family, id, {}, by, exchange(tx, row, [from], parentId as string) as object);
}

/** Ids of at most `most` rows (all: -1) that are in a domain. */
function rowsIn(reader: Reader, family: AnyResource, { pk, id }: DomainRow, most: number): string[] {
  const sql = `SELECT id FROM ${tableOf(family)} t WHERE domain_pk = ? OR
    (also_in IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(t.also_in) j WHERE j.value = ?)) LIMIT ?`;
  return reader.all<{ id: string }>(sql, pk, id, most).map((row) => row.id);
}

/** Rows moved in one transaction. own choice: about 4 ms of work */
const ROWS_AT_ONCE = 50;

/**
 * Deletes a domain, however much lies in it: its rows move to the parent in slices, the domain goes last. own choice: a
 * crash in between leaves the domain with what has not moved yet. Throws as every deletion does, before anything moves.
 */
export async function removeDomain(
  { store, catalogue }: { store: Store; catalogue: Catalogue },
  id: string,
  by: By,
  check?: (row: DomainRow) => void,
): Promise<void> {
  const families = familiesIn(catalogue);
  const domain = store.get(domains, id);
  if (domain) requireMovable(store, domain, by, check);
  for (const family of domain ? families : []) {
    let moved = ROWS_AT_ONCE;
    while (moved === ROWS_AT_ONCE) {
      moved = await store.write((tx) => {
        const ids = rowsIn(tx, family, domain as DomainRow, ROWS_AT_ONCE);
        for (const row of ids) moveUp(tx, family, row, domain as DomainRow, by);
        return ids.length as Sync<number>;
      });
    }
  }
  await store.remove(domains, id, by, check);
}

function requireMovable(reader: Reader, domain: DomainRow, by: By, check?: (row: DomainRow) => void): void {
  check?.(domain);
  if (domain.parentId === null) throw new ConflictError("The root can't be deleted.");
  if (!by.scope.holds(domain.parentId)) throw forbidden();
  const [children, siblings] = [domain.id, domain.parentId].map((parentId) => reader.find(domains, { parentId }));
  const taken = new Set(siblings?.filter(({ id }) => id !== domain.id).map(({ name }) => name.toLowerCase()));
  const clash = children?.find(({ name }) => taken.has(name.toLowerCase()));
  if (clash) throw new ConflictError(`Field name is already in use: ${clash.name} would stand there twice.`, "name");
}
