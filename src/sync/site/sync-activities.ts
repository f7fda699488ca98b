import { derivedId } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
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
import { activityTypesOf, hasObjectActivities, REFERENCE_TYPES } from "./sync-activity-types.ts";
import { readSyncState } from "./sync-state.ts";
import { CHANGED_ACTIVITIES, type RowFate, type Tallies, type Tally } from "./tables.ts";

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

/** An activity; successes are recorded once per hour and object, with sums. */
export interface SyncActivity {
  type: string;
  /** The one row that it concerns; absent if it sums up several. */
  about?: { resource: string; id: string } | undefined;
  state: "success" | "fail";
  severity: "debug" | "info" | "warn" | "error";
  counts: ActivityCounts;
  /** Details; newer ones replace older ones. */
  details?: RowBody;
}

const HOUR_MS = 3_600_000;

/** Activities of single rows, of one resource in one checkpoint; the other rows are summed up. */
const MAX_OBJECT_ACTIVITIES = 50;

/**
 * Records an activity. Those of one type, object, state and hour share a row whose `value` has the sums, so that the log stays
 * smaller than its subject. Does nothing if the resource is unknown.
 * @source docs/decisions/0040-replication.md, Section 7
 */
export function* recordActivity(
  journal: ActivityContext,
  { type, about, state, severity, counts, details }: SyncActivity,
): TransactionProgram<void> {
  const { now, commonFields } = journal;
  const { endpoint, incarnation } = yield* readSyncState();
  const hour = Math.floor(now / HOUR_MS);
  const object = about ? [about.resource, about.id] : [];
  const id = derivedId("activity", endpoint, String(incarnation), type, state, severity, String(hour), ...object);
  const known = yield* readProductRow(ACTIVITY_TYPE, id);
  const before = (known?.value ?? { since: new Date(now).toISOString() }) as Readonly<Record<string, unknown>>;
  const sums = Object.entries(counts).map(([name, by]) => [name, Number(before[name] ?? 0) + by] as const);
  const value = { ...before, ...details, ...about, ...Object.fromEntries(sums) };
  const referenceType = about && REFERENCE_TYPES[about.resource];
  const reference = referenceType === undefined ? {} : { referenceType, referenceId: about?.id };
  const at = { createdAt: known?.createdAt ?? now, updatedAt: now };
  const row = { ...commonFields, ...at, ...reference, id, type, state, severity, value };
  const applied = yield* applyRow(ACTIVITY_TYPE, id, row);
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
export function incrementTally(tallies: Tallies, type: string, fate: RowFate, id: string): Tallies {
  const before = tallies[type] ?? NOTHING;
  const { objects = [] } = before;
  const isNamed = hasObjectActivities(type) && objects.length < MAX_OBJECT_ACTIVITIES;
  const named = isNamed ? { objects: [...objects, [fate, id] as const] } : {};
  return { ...tallies, [type]: { ...before, ...named, [fate]: before[fate] + 1 } };
}

const VERBS = { made: "create", changed: "update", deleted: "delete" } as const;

/** Accounts for every row of a checkpoint: applied rows as success, refused ones as failure. */
export function* recordCheckpointActivities(
  journal: ActivityContext,
  tallies: Tallies,
  to: number,
): TransactionProgram<void> {
  for (const [type, tally] of Object.entries(tallies)) {
    const { sync } = activityTypesOf(type, journal.types.replicationClass(type));
    const { made, changed, deleted, refused } = tally;
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
    yield* recordObjectActivities(journal, type, tally, details);
  }
}

/** Records what became of single rows: of each one, and the sum of those that are too many. */
function* recordObjectActivities(
  journal: ActivityContext,
  resource: string,
  { objects = [], ...counts }: Tally,
  details: RowBody,
): TransactionProgram<void> {
  const { verbs, skipped } = activityTypesOf(resource, journal.types.replicationClass(resource));
  const record = function* (fate: RowFate, count: number, about?: SyncActivity["about"]): TransactionProgram<void> {
    if (count === 0) return;
    if (fate !== "refused" && verbs)
      yield* recordActivity(journal, {
        ...{ type: `${verbs}-${VERBS[fate]}`, about, state: "success", severity: "debug", counts: { times: count } },
      });
    if (fate === "refused" && skipped)
      yield* recordActivity(journal, {
        ...{ type: skipped, about, state: "fail", severity: "warn", counts: { skipped: count }, details },
      });
  };
  for (const [fate, id] of objects) yield* record(fate, 1, { resource, id });
  for (const fate of ["made", "changed", "deleted", "refused"] as const)
    yield* record(fate, counts[fate] - objects.filter(([each]) => each === fate).length);
}

/** Accounts for resources whose rows differed from the cloud and are fetched again. */
export function* recordMismatchActivities(
  journal: ActivityContext,
  resources: readonly string[],
): TransactionProgram<void> {
  for (const resource of resources) {
    const { sync: type } = activityTypesOf(resource, journal.types.replicationClass(resource));
    const details = { resource, reason: sentence("sync.repaired") };
    yield* recordActivity(journal, { type, state: "fail", severity: "error", counts: { mismatches: 1 }, details });
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
