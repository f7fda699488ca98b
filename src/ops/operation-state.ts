import type { InternalTable, StoreReader, Transaction } from "../store/store.ts";

/** What the room remembers over a restart: one JSON value by name. */
export const OPERATION_STATE: InternalTable = {
  name: "operation_state",
  sql: "CREATE TABLE IF NOT EXISTS operation_state (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
};

/** What is remembered under `name`; null for nothing. The caller knows the shape: it alone writes it. */
export function readOperationState<T>(reader: Pick<StoreReader, "one">, name: string): T | null {
  const found = reader.one<{ value: string }>("SELECT value FROM operation_state WHERE name = ?", name);
  return found === null ? null : (JSON.parse(found.value) as T);
}

/** Remembers `value`, in the caller's transaction. */
export function writeOperationState(tx: Pick<Transaction, "run">, name: string, value: unknown): void {
  tx.run("INSERT OR REPLACE INTO operation_state (name, value) VALUES (?, ?)", name, JSON.stringify(value));
}
