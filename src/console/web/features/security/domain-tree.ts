import type { DomainRow } from "../../api/security-rows.ts";

/** A domain with those directly below it, by name. */
export interface DomainNode {
  row: DomainRow;
  below: readonly DomainNode[];
}

/** Roots of the visible tree, by name: a domain with an invisible parent is a root. */
export function domainTree(rows: readonly DomainRow[]): DomainNode[] {
  const known = new Set(rows.map(({ id }) => id));
  const under = (parentId: string | null): DomainNode[] =>
    rows
      .filter((row) => (row.parentId !== null && known.has(row.parentId) ? row.parentId : null) === parentId)
      .sort((a, b) => a.name.localeCompare(b.name))
      .map((row) => ({ row, below: under(row.id) }));
  return under(null);
}

/** Rows of the tree from top to bottom, each with its depth. */
export function flattenDomainTree(nodes: readonly DomainNode[], depth = 0): { row: DomainRow; depth: number }[] {
  return nodes.flatMap(({ row, below }) => [{ row, depth }, ...flattenDomainTree(below, depth + 1)]);
}
