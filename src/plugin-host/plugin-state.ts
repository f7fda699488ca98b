import { CallerError } from "../lib/errors.ts";
import type { InternalTable, Store } from "../store/store.ts";

/** Small durable values of plugins; sealed, because they may contain secrets. */
export const PLUGIN_STATE: InternalTable = {
  name: "plugin_state",
  sql: `CREATE TABLE IF NOT EXISTS plugin_state (
    plugin TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (plugin, key)
  ) STRICT, WITHOUT ROWID`,
};

const MAX_KEY_LENGTH = 255;
const MAX_BYTES = 65_536;
/** Values per plugin; large data belongs in devices or files. */
const MAX_VALUES = 1_000;

/** The value of `key`; undefined if never set. */
export function readPluginState(store: Store, plugin: string, key: unknown): unknown {
  const row = store.one<{ value: string }>(
    "SELECT value FROM plugin_state WHERE plugin = ? AND key = ?",
    plugin,
    checkedKey(key),
  );
  return row === null ? undefined : JSON.parse(store.secrets.open(row.value));
}

/** Stores a JSON value of at most 64 KiB; undefined deletes it. Resolves when stored. Throws CallerError. */
export async function writePluginState(store: Store, plugin: string, key: unknown, value: unknown): Promise<void> {
  const name = checkedKey(key);
  const text = value === undefined ? null : JSON.stringify(value);
  if (text !== null && Buffer.byteLength(text) > MAX_BYTES)
    throw new CallerError("too-large", `state.set: the value must not exceed ${MAX_BYTES} bytes of JSON`);
  const sealed = text === null ? null : store.secrets.seal(text);
  await store.write((tx) => {
    if (sealed === null) {
      tx.run("DELETE FROM plugin_state WHERE plugin = ? AND key = ?", plugin, name);
      return;
    }
    tx.run(
      "INSERT INTO plugin_state VALUES (?, ?, ?) ON CONFLICT (plugin, key) DO UPDATE SET value = excluded.value",
      plugin,
      name,
      sealed,
    );
    const count = tx.one<{ n: number }>("SELECT count(*) n FROM plugin_state WHERE plugin = ?", plugin)?.n ?? 0;
    if (count > MAX_VALUES)
      throw new CallerError("limit-exceeded", `state.set: a plugin must not store more than ${MAX_VALUES} values`);
  });
}

function checkedKey(key: unknown): string {
  if (typeof key !== "string" || key === "" || key.length > MAX_KEY_LENGTH)
    throw new CallerError("invalid-value", `state: the key must have 1 to ${MAX_KEY_LENGTH} characters`);
  return key;
}
