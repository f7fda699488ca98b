import type { RoomTable } from "../store/store.ts";

/**
 * Devices of a broadcast between resolve and queue, each once; a row goes in the transaction that makes its delivery.
 * Keys are internal; `endpoint` is filled by partition. There is no foreign key: what was deleted meanwhile joins nothing.
 */
const TARGETS: RoomTable = {
  name: "broadcast_targets",
  sql: `CREATE TABLE IF NOT EXISTS broadcast_targets (
    notification INTEGER NOT NULL, device INTEGER NOT NULL, endpoint INTEGER, PRIMARY KEY (notification, device)
  ) STRICT, WITHOUT ROWID`,
};

/** Groups, by id, of the devices of a message that is held back which other appliances could sound as well. */
const COVERED: RoomTable = {
  name: "broadcast_covered",
  sql: `CREATE TABLE IF NOT EXISTS broadcast_covered (
    notification TEXT NOT NULL REFERENCES notifications(id) ON DELETE CASCADE, cover TEXT NOT NULL,
    PRIMARY KEY (notification, cover)
  ) STRICT, WITHOUT ROWID`,
};

/** Broadcasts whose many recipients are still being written while their devices already ring. */
const OPEN_RECIPIENTS: RoomTable = {
  name: "broadcast_open_recipients",
  sql: "CREATE TABLE IF NOT EXISTS broadcast_open_recipients (notification INTEGER PRIMARY KEY) STRICT",
};

/** What previews found, as JSON. */
const PREVIEWS: RoomTable = {
  name: "broadcast_previews",
  sql: "CREATE TABLE IF NOT EXISTS broadcast_previews (notification INTEGER PRIMARY KEY, found TEXT NOT NULL) STRICT",
};

/** Numbers that notifications show, kept where they change, so that a list of them costs no counting. */
const COUNTS: RoomTable = {
  name: "broadcast_counts",
  sql: `CREATE TABLE IF NOT EXISTS broadcast_counts (
    notification INTEGER NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (notification, name)
  ) STRICT, WITHOUT ROWID`,
};

/** The last test broadcast that was stored. */
const CANARY: RoomTable = {
  name: "broadcast_canary",
  sql: "CREATE TABLE IF NOT EXISTS broadcast_canary (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL) STRICT",
};

/** What is kept of single notifications by their internal keys, and goes with them. */
export const KEPT_OF_NOTIFICATIONS: readonly RoomTable[] = [TARGETS, OPEN_RECIPIENTS, PREVIEWS, COUNTS];

/** The room's own tables, to be handed to the store. */
export const BROADCAST_TABLES: readonly RoomTable[] = [...KEPT_OF_NOTIFICATIONS, COVERED, CANARY];
