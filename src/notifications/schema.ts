import type { InternalTable } from "../store/store.ts";

/**
 * Target devices of a broadcast between the stages resolve and queue, each once; a row is deleted in the transaction
 * that creates its delivery. Keys are internal; `endpoint` is filled by partition. There is no foreign key: deleted
 * rows drop out of joins.
 */
const TARGETS: InternalTable = {
  name: "notification_targets",
  sql: `CREATE TABLE IF NOT EXISTS notification_targets (
    notification INTEGER NOT NULL, device INTEGER NOT NULL, endpoint INTEGER, PRIMARY KEY (notification, device)
  ) STRICT, WITHOUT ROWID`,
};

/** Groups of a message by id, each once; deleted with the message. */
function groupTable(name: string, more = ""): InternalTable {
  const notification = "notification TEXT NOT NULL REFERENCES notifications(id) ON DELETE CASCADE";
  const sql = `CREATE TABLE IF NOT EXISTS ${name} (
    ${notification}, ${more}cover TEXT NOT NULL, PRIMARY KEY (notification, cover)
  ) STRICT, WITHOUT ROWID`;
  return { name, sql };
}

/** Groups of the devices of a held message that other appliances could ring as well, and `ALONE`. */
const FAILOVER_GROUPS = groupTable("notification_failover_groups");

/** The same for devices that other appliances ring and this one may ring as standby. */
const STANDBY_GROUPS = groupTable("notification_standby_groups");

/**
 * Failover rings: messages to the devices of some groups in place of another appliance; `ring` is the ring of that one.
 */
const FAILOVER_RINGS = groupTable("notification_failover_rings", "ring TEXT NOT NULL, ");

/** Broadcasts whose recipients are still being written while their devices already ring. */
const PENDING_RECIPIENTS: InternalTable = {
  name: "notification_pending_recipients",
  sql: "CREATE TABLE IF NOT EXISTS notification_pending_recipients (notification INTEGER PRIMARY KEY) STRICT",
};

/** Preview results, JSON. */
const PREVIEWS: InternalTable = {
  name: "notification_previews",
  sql: "CREATE TABLE IF NOT EXISTS notification_previews (notification INTEGER PRIMARY KEY, found TEXT NOT NULL) STRICT",
};

/** Counters that notifications show, maintained on change, so that a list needs no counting. */
const COUNTERS: InternalTable = {
  name: "notification_counters",
  sql: `CREATE TABLE IF NOT EXISTS notification_counters (
    notification INTEGER NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (notification, name)
  ) STRICT, WITHOUT ROWID`,
};

/** Who holds the quota slots of a reply. */
const REPLY_SLOTS: InternalTable = {
  name: "notification_reply_slots",
  sql: `CREATE TABLE IF NOT EXISTS notification_reply_slots (
    notification INTEGER NOT NULL, recipient INTEGER NOT NULL, reply INTEGER NOT NULL,
    PRIMARY KEY (notification, recipient, reply)
  ) STRICT, WITHOUT ROWID`,
};

/** Scheduled actions of messages (epoch ms); `decided` once the decision was made. */
const TIMERS: InternalTable = {
  name: "notification_timers",
  sql: `CREATE TABLE IF NOT EXISTS notification_timers (
    notification INTEGER NOT NULL, kind TEXT NOT NULL, ref TEXT NOT NULL, at INTEGER NOT NULL, decided TEXT,
    PRIMARY KEY (notification, kind, ref)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS notification_timers__kind ON notification_timers(kind, at)`,
};

/** Users tracked since an answer; epoch ms. */
const TRACKED_USERS: InternalTable = {
  name: "notification_tracked_users",
  sql: `CREATE TABLE IF NOT EXISTS notification_tracked_users (
    notification INTEGER NOT NULL, user INTEGER NOT NULL REFERENCES users(pk) ON DELETE CASCADE,
    started_at INTEGER NOT NULL, until INTEGER NOT NULL, ended_at INTEGER, PRIMARY KEY (notification, user)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS notification_tracked_users__user ON notification_tracked_users(user) WHERE ended_at IS NULL;
  CREATE INDEX IF NOT EXISTS notification_tracked_users__until ON notification_tracked_users(notification, until) WHERE ended_at IS NULL`,
};

/** Positions: `at` as reported by the device. */
const TRACKED_POSITIONS: InternalTable = {
  name: "notification_tracked_positions",
  sql: `CREATE TABLE IF NOT EXISTS notification_tracked_positions (
    pk INTEGER PRIMARY KEY AUTOINCREMENT, notification INTEGER NOT NULL,
    user INTEGER NOT NULL REFERENCES users(pk) ON DELETE CASCADE, device TEXT NOT NULL, at INTEGER NOT NULL,
    longitude REAL NOT NULL, latitude REAL NOT NULL, accuracy_m REAL NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS notification_tracked_positions__of ON notification_tracked_positions(notification, user);
  CREATE INDEX IF NOT EXISTS notification_tracked_positions__user ON notification_tracked_positions(user)`,
};

/** Playback start reported by devices (epoch ms) and number of re-requests, by delivery. */
const DEVICE_STARTS: InternalTable = {
  name: "notification_device_starts",
  sql: `CREATE TABLE IF NOT EXISTS notification_device_starts (
    notification INTEGER NOT NULL, delivery INTEGER NOT NULL, model TEXT, started_at REAL,
    asked_again INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (notification, delivery)) STRICT, WITHOUT ROWID`,
};

/** Start latency of models (ms after the first packet): the newest reports as JSON, and the statistics. */
const MODEL_START_LATENCIES: InternalTable = {
  name: "model_start_latencies",
  sql: `CREATE TABLE IF NOT EXISTS model_start_latencies (
    model TEXT PRIMARY KEY, reports TEXT NOT NULL, median_ms REAL NOT NULL, spread_ms REAL NOT NULL,
    measured_at INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
};

/** The last loopback probe that was stored. */
const LOOPBACK_PROBE: InternalTable = {
  name: "loopback_probe",
  sql: "CREATE TABLE IF NOT EXISTS loopback_probe (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL) STRICT",
};

/** Notifications whose details, or answers only, are past their retention and were removed (epoch ms). */
const REMOVED_DETAILS: InternalTable = {
  name: "notification_removed_details",
  sql: `CREATE TABLE IF NOT EXISTS notification_removed_details (
    notification INTEGER PRIMARY KEY, details_at INTEGER, answers_at INTEGER) STRICT`,
};

/** Removed deliveries by building ('' for none) and level. */
const PLACE_SUMS: InternalTable = {
  name: "notification_place_sums",
  sql: `CREATE TABLE IF NOT EXISTS notification_place_sums (
    notification INTEGER NOT NULL, place TEXT NOT NULL, level TEXT NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (notification, place, level)) STRICT, WITHOUT ROWID`,
};

/** The newest delivery when old history was last removed. */
const RETENTION_WATERMARK: InternalTable = {
  name: "notification_retention_watermark",
  sql: `CREATE TABLE IF NOT EXISTS notification_retention_watermark (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1), pk INTEGER NOT NULL) STRICT`,
};

/** Tables with rows per notification by internal key, deleted with it. */
export const NOTIFICATION_OWNED_TABLES: readonly InternalTable[] = [
  TARGETS,
  PENDING_RECIPIENTS,
  PREVIEWS,
  COUNTERS,
  REPLY_SLOTS,
  TIMERS,
  TRACKED_USERS,
  TRACKED_POSITIONS,
  DEVICE_STARTS,
  REMOVED_DETAILS,
  PLACE_SUMS,
];

/** The internal tables of this module, registered with the store. */
export const NOTIFICATION_TABLES: readonly InternalTable[] = [
  ...NOTIFICATION_OWNED_TABLES,
  FAILOVER_GROUPS,
  STANDBY_GROUPS,
  FAILOVER_RINGS,
  MODEL_START_LATENCIES,
  LOOPBACK_PROBE,
  RETENTION_WATERMARK,
];
