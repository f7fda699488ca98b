import { AREA_PRESENCE } from "../devices/area-presence.ts";
import type { InternalTable } from "../store/store.ts";

/**
 * Last report of each device: `at` by the device's clock, `received` by ours. Coordinates are null past their retention, and
 * if the app itself reported its areas.
 */
const POSITIONS: InternalTable = {
  name: "area_positions",
  sql: `CREATE TABLE IF NOT EXISTS area_positions (
    device INTEGER PRIMARY KEY REFERENCES user_devices(pk) ON DELETE CASCADE, at INTEGER NOT NULL, received INTEGER NOT NULL,
    accuracy_m REAL, longitude REAL, latitude REAL, checksum TEXT) STRICT;
  CREATE INDEX IF NOT EXISTS area_positions__known ON area_positions(received) WHERE latitude IS NOT NULL`,
};

/** Last time a trigger fired for a user, by the device's clock. */
const THROTTLES: InternalTable = {
  name: "area_throttles",
  sql: `CREATE TABLE IF NOT EXISTS area_throttles (
    trigger INTEGER NOT NULL REFERENCES boundary_triggers(pk) ON DELETE CASCADE,
    user INTEGER NOT NULL REFERENCES users(pk) ON DELETE CASCADE, at INTEGER NOT NULL, PRIMARY KEY (trigger, user)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS area_throttles__user ON area_throttles(user)`,
};

/** Pending trigger actions: written with the crossing, deleted with the activity. */
const PENDING_ACTIONS: InternalTable = {
  name: "area_pending_actions",
  sql: `CREATE TABLE IF NOT EXISTS area_pending_actions (
    pk INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, trigger TEXT NOT NULL, user TEXT NOT NULL,
    device TEXT NOT NULL, reason TEXT NOT NULL, received INTEGER NOT NULL) STRICT`,
};

/** Areas that changed or were deleted, with the last device that was compared again. */
const RECHECKS: InternalTable = {
  name: "area_rechecks",
  sql: `CREATE TABLE IF NOT EXISTS area_rechecks (area TEXT PRIMARY KEY, after INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
};

/** Internal tables of this module, registered with the store. */
export const AREA_TABLES: readonly InternalTable[] = [AREA_PRESENCE, POSITIONS, THROTTLES, PENDING_ACTIONS, RECHECKS];
