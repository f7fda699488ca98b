import type { RoomTable } from "../store/store.ts";

/** When a rule last started something, so that a bouncing contact starts it once. */
const STARTS: RoomTable = {
  name: "input_starts",
  sql: "CREATE TABLE IF NOT EXISTS input_starts (rule TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID",
};

/** Messages that ring until their call is answered or ends. */
const RINGS: RoomTable = {
  name: "input_rings",
  sql: `CREATE TABLE IF NOT EXISTS input_rings (call TEXT NOT NULL, notification TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (call, notification)) STRICT, WITHOUT ROWID`,
};

/** The room's own tables, to be handed to the store. */
export const INPUT_TABLES: readonly RoomTable[] = [STARTS, RINGS];
