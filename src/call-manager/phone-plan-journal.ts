import type { InternalTable, Store, StoreReader, Transaction } from "../store/store.ts";
import type { PhonePlan } from "./phone-plan.ts";

/**
 * What is to be written of a reading, in parts; `cluster` gathers the parts of one. Only parts whose part 0 is there
 * count: it is written last.
 */
export const CALL_MANAGER_TABLES: readonly InternalTable[] = [
  {
    name: "callmgr_phone_plan_journal",
    sql: `CREATE TABLE IF NOT EXISTS callmgr_phone_plan_journal (
      cluster TEXT NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (cluster, part)) STRICT, WITHOUT ROWID`,
  },
];

/** Phones of a part. own choice: some 30 KB */
const PHONES_PER_PART = 50;

/** What one part asks for: changes, or phones that are gone. */
type PlanPart = PhonePlan;

/** Keeps a plan: from the end of the last write on it is certain to be carried out, whatever happens. */
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

/** Parts of a plan that was never whole. */
function deleteIncompletePlan(tx: Transaction, clusterId: string): void {
  tx.run(
    `DELETE FROM callmgr_phone_plan_journal WHERE cluster = ?
     AND NOT EXISTS (SELECT 1 FROM callmgr_phone_plan_journal h WHERE h.cluster = callmgr_phone_plan_journal.cluster AND h.part = 0)`,
    clusterId,
  );
}

/** Clusters with a plan that is not carried out to its end. */
export function journaledClusters(reader: StoreReader): string[] {
  const sql = "SELECT cluster FROM callmgr_phone_plan_journal WHERE part = 0 ORDER BY cluster";
  return reader.all<{ cluster: string }>(sql).map(({ cluster }) => cluster);
}

/** The first part that is still to be carried out; null when none is. */
export function nextJournalPart(reader: StoreReader, clusterId: string): { at: number; part: PlanPart } | null {
  const line = reader.one<{ at: number; body: string }>(
    `SELECT part AS at, body FROM callmgr_phone_plan_journal WHERE cluster = ? AND part > 0
     AND EXISTS (SELECT 1 FROM callmgr_phone_plan_journal WHERE cluster = ? AND part = 0) ORDER BY part LIMIT 1`,
    ...[clusterId, clusterId],
  );
  return line && { at: line.at, part: JSON.parse(line.body) as PlanPart };
}

/** A part was carried out; the plan is over with its last one. */
export function completeJournalPart(tx: Transaction, clusterId: string, at: number): void {
  tx.run("DELETE FROM callmgr_phone_plan_journal WHERE cluster = ? AND part = ?", clusterId, at);
  tx.run(
    `DELETE FROM callmgr_phone_plan_journal WHERE cluster = ? AND part = 0
     AND NOT EXISTS (SELECT 1 FROM callmgr_phone_plan_journal WHERE cluster = ? AND part > 0)`,
    ...[clusterId, clusterId],
  );
}

/** The cluster is gone, and its plan with it. */
export function deleteJournal(tx: Transaction, clusterId: string): void {
  tx.run("DELETE FROM callmgr_phone_plan_journal WHERE cluster = ?", clusterId);
}
