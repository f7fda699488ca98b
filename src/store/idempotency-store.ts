import type Database from "better-sqlite3";
import type { Clock } from "../lib/clock.ts";
import { ConflictError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { IdempotencyClaim, IdempotencyStore, Secrets } from "./store.ts";

/** Retention of idempotency keys: 24 hours. @source docs/decisions/0002-errors.md */
const RETENTION_MS = 24 * 3_600_000;
/** Expired keys deleted with each new one, so that a day's keys never go in one transaction. */
const CLEANUP_CHUNK_SIZE = 20;

const TABLE = `
CREATE TABLE IF NOT EXISTS idempotency_keys (
  owner TEXT NOT NULL, key TEXT NOT NULL, request_hash TEXT NOT NULL, at INTEGER NOT NULL,
  resource TEXT, row_id TEXT, response TEXT,
  PRIMARY KEY (owner, key)) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idempotency_keys__at ON idempotency_keys(at);`;

/** Opens the store of idempotency keys; creates its table if missing. */
export function createIdempotencyStore(db: Database.Database, secrets: Secrets, clock: Clock): IdempotencyStore {
  db.exec(TABLE);
  const get = db.prepare(
    "SELECT request_hash, resource, row_id, response FROM idempotency_keys WHERE owner = ? AND key = ? AND at >= ?",
  );
  const deleteExpired = db.prepare(
    `DELETE FROM idempotency_keys WHERE (owner, key) IN (SELECT owner, key FROM idempotency_keys WHERE at < ? LIMIT ${CLEANUP_CHUNK_SIZE})`,
  );
  const deleteIfExpired = db.prepare("DELETE FROM idempotency_keys WHERE owner = ? AND key = ? AND at < ?");
  const add = db.prepare(
    "INSERT OR IGNORE INTO idempotency_keys (owner, key, request_hash, at, resource, row_id) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const storeResponse = db.prepare("UPDATE idempotency_keys SET response = ? WHERE owner = ? AND key = ?");
  const retentionStart = (): number => clock.now() - RETENTION_MS;

  function insertKey({ owner, key, requestHash }: IdempotencyClaim, resource: string | null, id: string | null): void {
    deleteIfExpired.run(owner, key, retentionStart());
    if (add.run(owner, key, requestHash, clock.now(), resource, id).changes > 0) deleteExpired.run(retentionStart());
  }

  return {
    find({ owner, key, requestHash }) {
      const row = get.get(owner, key, retentionStart()) as
        | Record<"request_hash" | "resource" | "row_id" | "response", string>
        | undefined;
      if (!row) return null;
      if (row.request_hash !== requestHash)
        throw new ConflictError(
          sentence("conflict.this-idempotency-key-was-already-used-for-a-different-request"),
          "Idempotency-Key",
        );
      return {
        response: row.response === null ? null : secrets.open(row.response),
        createdRow: row.resource === null ? null : { resource: row.resource, id: row.row_id },
      };
    },
    recordRow: insertKey,
    recordResponse(claim, text) {
      insertKey(claim, null, null);
      storeResponse.run(secrets.seal(text), claim.owner, claim.key);
    },
  };
}
