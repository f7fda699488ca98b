import type { Clock } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import type { TriggerInput } from "../plugin-api/index.ts";
import type { RoomTable, Store } from "../store/store.ts";

/** What came in from outside, kept from before the plugin is told so until it was taken up, and a day longer. */
export const PLUGIN_TRIGGERS: RoomTable = {
  name: "plugin_triggers",
  sql: `CREATE TABLE IF NOT EXISTS plugin_triggers (
    pk INTEGER PRIMARY KEY, plugin TEXT NOT NULL, source TEXT NOT NULL, dedupe_key TEXT NOT NULL,
    vals TEXT NOT NULL, at INTEGER NOT NULL, done_at INTEGER
  ) STRICT;
  CREATE INDEX IF NOT EXISTS plugin_triggers_by_key ON plugin_triggers (plugin, dedupe_key, at);
  CREATE INDEX IF NOT EXISTS plugin_triggers_by_time ON plugin_triggers (at)`,
};

/** @source plugin-api, TriggerInput: repeats within a day start nothing. */
const DAY_MS = 86_400_000;
const LONGEST_NAME = 255;
const MOST_BYTES = 65_536;

/** Inputs from outside that start messages. */
export interface Triggers {
  /** Stores an input and has it taken up; resolves when it is stored. A repeat within a day does nothing. Throws CallerError. */
  take(plugin: string, input: unknown): Promise<void>;
  /** Has taken up what an earlier run of the appliance left; older than a day is of no use. */
  resume(): void;
}

/** Makes the triggers; `handle` may be called again for an input whose handling did not resolve. */
export function createTriggers(
  store: Store,
  clock: Clock,
  handle: (plugin: string, input: TriggerInput) => Promise<void>,
  onError: (error: unknown) => void,
): Triggers {
  const takeUp = (pk: number, plugin: string, input: TriggerInput): void => {
    handle(plugin, input)
      .then(() =>
        store.write((tx) => void tx.run("UPDATE plugin_triggers SET done_at = ? WHERE pk = ?", clock.now(), pk)),
      )
      .catch(onError);
  };
  return {
    async take(plugin, given) {
      const input = checked(given);
      const pk = await store.write((tx) => {
        const now = clock.now();
        tx.run("DELETE FROM plugin_triggers WHERE at < ?", now - DAY_MS);
        const same = "SELECT 1 FROM plugin_triggers WHERE plugin = ? AND dedupe_key = ?";
        if (tx.one(same, plugin, input.dedupeKey)) return null;
        return tx.run(
          "INSERT INTO plugin_triggers (plugin, source, dedupe_key, vals, at) VALUES (?, ?, ?, ?, ?)",
          plugin,
          input.source,
          input.dedupeKey,
          JSON.stringify(input.values),
          now,
        ).lastInsertRowid;
      }, "emergency");
      if (pk !== null) takeUp(pk, plugin, input);
    },
    resume() {
      const rows = store.all<{ pk: number; plugin: string; source: string; dedupe_key: string; vals: string }>(
        "SELECT pk, plugin, source, dedupe_key, vals FROM plugin_triggers WHERE done_at IS NULL AND at > ? ORDER BY pk",
        clock.now() - DAY_MS,
      );
      for (const { pk, plugin, source, dedupe_key: dedupeKey, vals } of rows)
        takeUp(pk, plugin, { source, dedupeKey, values: JSON.parse(vals) as Record<string, unknown> });
    },
  };
}

function checked(given: unknown): TriggerInput {
  const { source, dedupeKey, values } = (given ?? {}) as Record<string, unknown>;
  const isName = (text: unknown): text is string =>
    typeof text === "string" && text !== "" && text.length <= LONGEST_NAME;
  if (!isName(source) || !isName(dedupeKey))
    throw new CallerError(
      "invalid-value",
      `trigger: source and dedupeKey are texts of 1 to ${LONGEST_NAME} characters`,
    );
  if (typeof values !== "object" || values === null || Array.isArray(values))
    throw new CallerError("invalid-value", "trigger: values is an object");
  if (Buffer.byteLength(JSON.stringify(values)) > MOST_BYTES)
    throw new CallerError("too-large", `trigger: values has at most ${MOST_BYTES} bytes of JSON`);
  return { source, dedupeKey, values: values as Record<string, unknown> };
}
