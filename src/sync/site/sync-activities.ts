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

/** The resource of activities. */
export const ACTIVITY_TYPE = "endpoint-activities";

/** Context of activity updates in one transaction. */
export interface ActivityContext {
  types: ReplicatedTypes;
  /** Extension and endpoint of all activities. */
  commonFields: RowBody;
  /** Wall time, epoch ms. */
  now: number;
  newId(): string;
}

/** Counts by name, added up per hour. */
export type ActivityCounts = Readonly<Record<string, number>>;

/** An activity; successes are recorded once per hour, with sums. */
export interface SyncActivity {
  type: string;
  state: "success" | "fail";
  severity: "debug" | "info" | "warn" | "error";
  counts: ActivityCounts;
  /** Details; newer ones replace older ones. */
  details?: RowBody;
}

const HOUR_MS = 3_600_000;

/**
 * Records an activity. Those of one type, state and hour share a row whose `value` has the sums, so that the log stays smaller
 * than its subject. Does nothing if the resource is unknown. @source docs/decisions/0040-replication.md, Section 7
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

/** Creates or updates the activity of one operation, such as a command or a resync. */
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

/** Adds one row to the tallies of a checkpoint. */
export function incrementTally(tallies: Tallies, type: string, what: keyof Tally): Tallies {
  const before = tallies[type] ?? NOTHING;
  return { ...tallies, [type]: { ...before, [what]: before[what] + 1 } };
}

/** Accounts for every row of a checkpoint: applied rows as success, refused ones as failure. */
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

/** Accounts for records that the cloud acknowledged, by resource. */
export function* recordSentActivities(journal: ActivityContext, sent: ActivityCounts): TransactionProgram<void> {
  for (const [type, rows] of Object.entries(sent)) {
    const { sync } = activityTypesOf(type, journal.types.replicationClass(type));
    yield* recordActivity(journal, { type: sync, state: "success", severity: "info", counts: { sent: rows } });
  }
}

/** Queues changed activities; rarely, because each change supersedes the version before. */
export function* enqueueChangedActivities({ newId, now }: ActivityContext): TransactionProgram<void> {
  for (const { id } of yield* scanRecords(CHANGED_ACTIVITIES, { limit: 100 })) {
    yield* deleteRecord(CHANGED_ACTIVITIES, id);
    const body = yield* readProductRow(ACTIVITY_TYPE, id);
    if (body)
      yield* enqueue("bulk", { uid: newId(), op: "p", type: ACTIVITY_TYPE, id, body, at: now, newestOnly: true });
  }
}
