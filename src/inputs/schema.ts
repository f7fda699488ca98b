import type { InternalTable } from "../store/store.ts";

/** Last start of each rule, for throttling bouncing contacts. */
const STARTS: InternalTable = {
  name: "input_rule_starts",
  sql: "CREATE TABLE IF NOT EXISTS input_rule_starts (rule TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID",
};

/** Notifications that repeat until their call is answered or ends. */
const RINGS: InternalTable = {
  name: "input_ringing_notifications",
  sql: `CREATE TABLE IF NOT EXISTS input_ringing_notifications (call TEXT NOT NULL, notification TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (call, notification)) STRICT, WITHOUT ROWID`,
};

/** Internal tables of this module, registered with the store. */
export const INPUT_TABLES: readonly InternalTable[] = [STARTS, RINGS];
