import type { InternalTable } from "../store/store.ts";
import { BULK_CHANGE_STEPS } from "./bulk-change-job.ts";
import { CALENDAR_SUBSCRIPTION_TABLES } from "./calendar-subscriptions.ts";
import { ZONE_CHANGE_TABLES } from "./zone-changes.ts";

/**
 * Planned and recent rings. Schedule, entry, local date and local time identify a ring, so no ring is stored twice (`entry`
 * is '' unless it is a bell); `id` is derived from them; `at` is epoch ms; `open` is 1 until the ring is finished; `asked` is 1
 * once devices were contacted. `pk` follows the planned instant: rings of one instant are adjacent, so a commit writes few
 * pages.
 */
const RINGS: InternalTable = {
  name: "bell_rings",
  sql: `CREATE TABLE IF NOT EXISTS bell_rings (
    pk INTEGER PRIMARY KEY, id TEXT NOT NULL, kind TEXT NOT NULL, owner TEXT NOT NULL,
    ring_list TEXT, entry TEXT NOT NULL, template TEXT, local_date TEXT NOT NULL, local_time TEXT NOT NULL, at INTEGER NOT NULL,
    state TEXT NOT NULL, open INTEGER NOT NULL, asked INTEGER NOT NULL, late_ms INTEGER, cause TEXT, note TEXT,
    UNIQUE (owner, local_date, local_time, entry)) STRICT;
  CREATE INDEX IF NOT EXISTS bell_rings__due ON bell_rings(at) WHERE open = 1;
  CREATE INDEX IF NOT EXISTS bell_rings__started ON bell_rings(at) WHERE state = 'started';
  CREATE INDEX IF NOT EXISTS bell_rings__missed ON bell_rings(at) WHERE state = 'missed';
  CREATE INDEX IF NOT EXISTS bell_rings__late ON bell_rings(at) WHERE state = 'late'`,
};

/**
 * Plan of each schedule up to `until` (epoch ms); `stale` is 1 if its inputs have changed; `made` is the wall time at which it
 * was planned from scratch.
 */
const PLANS: InternalTable = {
  name: "bell_plans",
  sql: `CREATE TABLE IF NOT EXISTS bell_plans (
    owner TEXT PRIMARY KEY, kind TEXT NOT NULL, until INTEGER NOT NULL, stale INTEGER NOT NULL,
    made INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS bell_plans__until ON bell_plans(until);
  CREATE INDEX IF NOT EXISTS bell_plans__stale ON bell_plans(owner) WHERE stale = 1`,
};

/** Inputs of all plans besides the schedules. */
const PLAN_INPUTS: InternalTable = {
  name: "bell_plan_inputs",
  sql: "CREATE TABLE IF NOT EXISTS bell_plan_inputs (only_one INTEGER PRIMARY KEY, basis TEXT NOT NULL) STRICT",
};

/** Rings that devices played offline; `at` is epoch ms of the ring. */
const OFFLINE_RINGS: InternalTable = {
  name: "bell_offline_rings",
  sql: `CREATE TABLE IF NOT EXISTS bell_offline_rings (
    device INTEGER NOT NULL, ring TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (device, ring)) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS bell_offline_rings__ring ON bell_offline_rings(ring);
  CREATE INDEX IF NOT EXISTS bell_offline_rings__at ON bell_offline_rings(at)`,
};

/** Internal tables of this module, registered with the store. */
export const BELL_TABLES: readonly InternalTable[] = [
  RINGS,
  PLANS,
  PLAN_INPUTS,
  OFFLINE_RINGS,
  BULK_CHANGE_STEPS,
  ...ZONE_CHANGE_TABLES,
  ...CALENDAR_SUBSCRIPTION_TABLES,
];
