import type { InternalTable, StoreReader, Transaction } from "../store/store.ts";

/** Persistent state of the module: one JSON value per name. */
export const OPERATION_STATE: InternalTable = {
  name: "operation_state",
  sql: "CREATE TABLE IF NOT EXISTS operation_state (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
};

/** The value of `name`; null if absent. Only the caller writes it and so knows its type. */
export function readOperationState<T>(reader: Pick<StoreReader, "one">, name: string): T | null {
  const row = reader.one<{ value: string }>("SELECT value FROM operation_state WHERE name = ?", name);
  return row === null ? null : (JSON.parse(row.value) as T);
}

/** Stores `value` in the caller's transaction. */
export function writeOperationState(tx: Pick<Transaction, "run">, name: string, value: unknown): void {
  tx.run("INSERT OR REPLACE INTO operation_state (name, value) VALUES (?, ?)", name, JSON.stringify(value));
}
