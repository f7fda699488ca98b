import type { RoomTable } from "../store/store.ts";

/** What is wrong now, where an alarm is active because of it: one row per reason. `scenario` is JSON. */
const REASONS: RoomTable = {
  name: "alarm_reasons",
  sql: `CREATE TABLE IF NOT EXISTS alarm_reasons (
    alarm TEXT NOT NULL, endpoint TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, scenario TEXT,
    since INTEGER NOT NULL, PRIMARY KEY (alarm, endpoint, code)) STRICT, WITHOUT ROWID`,
};

/** What rooms told and have not taken back: faults that no row of theirs shows. */
const TOLD: RoomTable = {
  name: "alarm_told",
  sql: `CREATE TABLE IF NOT EXISTS alarm_told (
    alarm TEXT NOT NULL, endpoint TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, scenario TEXT,
    at INTEGER NOT NULL, PRIMARY KEY (alarm, endpoint, code)) STRICT, WITHOUT ROWID`,
};

/** Actions that are still to be taken; written with the event, gone once the message is stored. `reasons` is JSON. */
const FIRINGS: RoomTable = {
  name: "alarm_firings",
  sql: `CREATE TABLE IF NOT EXISTS alarm_firings (
    pk INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, action TEXT NOT NULL, event TEXT NOT NULL,
    reasons TEXT NOT NULL) STRICT`,
};

/** Watermarks of what was read of other rooms. */
const MARKS: RoomTable = {
  name: "alarm_marks",
  sql: "CREATE TABLE IF NOT EXISTS alarm_marks (name TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID",
};

/** The room's own tables, to be handed to the store. */
export const ALARM_TABLES: readonly RoomTable[] = [REASONS, TOLD, FIRINGS, MARKS];
