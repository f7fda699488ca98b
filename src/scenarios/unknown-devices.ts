import type { Clock } from "../lib/clock.ts";
import type { InternalTable, Store } from "../store/store.ts";
import type { ScenarioRow } from "./scenario-questions.ts";

/** Starts by unregistered devices, newest last; read past a watermark by `seq`. */
export const SCENARIO_TABLES: readonly InternalTable[] = [
  {
    name: "scenario_unknown_devices",
    sql: `CREATE TABLE IF NOT EXISTS scenario_unknown_devices (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, scenario_id TEXT NOT NULL, scenario_name TEXT NOT NULL,
      external_id TEXT NOT NULL) STRICT`,
  },
];

/** Retention: number of entries. @source docs/decisions/0204-scenarios-incidents-and-places.md, Scenarios */
const MAX_ENTRIES = 1_000;

/** Records that an unregistered device tried to start a scenario, whatever the result. */
export async function recordUnknownDevice(
  scenario: ScenarioRow,
  externalId: string,
  { store, clock }: { store: Store; clock: Clock },
): Promise<void> {
  await store.write((tx) => {
    const { lastInsertRowid: seq } = tx.run(
      "INSERT INTO scenario_unknown_devices (at, scenario_id, scenario_name, external_id) VALUES (?, ?, ?, ?)",
      ...[clock.now(), scenario.id, scenario.name, externalId],
    );
    tx.run("DELETE FROM scenario_unknown_devices WHERE seq <= ?", seq - MAX_ENTRIES);
    tx.emit("scenario.device-unknown", { seq, scenarioId: scenario.id, externalId });
  }, "emergency");
}
