import { findReferences, type MissingReference, withoutReferences } from "../protocol/missing-references.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import { getRecord, type RowBody, readProductRow, type TransactionProgram } from "../storage/transaction-program.ts";
import { FEED_RECORDS, type FeedRecord, type LinkRecord } from "./tables.ts";

/**
 * The scope of a row: domains of which an appliance must have one, for the row itself and for each row that it is part of.
 * As text, `a,b&c` means (a or b) and c; null stands for the whole organisation.
 * @source docs/decisions/0491-trust-in-appliances.md
 */
type Clause = readonly string[];

/** Rows that are part of each other have an end. */
const MAX_DEPTH = 8;
/** A domain that no appliance has: for rows that belong to no domain although they should. */
const NO_DOMAIN = "none";

/** Reads the scope of a row from its domains and the rows that it is part of. */
export function* readRowScope(
  type: string,
  body: RowBody,
  types: Pick<ReplicatedTypes, "homeOf">,
  depth = 0,
): TransactionProgram<string | null> {
  const { isInDomains, references } = types.homeOf(type);
  const clauses: Clause[] = isInDomains ? [domainsOf(body)] : [];
  for (const { name, to } of references) {
    const id = body[name];
    if (typeof id !== "string") continue;
    const scope = yield* scopeOfTarget(to, id, types, depth);
    if (scope !== null) clauses.push(...scope.split("&").map((clause) => clause.split(",")));
  }
  return clauses.length === 0 ? null : toText(clauses);
}

function* scopeOfTarget(
  type: string,
  id: string,
  types: Pick<ReplicatedTypes, "homeOf">,
  depth: number,
): TransactionProgram<string | null> {
  const known = yield* getRecord(FEED_RECORDS, type, id);
  if (known) return known.scope;
  const { isInDomains, references } = types.homeOf(type);
  if (!isInDomains && references.length === 0) return null;
  // It may be published after this row, in the same transaction.
  const body = depth < MAX_DEPTH ? yield* readProductRow(type, id) : null;
  return body ? yield* readRowScope(type, body, types, depth + 1) : NO_DOMAIN;
}

function domainsOf({ domainId, alsoIn }: RowBody): Clause {
  const ids = [domainId, ...((alsoIn ?? []) as unknown[])].filter((id) => typeof id === "string");
  return ids.length > 0 ? ids : [NO_DOMAIN];
}

/** One text for all ways to say the same: a clause that follows from a stricter one is left out. */
function toText(clauses: readonly Clause[]): string {
  const sorted = clauses.map((ids) => [...new Set(ids)].sort()).sort((a, b) => a.length - b.length);
  const kept: Clause[] = [];
  for (const clause of sorted)
    if (!kept.some((stricter) => stricter.every((id) => clause.includes(id)))) kept.push(clause);
  return kept
    .map((ids) => ids.join(","))
    .sort()
    .join("&");
}

/** Whether rows of a scope are sent to an appliance. */
export function isInScope({ scopes }: Pick<LinkRecord, "scopes">, scope: string | null): boolean {
  if (scope === null || scopes === null) return true;
  return scope.split("&").every((clause) => clause.split(",").some((id) => scopes.includes(id)));
}

/** Whether an appliance may have a row of before: in the scopes that it had (`*`: everywhere). */
export function wasInScope(link: Pick<LinkRecord, "scopes">, { past }: Pick<FeedRecord, "past">): boolean {
  return past.some((scope) => scope === "*" || isInScope(link, scope));
}

/**
 * The row as an appliance is sent it: without optional references to rows that it is not sent. Null if it is not in its
 * scope.
 */
export function* readSentBody(
  link: Pick<LinkRecord, "scopes">,
  { type, id, scope, body }: Pick<FeedRecord, "type" | "id" | "scope" | "body">,
  types: Pick<ReplicatedTypes, "references">,
): TransactionProgram<RowBody | null> {
  if (body === null || !isInScope(link, scope)) return null;
  if (link.scopes === null) return body;
  const hidden: MissingReference[] = [];
  for (const reference of findReferences({ type, id, body }, types)) {
    const target = yield* getRecord(FEED_RECORDS, reference.to, reference.id);
    if (target && !isInScope(link, target.scope)) hidden.push(reference);
  }
  return hidden.length === 0 ? body : withoutReferences(body, hidden);
}

/** The rows that an appliance is sent, as it is sent them. */
export function* readSentRows(
  link: Pick<LinkRecord, "scopes">,
  rows: readonly FeedRecord[],
  types: Pick<ReplicatedTypes, "references">,
): TransactionProgram<FeedRecord[]> {
  const sent: FeedRecord[] = [];
  for (const row of rows) {
    const body = yield* readSentBody(link, row, types);
    if (body) sent.push({ ...row, body });
  }
  return sent;
}
