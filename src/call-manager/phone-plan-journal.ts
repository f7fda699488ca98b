import type { InternalTable, Store, StoreReader, Transaction } from "../store/store.ts";
import type { PhonePlan } from "./phone-plan.ts";

/**
 * Write-ahead journal of a phone plan, in parts; `cluster` groups the parts of one plan. A plan is valid only with part 0, which
 * is written last.
 */
export const CALL_MANAGER_TABLES: readonly InternalTable[] = [
  {
    name: "callmgr_phone_plan_journal",
    sql: `CREATE TABLE IF NOT EXISTS callmgr_phone_plan_journal (
      cluster TEXT NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (cluster, part)) STRICT, WITHOUT ROWID`,
  },
];

/** Phones per part: some 30 KB. @source docs/decisions/0205-call-manager.md, Reading */
const PHONES_PER_PART = 50;

/** Changes, or phones that are gone. */
type PlanPart = PhonePlan;

/** Saves a plan; once the last write is committed it will be applied, even after a crash. */
export async function saveToJournal(store: Store, clusterId: string, { changes, gone }: PhonePlan): Promise<void> {
  const parts: PlanPart[] = [
    ...splitIntoParts(changes).map((some) => ({ changes: some, gone: [] })),
    ...splitIntoParts(gone).map((some) => ({ changes: [], gone: some })),
  ];
  await store.write((tx) => deleteIncompletePlan(tx, clusterId));
  for (const [at, part] of parts.entries()) {
    await store.write((tx) => {
      tx.run("INSERT INTO callmgr_phone_plan_journal VALUES (?, ?, ?)", clusterId, at + 1, JSON.stringify(part));
      if (at === parts.length - 1) tx.run("INSERT INTO callmgr_phone_plan_journal VALUES (?, 0, '{}')", clusterId);
    });
  }
}

function splitIntoParts<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / PHONES_PER_PART) }, (_, at) =>
    items.slice(at * PHONES_PER_PART, (at + 1) * PHONES_PER_PART),
  );
}

/** Deletes parts of a plan without part 0. */
function deleteIncompletePlan(tx: Transaction, clusterId: string): void {
  tx.run(
    `DELETE FROM callmgr_phone_plan_journal WHERE cluster = ?
     AND NOT EXISTS (SELECT 1 FROM callmgr_phone_plan_journal h WHERE h.cluster = callmgr_phone_plan_journal.cluster AND h.part = 0)`,
    clusterId,
  );
}

/** Clusters with a pending plan. */
export function journaledClusters(reader: StoreReader): string[] {
  const sql = "SELECT cluster FROM callmgr_phone_plan_journal WHERE part = 0 ORDER BY cluster";
  return reader.all<{ cluster: string }>(sql).map(({ cluster }) => cluster);
}

/** The first pending part; null if there is none. */
export function nextJournalPart(reader: StoreReader, clusterId: string): { at: number; part: PlanPart } | null {
  const line = reader.one<{ at: number; body: string }>(
    `SELECT part AS at, body FROM callmgr_phone_plan_journal WHERE cluster = ? AND part > 0
     AND EXISTS (SELECT 1 FROM callmgr_phone_plan_journal WHERE cluster = ? AND part = 0) ORDER BY part LIMIT 1`,
    ...[clusterId, clusterId],
  );
  return line && { at: line.at, part: JSON.parse(line.body) as PlanPart };
}

/** Completes a part; the plan ends with its last part. */
export function completeJournalPart(tx: Transaction, clusterId: string, at: number): void {
  tx.run("DELETE FROM callmgr_phone_plan_journal WHERE cluster = ? AND part = ?", clusterId, at);
  tx.run(
    `DELETE FROM callmgr_phone_plan_journal WHERE cluster = ? AND part = 0
     AND NOT EXISTS (SELECT 1 FROM callmgr_phone_plan_journal WHERE cluster = ? AND part > 0)`,
    ...[clusterId, clusterId],
  );
}

/** Deletes the plan of a deleted cluster. */
export function deleteJournal(tx: Transaction, clusterId: string): void {
  tx.run("DELETE FROM callmgr_phone_plan_journal WHERE cluster = ?", clusterId);
}
