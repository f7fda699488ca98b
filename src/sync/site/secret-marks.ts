import type { Catalogue } from "../../schema/catalogue.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { InternalTable, StoreReader, Transaction } from "../../store/store.ts";
import { encryptedSecrets, SECRET_MARKS, secretMark } from "../protocol/secret-marks.ts";
import type { RowBody } from "../storage/transaction-program.ts";

/**
 * Marks of the secrets that the cloud has, by field. `known` is the mark of the secret that was here when the mark
 * arrived: empty for none, null if it was here before the cloud sent marks and counts as the same.
 */
export const SECRET_MARKS_TABLE: InternalTable = {
  name: "secret_marks",
  sql: "CREATE TABLE IF NOT EXISTS secret_marks (type TEXT NOT NULL, id TEXT NOT NULL, field TEXT NOT NULL, mark TEXT NOT NULL, known TEXT, PRIMARY KEY (type, id, field)) STRICT, WITHOUT ROWID;",
};

/** A secret to enter at this appliance. */
export interface SecretTask {
  type: string;
  id: string;
  /** Field, such as `axlPassword`; of a plugin `config.password`. */
  field: string;
  /** `missing`: it was never entered here; `changed`: the cloud has had another one since. */
  reason: "missing" | "changed";
}

/** More secrets of one row are not kept. */
const MAX_MARKS = 50;

/** Stores the marks of a received row; call it after the row was written. Without marks the earlier ones stay. */
export function recordSecretMarks(
  tx: Transaction,
  resource: AnyResource,
  id: string,
  { body, before }: { body: RowBody | null; before: RowBody | null },
): void {
  const { name: type } = resource;
  const marks = body?.[SECRET_MARKS];
  if (!body) return void tx.run("DELETE FROM secret_marks WHERE type = ? AND id = ?", type, id);
  if (typeof marks !== "object" || marks === null) return;
  const here = encryptedSecrets(resource, before ?? {});
  const received = Object.entries(marks).slice(0, MAX_MARKS);
  for (const [field, mark] of received) {
    const sql = "SELECT mark FROM secret_marks WHERE type = ? AND id = ? AND field = ?";
    const stored = tx.one<{ mark: string }>(sql, type, id, field);
    if (stored?.mark === mark) continue;
    const sealed = here[field];
    const known = sealed === undefined ? "" : stored ? secretMark(sealed) : null;
    tx.run("INSERT OR REPLACE INTO secret_marks VALUES (?, ?, ?, ?, ?)", type, id, field, String(mark), known);
  }
  const fields = JSON.stringify(received.map(([field]) => field));
  const gone = "type = ? AND id = ? AND field NOT IN (SELECT value FROM json_each(?))";
  tx.run(`DELETE FROM secret_marks WHERE ${gone}`, type, id, fields);
}

/** Marks of the secrets of a resource that the cloud has. */
export function listSecretMarks(reader: StoreReader, type: string): { id: string; field: string; mark: string }[] {
  return reader.all("SELECT id, field, mark FROM secret_marks WHERE type = ? ORDER BY id, field LIMIT 1000", type);
}

/** Secrets that the cloud has and this appliance has not, or has had since before they were changed there. */
export function listSecretTasks(reader: StoreReader, catalogue: Catalogue): SecretTask[] {
  const marks = reader.all<{ type: string; id: string; field: string; known: string | null }>(
    "SELECT type, id, field, known FROM secret_marks ORDER BY type, id, field LIMIT 1000",
  );
  return marks.flatMap(({ type, id, field, known }): SecretTask[] => {
    const resource = catalogue.has(type) ? catalogue.byName(type) : null;
    const row = resource && (reader.get(resource, id) as RowBody | null);
    if (!resource || !row) return [];
    const sealed = encryptedSecrets(resource, row)[field];
    if (sealed === undefined) return [{ type, id, field, reason: "missing" }];
    return known !== null && known === secretMark(sealed) ? [{ type, id, field, reason: "changed" }] : [];
  });
}
