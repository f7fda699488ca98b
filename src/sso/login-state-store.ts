import type { InternalTable, Store, Transaction } from "../store/store.ts";

/**
 * What must be known again after a restart until its time is over: requests that await their answer, and assertions that
 * were used. Times are epoch ms.
 */
export const SSO_TABLES: readonly InternalTable[] = [
  {
    name: "sso_login_state",
    sql: `CREATE TABLE IF NOT EXISTS sso_login_state (
      key TEXT PRIMARY KEY, value TEXT NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS sso_login_state__until ON sso_login_state(until)`,
  },
];

/** What is worth nothing any more and goes with each new one. own choice: anybody may begin log-ins, many in a short time. */
const CLEANUP_CHUNK_SIZE = 25;

/** What anybody may have kept, so that there must be an end to it: `kind` is how its keys begin. */
export interface KindLimit {
  kind: string;
  maxEntries: number;
}

/**
 * Keeps `value` under `key` until then. False, and nothing changed, where the key is kept already. Of a bound kind the oldest
 * make room.
 */
export function putIfAbsent(
  store: Store,
  { key, value, until, now }: { key: string; value: string; until: number; now: number },
  bound?: KindLimit,
): Promise<boolean> {
  return store.write((tx) => {
    if (bound) makeRoom(tx, bound);
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

/** Some at a time, as finding the oldest takes longer than counting. Keys are ordered, and a kind is below its next sign. */
function makeRoom(tx: Transaction, { kind, maxEntries }: KindLimit): void {
  const own = "FROM sso_login_state WHERE key >= ? AND key < ?";
  const range = [`${kind} `, `${kind}!`] as const;
  if ((tx.one<{ n: number }>(`SELECT COUNT(*) AS n ${own}`, ...range)?.n ?? 0) < maxEntries) return;
  tx.run(
    `DELETE FROM sso_login_state WHERE key IN (SELECT key ${own} ORDER BY until LIMIT ?)`,
    ...range,
    CLEANUP_CHUNK_SIZE,
  );
}

/** Takes what is kept under a key, so that nobody else does; null when nothing is, or its time is over. */
export function consumeValue(store: Store, key: string, now: number): Promise<string | null> {
  return store.write((tx) => {
    const value = tx.one<{ value: string }>("SELECT value FROM sso_login_state WHERE key = ? AND until > ?", key, now);
    tx.run("DELETE FROM sso_login_state WHERE key = ?", key);
    return value?.value ?? null;
  });
}
