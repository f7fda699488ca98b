import Database from "better-sqlite3";
import {
  AUDIT_COLUMNS,
  AUDIT_SEALED,
  type AuditTail,
  auditKeyOf,
  chainHash,
  findUnkeyedTampering,
  readAuditTail,
} from "./audit-chain.ts";
import { forgetAuditKey } from "./key-rotation.ts";

/** Set by the migration: the entries have hashes without a key. */
const UNSEALED_MARK = "audit_unsealed";

/** The entries of earlier releases, verified. */
export interface UnsealedAudit {
  number: number;
  hash: string;
  broken: { number: number; reason: string } | null;
}

/** Marks an audit of an earlier release, to be sealed with the first entry that is written. */
export function markUnsealed(db: Database.Database): void {
  db.prepare("INSERT OR REPLACE INTO store_meta (name, value) VALUES (?, '1')").run(UNSEALED_MARK);
}

export function clearUnsealedMark(db: Database.Database): void {
  db.prepare("DELETE FROM store_meta WHERE name = ?").run(UNSEALED_MARK);
}

/**
 * Finds out once per process whether the audit must be sealed, and verifies it. Verifying takes 5 s per million entries, so
 * it is done when the data are opened, once for each upgrade.
 */
export function createUnsealedAuditCheck(db: Database.Database): {
  /** What must be sealed, the first time that it is asked for. */
  take(): UnsealedAudit | null;
  /** After a rollback the seal is missing again. */
  reset(): void;
} {
  let found: UnsealedAudit | null | undefined;
  let isTaken = false;
  const read = (): UnsealedAudit | null => {
    const isMarked = db.prepare("SELECT 1 FROM store_meta WHERE name = ?").get(UNSEALED_MARK) !== undefined;
    if (!isMarked) return null;
    const tail = readAuditTail((sql) => db.prepare(sql).get());
    const isSealed = db.prepare("SELECT 1 FROM audit_entries WHERE op = ? LIMIT 1").get(AUDIT_SEALED) !== undefined;
    if (tail.pk === 0 || isSealed) return null;
    const rows = db
      .prepare(`SELECT ${[...AUDIT_COLUMNS, "hash"].join(", ")} FROM audit_entries ORDER BY pk`)
      .iterate() as Iterable<Record<string, unknown>>;
    return { number: tail.pk, hash: tail.hash, broken: findUnkeyedTampering(rows) };
  };
  found = read();
  return {
    take() {
      if (isTaken) return null;
      isTaken = true;
      // In a cluster, rows of others may have arrived since.
      const tail = found && readAuditTail((sql) => db.prepare(sql).get());
      if (found === undefined || (found && tail?.pk !== found.number)) found = read();
      return found;
    },
    reset() {
      isTaken = false;
      found = undefined;
    },
  };
}

/** Hashes the audit at `path` again with another key, after a restore without the old one. The database must not be open. */
export function resealAudit(path: string, secretKey: Buffer): AuditTail {
  const key = auditKeyOf(secretKey);
  const db = new Database(path, { fileMustExist: true });
  try {
    return db.transaction((): AuditTail => {
      forgetAuditKey(db);
      const isMigrated =
        db.prepare("SELECT 1 FROM schema_migrations WHERE name = '0010-audit-seal'").get() !== undefined;
      const isMarked = db.prepare("SELECT 1 FROM store_meta WHERE name = ?").get(UNSEALED_MARK) !== undefined;
      const before = readAuditTail((sql) => db.prepare(sql).get());
      if (!isMigrated || isMarked) return before;
      for (const name of ["update", "delete", "replace"]) db.exec(`DROP TRIGGER IF EXISTS audit_no_${name}`);
      const sealed = db.prepare("SELECT MIN(pk) FROM audit_entries WHERE op = ?").pluck().get(AUDIT_SEALED);
      const from = (sealed as number | null) ?? 1;
      const [page, previous] = [
        db.prepare(`SELECT ${AUDIT_COLUMNS.join(", ")} FROM audit_entries WHERE pk >= ? ORDER BY pk LIMIT 1000`),
        db.prepare("SELECT hash FROM audit_entries WHERE pk = ?").pluck(),
      ];
      const write = db.prepare("UPDATE audit_entries SET hash = ? WHERE pk = ?");
      let hash = (previous.get(from - 1) as string | undefined) ?? "";
      for (let next = from; ; ) {
        const rows = page.all(next) as (Record<string, unknown> & { pk: number })[];
        for (const row of rows) {
          hash = chainHash(
            key,
            hash,
            AUDIT_COLUMNS.map((name) => row[name]),
          );
          write.run(hash, row.pk);
          next = row.pk + 1;
        }
        if (rows.length === 0) return before;
      }
    })();
  } finally {
    db.close();
  }
}
