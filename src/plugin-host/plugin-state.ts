import { CallerError } from "../lib/errors.ts";
import type { InternalTable, Store } from "../store/store.ts";

/** Small durable values of plugins; sealed, since a plugin may keep what it was entrusted with. */
export const PLUGIN_STATE: InternalTable = {
  name: "plugin_state",
  sql: `CREATE TABLE IF NOT EXISTS plugin_state (
    plugin TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (plugin, key)
  ) STRICT, WITHOUT ROWID`,
};

const MAX_KEY_LENGTH = 255;
const MAX_BYTES = 65_536;
/** own choice: values a plugin may keep; large data belong into devices or files. */
const MAX_VALUES = 1_000;

/** The value of `key`; undefined when it was never set. */
export function readPluginState(store: Store, plugin: string, key: unknown): unknown {
  const row = store.one<{ value: string }>(
    "SELECT value FROM plugin_state WHERE plugin = ? AND key = ?",
    plugin,
    checkedKey(key),
  );
  return row === null ? undefined : JSON.parse(store.secrets.open(row.value));
}

/** Keeps a JSON value of at most 64 KiB; undefined removes it. Resolves when it is stored. Throws CallerError. */
export async function writePluginState(store: Store, plugin: string, key: unknown, value: unknown): Promise<void> {
  const name = checkedKey(key);
  const text = value === undefined ? null : JSON.stringify(value);
  if (text !== null && Buffer.byteLength(text) > MAX_BYTES)
    throw new CallerError("too-large", `state.set: at most ${MAX_BYTES} bytes of JSON`);
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
    if (count > MAX_VALUES) throw new CallerError("limit-exceeded", `state.set: at most ${MAX_VALUES} values`);
  });
}

function checkedKey(key: unknown): string {
  if (typeof key !== "string" || key === "" || key.length > MAX_KEY_LENGTH)
    throw new CallerError("invalid-value", `state: a key has 1 to ${MAX_KEY_LENGTH} characters`);
  return key;
}
