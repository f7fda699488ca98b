import type { Reader, RoomTable, Transaction } from "../store/store.ts";

/** What the room remembers over a restart: one JSON value by name. */
export const OPERATION_MARKS: RoomTable = {
  name: "operation_marks",
  sql: "CREATE TABLE IF NOT EXISTS operation_marks (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
};

/** What is remembered under `name`; null for nothing. The caller knows the shape: it alone writes it. */
export function readMark<T>(reader: Pick<Reader, "one">, name: string): T | null {
  const found = reader.one<{ value: string }>("SELECT value FROM operation_marks WHERE name = ?", name);
  return found === null ? null : (JSON.parse(found.value) as T);
}

/** Remembers `value`, in the caller's transaction. */
export function writeMark(tx: Pick<Transaction, "run">, name: string, value: unknown): void {
  tx.run("INSERT OR REPLACE INTO operation_marks (name, value) VALUES (?, ?)", name, JSON.stringify(value));
}
