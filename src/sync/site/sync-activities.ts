import { derivedId } from "../../lib/ids.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import {
  applyRow,
  deleteRecord,
  putRecord,
  type RowBody,
  readProductRow,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";
import { enqueue } from "./outbox.ts";
import { activityTypesOf } from "./sync-activity-types.ts";
import { readSyncState } from "./sync-state.ts";
import { CHANGED_ACTIVITIES, type Tallies, type Tally } from "./tables.ts";

/** The resource that activities are rows of. */
export const ACTIVITY_TYPE = "endpoint-activities";

/** What work on activities needs: fields that all of them share, and the time and ids of this transaction. */
export interface ActivityContext {
  types: ReplicatedTypes;
  /** Extension and endpoint that they belong to. */
  commonFields: RowBody;
  /** Wall time, epoch ms. */
  now: number;
  newId(): string;
}

/** Counts by name, added to those of the same hour. */
export type ActivityCounts = Readonly<Record<string, number>>;

/** What an activity says; those that succeeded are told once an hour, with sums. */
export interface SyncActivity {
  type: string;
  state: "success" | "fail";
  severity: "debug" | "info" | "warn" | "error";
  counts: ActivityCounts;
  /** Particulars; the newest stay. */
  details?: RowBody;
}

const HOUR_MS = 3_600_000;

/**
 * Leaves an activity. Those of one kind, state and hour are one row, whose `value` has the sums, so that the log stays
 * smaller than what it tells of. Where the resource is not known, nothing is left. @source replication.md 7
 */
export function* recordActivity(
  journal: ActivityContext,
  { type, state, severity, counts, details }: SyncActivity,
): TransactionProgram<void> {
  const { now, commonFields } = journal;
  const { endpoint, incarnation } = yield* readSyncState();
  const hour = Math.floor(now / HOUR_MS);
  const id = derivedId("activity", endpoint, String(incarnation), type, state, severity, String(hour));
  const known = yield* readProductRow(ACTIVITY_TYPE, id);
  const before = (known?.value ?? { since: new Date(now).toISOString() }) as Readonly<Record<string, unknown>>;
  const sums = Object.entries(counts).map(([name, by]) => [name, Number(before[name] ?? 0) + by] as const);
  const value = { ...before, ...details, ...Object.fromEntries(sums) };
  const at = { createdAt: known?.createdAt ?? now, updatedAt: now };
  const applied = yield* applyRow(ACTIVITY_TYPE, id, { ...commonFields, ...at, id, type, state, severity, value });
  if (applied === "done") yield* putRecord(CHANGED_ACTIVITIES, { id });
}

/** Leaves, or moves on, the activity of one thing, such as a command or a resync; it begins as pending. */
export function* upsertActivity(
  { now, commonFields }: ActivityContext,
  id: string,
  {
    type,
    state,
    severity,
    details,
  }: Omit<SyncActivity, "state" | "counts"> & { state: SyncActivity["state"] | "pending" },
): TransactionProgram<void> {
  const known = yield* readProductRow(ACTIVITY_TYPE, id);
  const value = { ...(known?.value as object | undefined), ...details };
  const at = { createdAt: known?.createdAt ?? now, updatedAt: now };
  const applied = yield* applyRow(ACTIVITY_TYPE, id, { ...commonFields, ...at, id, type, state, severity, value });
  if (applied === "done") yield* putRecord(CHANGED_ACTIVITIES, { id });
}

const NOTHING: Tally = { made: 0, changed: 0, deleted: 0, refused: 0 };

/** Adds one row to the tallies of a mark. */
export function incrementTally(tallies: Tallies, type: string, what: keyof Tally): Tallies {
  const before = tallies[type] ?? NOTHING;
  return { ...tallies, [type]: { ...before, [what]: before[what] + 1 } };
}

/** Accounts for every row of a mark: as success what was applied, as failure what was refused. */
export function* recordCheckpointActivities(
  journal: ActivityContext,
  tallies: Tallies,
  to: number,
): TransactionProgram<void> {
  for (const [type, { made, changed, deleted, refused }] of Object.entries(tallies)) {
    const { sync, verbs, skipped } = activityTypesOf(type, journal.types.replicationClass(type));
    const rows = made + changed + deleted;
    const details = { to };
    if (rows > 0)
      yield* recordActivity(journal, {
        type: sync,
        state: "success",
        severity: "info",
        counts: { rows, marks: 1 },
        details,
      });
    if (refused > 0)
      yield* recordActivity(journal, {
        type: sync,
        state: "fail",
        severity: "warn",
        counts: { rows: refused },
        details,
      });
    if (refused > 0 && skipped) {
      yield* recordActivity(journal, {
        type: skipped,
        state: "fail",
        severity: "warn",
        counts: { skipped: refused },
        details,
      });
    }
    for (const [verb, count] of [
      ["create", made],
      ["update", changed],
      ["delete", deleted],
    ] as const) {
      if (!verbs || count === 0) continue;
      yield* recordActivity(journal, {
        type: `${verbs}-${verb}`,
        state: "success",
        severity: "debug",
        counts: { times: count },
      });
    }
  }
}

/** Accounts for records of this appliance that the cloud has taken, by their resource. */
export function* recordSentActivities(journal: ActivityContext, sent: ActivityCounts): TransactionProgram<void> {
  for (const [type, rows] of Object.entries(sent)) {
    const { sync } = activityTypesOf(type, journal.types.replicationClass(type));
    yield* recordActivity(journal, { type: sync, state: "success", severity: "info", counts: { sent: rows } });
  }
}

/** Sends activities that changed since; seldom, as each change makes the version before useless. */
export function* enqueueChangedActivities({ newId, now }: ActivityContext): TransactionProgram<void> {
  for (const { id } of yield* scanRecords(CHANGED_ACTIVITIES, { limit: 100 })) {
    yield* deleteRecord(CHANGED_ACTIVITIES, id);
    const body = yield* readProductRow(ACTIVITY_TYPE, id);
    if (body)
      yield* enqueue("bulk", { uid: newId(), op: "p", type: ACTIVITY_TYPE, id, body, at: now, newestOnly: true });
  }
}
