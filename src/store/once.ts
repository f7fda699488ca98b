import type Database from "better-sqlite3";
import type { Clock } from "../base/clock.ts";
import { ConflictError } from "../base/errors.ts";
import type { Claim, Once, Secrets } from "./store.ts";

const MEMORY_MS = 24 * 3_600_000;
/** Forgotten with each new one, so that a day's keys never go at once. own choice */
const FORGOTTEN_AT_ONCE = 20;

const TABLE = `
CREATE TABLE IF NOT EXISTS once_keys (
  owner TEXT NOT NULL, key TEXT NOT NULL, sha TEXT NOT NULL, at INTEGER NOT NULL, resource TEXT, row_id TEXT, answer TEXT,
  PRIMARY KEY (owner, key)) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS once_keys__at ON once_keys(at);`;

/** Opens the memory, which lies in the database. */
export function createOnce(db: Database.Database, secrets: Secrets, clock: Clock): Once {
  db.exec(TABLE);
  const get = db.prepare("SELECT sha, resource, row_id, answer FROM once_keys WHERE owner = ? AND key = ? AND at >= ?");
  const forget = db.prepare(
    `DELETE FROM once_keys WHERE (owner, key) IN (SELECT owner, key FROM once_keys WHERE at < ? LIMIT ${FORGOTTEN_AT_ONCE})`,
  );
  const forgetOne = db.prepare("DELETE FROM once_keys WHERE owner = ? AND key = ? AND at < ?");
  const add = db.prepare(
    "INSERT OR IGNORE INTO once_keys (owner, key, sha, at, resource, row_id) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const answer = db.prepare("UPDATE once_keys SET answer = ? WHERE owner = ? AND key = ?");
  const oldest = (): number => clock.now() - MEMORY_MS;

  function remember({ owner, key, sha }: Claim, resource: string | null, id: string | null): void {
    forgetOne.run(owner, key, oldest());
    if (add.run(owner, key, sha, clock.now(), resource, id).changes > 0) forget.run(oldest());
  }

  return {
    find({ owner, key, sha }) {
      const row = get.get(owner, key, oldest()) as Record<"sha" | "resource" | "row_id" | "answer", string> | undefined;
      if (!row) return null;
      if (row.sha !== sha)
        throw new ConflictError("This idempotency key was used for another request.", "Idempotency-Key");
      return {
        answer: row.answer === null ? null : secrets.open(row.answer),
        made: row.resource === null ? null : { resource: row.resource, id: row.row_id },
      };
    },
    mark: remember,
    keep(claim, text) {
      remember(claim, null, null);
      answer.run(secrets.seal(text), claim.owner, claim.key);
    },
  };
}
