import { randomBytes } from "node:crypto";
import { chownSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { syncFolderNow } from "../lib/durable-file.ts";
import auditEntries from "../resources/security/audit-entries.ts";
import { readKeyFingerprint, replaceKeyFingerprint } from "./key-fingerprint.ts";
import { createSecrets, KEY_BYTES, KEY_NAME, keyFingerprint } from "./secrets.ts";
import type { Secrets } from "./store.ts";

/** The next key, beside the one in use, until the database is sealed with it. */
const NEXT_KEY_NAME = "secret-key.new";
/** Key in `store_meta` of the key of the audit chain, sealed, since the first rotation. */
const AUDIT_KEY = "audit_key";
/** A sealed text, alone or within JSON: at least nonce and tag. */
const SEALED = /v1:[A-Za-z0-9+/]{38,}={0,2}/g;
/** Secrets in the audit are masked, and its hash chain covers its columns. */
const UNTOUCHED_TABLES = new Set([auditEntries.name.replaceAll("-", "_")]);

/** Writes the next key, durably, with the owner of the one in use. It is used once `adoptNextKey` renames it. */
export function writeNextKey(dataDir: string): Buffer {
  const key = randomBytes(KEY_BYTES);
  const path = join(dataDir, NEXT_KEY_NAME);
  const { uid, gid } = statSync(join(dataDir, KEY_NAME));
  rmSync(path, { force: true });
  writeFileSync(path, key, { flag: "wx", mode: 0o600, flush: true });
  chownSync(path, uid, gid);
  syncFolderNow(dataDir);
  return key;
}

/** Replaces the key by the next one, with which the database is sealed. */
export function adoptNextKey(dataDir: string): void {
  renameSync(join(dataDir, NEXT_KEY_NAME), join(dataDir, KEY_NAME));
  syncFolderNow(dataDir);
}

/**
 * Ends a rotation that was interrupted: the fingerprint in the database, which changes in the same transaction as what is
 * sealed, decides which of the two keys is right. Call it with the lock on the data.
 */
export function settleKeyRotation(db: Database.Database, dataDir: string): void {
  const path = join(dataDir, NEXT_KEY_NAME);
  if (!existsSync(path)) return;
  const next = readFileSync(path);
  if (next.length === KEY_BYTES && keyFingerprint(next) === readKeyFingerprint(db)) adoptNextKey(dataDir);
  else rmSync(path);
}

/** Whether a rotation was interrupted: opening the data ends it. */
export function isKeyRotationPending(dataDir: string): boolean {
  return existsSync(join(dataDir, NEXT_KEY_NAME));
}

/**
 * Seals everything in the database with `next`: every text of every table is searched, and authenticated encryption tells
 * which ones are sealed with the present key. Returns the number of sealed values. Call it in a transaction.
 */
export function sealWithNextKey(db: Database.Database, secrets: Secrets, next: Buffer, auditKey: Buffer): number {
  const sealer = createSecrets(next);
  let count = 0;
  const sealAgain = (text: string): string =>
    text.replace(SEALED, (found) => {
      const plain = tryOpen(secrets, found);
      if (plain === null) return found;
      count += 1;
      return sealer.seal(sealAgain(plain));
    });
  db.function("seal_again", { directOnly: true }, (value: unknown) =>
    typeof value === "string" ? sealAgain(value) : value,
  );
  for (const [table, columns] of textColumns(db))
    for (const column of columns)
      db.prepare(
        `UPDATE main."${table}" SET "${column}" = seal_again("${column}") WHERE instr("${column}", 'v1:') > 0`,
      ).run();
  db.prepare("INSERT OR REPLACE INTO main.store_meta (name, value) VALUES (?, ?)").run(
    AUDIT_KEY,
    sealer.seal(auditKey.toString("hex")),
  );
  replaceKeyFingerprint(db, keyFingerprint(next));
  return count;
}

/** The key of the audit chain, which stays when the secret key is replaced; null before the first rotation. */
export function readAuditKey(db: Database.Database, secrets: Secrets): Buffer | null {
  const sealed = db.prepare("SELECT value FROM store_meta WHERE name = ?").pluck().get(AUDIT_KEY);
  return typeof sealed === "string" ? Buffer.from(secrets.open(sealed), "hex") : null;
}

/** After the loss of the secret key, the key of the audit chain can't be read either. */
export function forgetAuditKey(db: Database.Database): void {
  db.prepare("DELETE FROM store_meta WHERE name = ?").run(AUDIT_KEY);
}

function tryOpen(secrets: Secrets, sealed: string): string | null {
  try {
    return secrets.open(sealed);
  } catch {
    return null;
  }
}

/** Columns that may hold text, by table; the tables behind a full-text index hold no more than the rows do. */
function textColumns(db: Database.Database): Map<string, string[]> {
  const tables = db.pragma("main.table_list") as { schema: string; name: string; type: string }[];
  const columns = db.prepare("SELECT name, type FROM pragma_table_xinfo(?) WHERE hidden = 0");
  const isText = ({ type }: { type: string }): boolean => !/INT|REAL|FLOA|DOUB|BLOB|NUM/i.test(type);
  const found = tables.filter(
    ({ schema, name, type }) =>
      schema === "main" && type === "table" && !name.startsWith("sqlite_") && !UNTOUCHED_TABLES.has(name),
  );
  return new Map(
    found.map(({ name }) => [
      name,
      (columns.all(name) as { name: string; type: string }[]).filter(isText).map((column) => column.name),
    ]),
  );
}
