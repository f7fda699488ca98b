import type { InternalTable, Store, Transaction } from "../store/store.ts";

/**
 * Login state that must survive a restart until it expires: pending SAML requests and tickets, and used assertions
 * (replay protection). Times are epoch ms.
 */
export const SSO_TABLES: readonly InternalTable[] = [
  {
    name: "sso_login_state",
    sql: `CREATE TABLE IF NOT EXISTS sso_login_state (
      key TEXT PRIMARY KEY, value TEXT NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS sso_login_state__until ON sso_login_state(until)`,
  },
];

/** Expired entries deleted with each new one. Anyone may start many logins in a short time. */
const CLEANUP_CHUNK_SIZE = 25;

/** Limit for entries that unauthenticated callers can create; `kind` is the prefix of their keys. */
export interface KindLimit {
  kind: string;
  maxEntries: number;
}

/**
 * Stores `value` under `key` until `until`. False, without a change, if the key exists already. With a limit, the
 * oldest entries of that kind are evicted.
 */
export function putIfAbsent(
  store: Store,
  { key, value, until, now }: { key: string; value: string; until: number; now: number },
  limit?: KindLimit,
): Promise<boolean> {
  return store.write((tx) => {
    if (limit) evictOldest(tx, limit);
    tx.run(
      "DELETE FROM sso_login_state WHERE key IN (SELECT key FROM sso_login_state WHERE until <= ? LIMIT ?)",
      now,
      CLEANUP_CHUNK_SIZE,
    );
    const sql = `INSERT INTO sso_login_state VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE
      SET value = excluded.value, until = excluded.until WHERE sso_login_state.until <= ?`;
    return tx.run(sql, key, value, until, now).changes === 1;
  });
}

/** Stores `value` under `key` until `until`, also over another one. */
export function putValue(tx: Transaction, { key, value, until }: { key: string; value: string; until: number }): void {
  tx.run("INSERT OR REPLACE INTO sso_login_state VALUES (?, ?, ?)", key, value, until);
}

/** Reads and deletes entries; missing and expired ones are left out. */
export function consumeValues(tx: Transaction, keys: readonly string[], now: number): string[] {
  return keys.flatMap((key) => {
    const found = tx.one<{ value: string }>("SELECT value FROM sso_login_state WHERE key = ? AND until > ?", key, now);
    tx.run("DELETE FROM sso_login_state WHERE key = ?", key);
    return found ? [found.value] : [];
  });
}

/**
 * Evicts several entries at once, because finding the oldest costs more than counting. Keys are ordered, so a kind is
 * the range from `kind ` to `kind!`.
 */
function evictOldest(tx: Transaction, { kind, maxEntries }: KindLimit): void {
  const own = "FROM sso_login_state WHERE key >= ? AND key < ?";
  const range = [`${kind} `, `${kind}!`] as const;
  if ((tx.one<{ n: number }>(`SELECT COUNT(*) AS n ${own}`, ...range)?.n ?? 0) < maxEntries) return;
  tx.run(
    `DELETE FROM sso_login_state WHERE key IN (SELECT key ${own} ORDER BY until LIMIT ?)`,
    ...range,
    CLEANUP_CHUNK_SIZE,
  );
}

/** Reads and deletes an entry, so that it is used once; null if it is missing or expired. */
export function consumeValue(store: Store, key: string, now: number): Promise<string | null> {
  return store.write((tx) => consumeValues(tx, [key], now)[0] ?? null);
}
