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

/** Groups of a message, by id, each once; they go with it. */
function groupsOfMessages(name: string, more = ""): RoomTable {
  const notification = "notification TEXT NOT NULL REFERENCES notifications(id) ON DELETE CASCADE";
  const sql = `CREATE TABLE IF NOT EXISTS ${name} (
    ${notification}, ${more}cover TEXT NOT NULL, PRIMARY KEY (notification, cover)
  ) STRICT, WITHOUT ROWID`;
  return { name, sql };
}

/** Groups of the devices of a message that is held back which other appliances could sound as well, and `ALONE`. */
const COVERED = groupsOfMessages("broadcast_covered");

/** The same of devices that others alone sound it at, which this appliance may sound it at as well. */
const LEFT = groupsOfMessages("broadcast_left");

/** Messages that go to the devices of some groups in the place of another appliance; `ring` is what that one would sound. */
const STAND_INS = groupsOfMessages("broadcast_stand_ins", "ring TEXT NOT NULL, ");

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

/** Who holds one of the first places of a reply. */
const PLACES: RoomTable = {
  name: "broadcast_places",
  sql: `CREATE TABLE IF NOT EXISTS broadcast_places (
    notification INTEGER NOT NULL, recipient INTEGER NOT NULL, reply INTEGER NOT NULL,
    PRIMARY KEY (notification, recipient, reply)
  ) STRICT, WITHOUT ROWID`,
};

/** What is to follow from messages, and when (epoch ms); `decided` once its time has come. */
const DUE: RoomTable = {
  name: "broadcast_due",
  sql: `CREATE TABLE IF NOT EXISTS broadcast_due (
    notification INTEGER NOT NULL, kind TEXT NOT NULL, ref TEXT NOT NULL, at INTEGER NOT NULL, decided TEXT,
    PRIMARY KEY (notification, kind, ref)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS broadcast_due__kind ON broadcast_due(kind, at)`,
};

/** Whose devices are followed since an answer; epoch ms. */
const TRACKED: RoomTable = {
  name: "broadcast_tracked",
  sql: `CREATE TABLE IF NOT EXISTS broadcast_tracked (
    notification INTEGER NOT NULL, user INTEGER NOT NULL REFERENCES users(pk) ON DELETE CASCADE,
    started_at INTEGER NOT NULL, until INTEGER NOT NULL, ended_at INTEGER, PRIMARY KEY (notification, user)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS broadcast_tracked__user ON broadcast_tracked(user) WHERE ended_at IS NULL;
  CREATE INDEX IF NOT EXISTS broadcast_tracked__until ON broadcast_tracked(notification, until) WHERE ended_at IS NULL`,
};

/** Where they were: `at` as the device says. */
const TRACKS: RoomTable = {
  name: "broadcast_tracks",
  sql: `CREATE TABLE IF NOT EXISTS broadcast_tracks (
    pk INTEGER PRIMARY KEY AUTOINCREMENT, notification INTEGER NOT NULL,
    user INTEGER NOT NULL REFERENCES users(pk) ON DELETE CASCADE, device TEXT NOT NULL, at INTEGER NOT NULL,
    longitude REAL NOT NULL, latitude REAL NOT NULL, accuracy_m REAL NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS broadcast_tracks__of ON broadcast_tracks(notification, user);
  CREATE INDEX IF NOT EXISTS broadcast_tracks__user ON broadcast_tracks(user)`,
};

/** What devices said of their own beginning (epoch ms) and how often they were asked again, by delivery. */
const STARTS: RoomTable = {
  name: "broadcast_starts",
  sql: `CREATE TABLE IF NOT EXISTS broadcast_starts (
    notification INTEGER NOT NULL, delivery INTEGER NOT NULL, model TEXT, started_at REAL,
    asked_again INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (notification, delivery)) STRICT, WITHOUT ROWID`,
};

/** How long models take to begin (ms after the first packet): the newest reports as JSON, and what follows from them. */
const DELAYS: RoomTable = {
  name: "broadcast_delays",
  sql: `CREATE TABLE IF NOT EXISTS broadcast_delays (
    model TEXT PRIMARY KEY, reports TEXT NOT NULL, median_ms REAL NOT NULL, spread_ms REAL NOT NULL,
    measured_at INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
};

/** The last test broadcast that was stored. */
const CANARY: RoomTable = {
  name: "broadcast_canary",
  sql: "CREATE TABLE IF NOT EXISTS broadcast_canary (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL) STRICT",
};

/** What is kept of single notifications by their internal keys, and goes with them. */
export const KEPT_OF_NOTIFICATIONS: readonly RoomTable[] = [
  TARGETS,
  OPEN_RECIPIENTS,
  PREVIEWS,
  COUNTS,
  PLACES,
  DUE,
  TRACKED,
  TRACKS,
  STARTS,
];

/** The room's own tables, to be handed to the store. */
export const BROADCAST_TABLES: readonly RoomTable[] = [
  ...KEPT_OF_NOTIFICATIONS,
  COVERED,
  LEFT,
  STAND_INS,
  DELAYS,
  CANARY,
];
