import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import {
  deleteRecord,
  getRecord,
  listReferringRows,
  putRecord,
  scanRecords,
  type TransactionProgram,
  type TransactionStore,
} from "../storage/transaction-program.ts";
import { publishWrittenRows, setRowScope } from "./publish.ts";
import { FEED_RECORDS, SCOPE_CHANGES, SCOPE_PROGRESS } from "./tables.ts";

/** Rows of one transaction. @source docs/decisions/0491-trust-in-appliances.md */
const ROWS_PER_TRANSACTION = 50;

/** Publishes all rows that refer to rows whose scope changed. */
export async function followScopeChanges(
  store: Pick<TransactionStore, "transact">,
  types: ReplicatedTypes,
  now: () => number,
): Promise<void> {
  while (await store.transact(() => followScopeChange(types, now())));
}

/** Publishes some of them again; false if there are none. */
function* followScopeChange(types: ReplicatedTypes, at: number): TransactionProgram<boolean> {
  const [change] = yield* scanRecords(SCOPE_CHANGES, { limit: 1 });
  if (!change) return false;
  const { rows, next } = yield* listReferringRows(change.type, change.id, change.from, ROWS_PER_TRANSACTION);
  if (next === null) yield* deleteRecord(SCOPE_CHANGES, change.type, change.id);
  else yield* putRecord(SCOPE_CHANGES, { ...change, from: next });
  const published = [];
  for (const { type, id } of rows) {
    const record = yield* getRecord(FEED_RECORDS, type, id);
    if (record?.body) published.push({ type, id, body: record.body, at });
  }
  yield* publishWrittenRows(published, types);
  return true;
}

/**
 * Gives all rows a scope that a release without scopes has published. Their versions stay, so that appliances of the whole
 * organisation notice nothing; others have to fetch all rows afterwards.
 */
export async function scopeEarlierRows(
  store: Pick<TransactionStore, "transact">,
  types: ReplicatedTypes,
): Promise<void> {
  while (await store.transact(() => scopeSomeRows(types)));
}

function* scopeSomeRows(types: ReplicatedTypes): TransactionProgram<boolean> {
  const progress = yield* getRecord(SCOPE_PROGRESS, "rows");
  if (progress?.after === null) return false;
  // Rows that others are part of come first.
  const order = [...types.cloudOwned].sort((a, b) => types.dependencyRank(a) - types.dependencyRank(b));
  const [type = order[0], id = ""] = progress?.after.split("/") ?? [];
  if (type === undefined) return false;
  const found = yield* scanRecords(FEED_RECORDS, {
    by: "live",
    where: [type, 0],
    after: id,
    limit: ROWS_PER_TRANSACTION,
  });
  for (const record of found) yield* setRowScope(record, types);
  const next = found.length < ROWS_PER_TRANSACTION ? order[order.indexOf(type) + 1] : type;
  const after = next === undefined ? null : `${next}/${next === type ? found.at(-1)?.id : ""}`;
  yield* putRecord(SCOPE_PROGRESS, { id: "rows", after });
  return true;
}
