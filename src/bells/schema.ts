import type { InternalTable } from "../store/store.ts";
import { BULK_CHANGE_STEPS } from "./bulk-change-job.ts";

/**
 * Rings that are planned, and those that were due lately. Schedule, entry, local date and time make a ring, so that none
 * can be there twice (`entry` is '' for what is no bell); `id` is derived from them; `at` is epoch ms; `open` is 1 until
 * nothing more is to become of it; `asked` once devices were told of it. `pk` follows from the instant at which a ring was
 * planned: those of one instant lie together, and a commit writes few pages.
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
  CREATE INDEX IF NOT EXISTS bell_rings__missed ON bell_rings(at) WHERE state = 'missed'`,
};

/**
 * What is planned, up to which instant (epoch ms); `stale` is 1 while what it was planned from has changed since; `made`
 * is the wall time at which it was planned from the beginning.
 */
const PLANS: InternalTable = {
  name: "bell_plans",
  sql: `CREATE TABLE IF NOT EXISTS bell_plans (
    owner TEXT PRIMARY KEY, kind TEXT NOT NULL, until INTEGER NOT NULL, stale INTEGER NOT NULL,
    made INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS bell_plans__until ON bell_plans(until);
  CREATE INDEX IF NOT EXISTS bell_plans__stale ON bell_plans(owner) WHERE stale = 1`,
};

/** What all plans rest on beside the schedules. */
const BASIS: InternalTable = {
  name: "bell_plan_inputs",
  sql: "CREATE TABLE IF NOT EXISTS bell_plan_inputs (only_one INTEGER PRIMARY KEY, basis TEXT NOT NULL) STRICT",
};

/** Devices that played a ring by themselves, without the appliance; `at` is epoch ms of the ring. */
const LONE: InternalTable = {
  name: "bell_offline_rings",
  sql: `CREATE TABLE IF NOT EXISTS bell_offline_rings (
    device INTEGER NOT NULL, ring TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (device, ring)) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS bell_offline_rings__ring ON bell_offline_rings(ring);
  CREATE INDEX IF NOT EXISTS bell_offline_rings__at ON bell_offline_rings(at)`,
};

/** The room's own tables, to be handed to the store. */
export const BELL_TABLES: readonly InternalTable[] = [RINGS, PLANS, BASIS, LONE, BULK_CHANGE_STEPS];
