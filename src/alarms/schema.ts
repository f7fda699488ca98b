import type { InternalTable } from "../store/store.ts";

/** Raised reasons of active alarms, one row each. `scenario` is JSON. */
const REASONS: InternalTable = {
  name: "alarm_reasons",
  sql: `CREATE TABLE IF NOT EXISTS alarm_reasons (
    alarm TEXT NOT NULL, endpoint TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, scenario TEXT,
    since INTEGER NOT NULL, PRIMARY KEY (alarm, endpoint, code)) STRICT, WITHOUT ROWID`,
};

/** Faults that other modules reported and have not cleared; no row of theirs shows them. */
const REPORTED_FAULTS: InternalTable = {
  name: "alarm_reported_faults",
  sql: `CREATE TABLE IF NOT EXISTS alarm_reported_faults (
    alarm TEXT NOT NULL, endpoint TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, scenario TEXT,
    at INTEGER NOT NULL, PRIMARY KEY (alarm, endpoint, code)) STRICT, WITHOUT ROWID`,
};

/** Pending actions: written with the event, deleted once the notification is stored. `reasons` is JSON. */
const PENDING_ACTIONS: InternalTable = {
  name: "alarm_pending_actions",
  sql: `CREATE TABLE IF NOT EXISTS alarm_pending_actions (
    pk INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, action TEXT NOT NULL, event TEXT NOT NULL,
    reasons TEXT NOT NULL) STRICT`,
};

/** Read positions (watermarks) in the tables of other modules. */
const WATERMARKS: InternalTable = {
  name: "alarm_watermarks",
  sql: "CREATE TABLE IF NOT EXISTS alarm_watermarks (name TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID",
};

/** Internal tables of this module, registered with the store. */
export const ALARM_TABLES: readonly InternalTable[] = [REASONS, REPORTED_FAULTS, PENDING_ACTIONS, WATERMARKS];
