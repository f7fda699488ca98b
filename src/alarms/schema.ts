import type { InternalTable } from "../store/store.ts";

/** What is wrong now, where an alarm is active because of it: one row per reason. `scenario` is JSON. */
const REASONS: InternalTable = {
  name: "alarm_reasons",
  sql: `CREATE TABLE IF NOT EXISTS alarm_reasons (
    alarm TEXT NOT NULL, endpoint TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, scenario TEXT,
    since INTEGER NOT NULL, PRIMARY KEY (alarm, endpoint, code)) STRICT, WITHOUT ROWID`,
};

/** What rooms told and have not taken back: faults that no row of theirs shows. */
const TOLD: InternalTable = {
  name: "alarm_reported_faults",
  sql: `CREATE TABLE IF NOT EXISTS alarm_reported_faults (
    alarm TEXT NOT NULL, endpoint TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, scenario TEXT,
    at INTEGER NOT NULL, PRIMARY KEY (alarm, endpoint, code)) STRICT, WITHOUT ROWID`,
};

/** Actions that are still to be taken; written with the event, gone once the message is stored. `reasons` is JSON. */
const FIRINGS: InternalTable = {
  name: "alarm_pending_actions",
  sql: `CREATE TABLE IF NOT EXISTS alarm_pending_actions (
    pk INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, action TEXT NOT NULL, event TEXT NOT NULL,
    reasons TEXT NOT NULL) STRICT`,
};

/** Watermarks of what was read of other rooms. */
const MARKS: InternalTable = {
  name: "alarm_watermarks",
  sql: "CREATE TABLE IF NOT EXISTS alarm_watermarks (name TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID",
};

/** The room's own tables, to be handed to the store. */
export const ALARM_TABLES: readonly InternalTable[] = [REASONS, TOLD, FIRINGS, MARKS];
