import { derivedId } from "../../base/ids.ts";
import { familyOf } from "../activity-types.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { applyRow, type Body, drop, put, scan, shownRow, type Work } from "../work.ts";
import { linkState } from "./link-state.ts";
import { enqueue } from "./outbox.ts";
import { ACTIVITIES, type Tallies, type Tally } from "./tables.ts";

/** The resource that activities are rows of. */
export const ACTIVITY_TYPE = "endpoint-activities";

/** What work on activities needs: fields that all of them share, and the time and ids of this transaction. */
export interface Journal {
  types: ReplicatedTypes;
  /** Extension and endpoint that they belong to. */
  about: Body;
  /** Wall time, epoch ms. */
  now: number;
  newId(): string;
}

/** Counts by name, added to those of the same hour. */
export type Counts = Readonly<Record<string, number>>;

/** What an activity says; those that succeeded are told once an hour, with sums. */
export interface Entry {
  type: string;
  state: "success" | "fail";
  severity: "debug" | "info" | "warn" | "error";
  counts: Counts;
  /** Particulars; the newest stay. */
  more?: Body;
}

const HOUR_MS = 3_600_000;

/**
 * Leaves an activity. Those of one kind, state and hour are one row, whose `value` has the sums, so that the log stays
 * smaller than what it tells of. Where the resource is not known, nothing is left. @source replication.md 7
 */
export function* tell(journal: Journal, { type, state, severity, counts, more }: Entry): Work<void> {
  const { now, about } = journal;
  const { endpoint, inc } = yield* linkState();
  const hour = Math.floor(now / HOUR_MS);
  const id = derivedId("activity", endpoint, String(inc), type, state, severity, String(hour));
  const known = yield* shownRow(ACTIVITY_TYPE, id);
  const before = (known?.value ?? { since: new Date(now).toISOString() }) as Readonly<Record<string, unknown>>;
  const sums = Object.entries(counts).map(([name, by]) => [name, Number(before[name] ?? 0) + by] as const);
  const value = { ...before, ...more, ...Object.fromEntries(sums) };
  const at = { createdAt: known?.createdAt ?? now, updatedAt: now };
  const applied = yield* applyRow(ACTIVITY_TYPE, id, { ...about, ...at, id, type, state, severity, value });
  if (applied === "done") yield* put(ACTIVITIES, { id });
}

/** Leaves, or moves on, the activity of one thing, such as a command or a resync; it begins as pending. */
export function* tellOf(
  { now, about }: Journal,
  id: string,
  { type, state, severity, more }: Omit<Entry, "state" | "counts"> & { state: Entry["state"] | "pending" },
): Work<void> {
  const known = yield* shownRow(ACTIVITY_TYPE, id);
  const value = { ...(known?.value as object | undefined), ...more };
  const at = { createdAt: known?.createdAt ?? now, updatedAt: now };
  const applied = yield* applyRow(ACTIVITY_TYPE, id, { ...about, ...at, id, type, state, severity, value });
  if (applied === "done") yield* put(ACTIVITIES, { id });
}

const NOTHING: Tally = { made: 0, changed: 0, deleted: 0, refused: 0 };

/** Adds one row to the tallies of a mark. */
export function counted(tallies: Tallies, type: string, what: keyof Tally): Tallies {
  const before = tallies[type] ?? NOTHING;
  return { ...tallies, [type]: { ...before, [what]: before[what] + 1 } };
}

/** Accounts for every row of a mark: as success what was applied, as failure what was refused. */
export function* tellMark(journal: Journal, tallies: Tallies, to: number): Work<void> {
  for (const [type, { made, changed, deleted, refused }] of Object.entries(tallies)) {
    const { sync, verbs, skipped } = familyOf(type, journal.types.classOf(type));
    const rows = made + changed + deleted;
    const more = { to };
    if (rows > 0)
      yield* tell(journal, { type: sync, state: "success", severity: "info", counts: { rows, marks: 1 }, more });
    if (refused > 0)
      yield* tell(journal, { type: sync, state: "fail", severity: "warn", counts: { rows: refused }, more });
    if (refused > 0 && skipped) {
      yield* tell(journal, { type: skipped, state: "fail", severity: "warn", counts: { skipped: refused }, more });
    }
    for (const [verb, count] of [
      ["create", made],
      ["update", changed],
      ["delete", deleted],
    ] as const) {
      if (!verbs || count === 0) continue;
      yield* tell(journal, { type: `${verbs}-${verb}`, state: "success", severity: "debug", counts: { times: count } });
    }
  }
}

/** Accounts for records of this appliance that the cloud has taken, by their resource. */
export function* tellSent(journal: Journal, sent: Counts): Work<void> {
  for (const [type, rows] of Object.entries(sent)) {
    const { sync } = familyOf(type, journal.types.classOf(type));
    yield* tell(journal, { type: sync, state: "success", severity: "info", counts: { sent: rows } });
  }
}

/** Sends activities that changed since; seldom, as each change makes the version before useless. */
export function* sendActivities({ newId, now }: Journal): Work<void> {
  for (const { id } of yield* scan(ACTIVITIES, { limit: 100 })) {
    yield* drop(ACTIVITIES, id);
    const body = yield* shownRow(ACTIVITY_TYPE, id);
    if (body)
      yield* enqueue("bulk", { uid: newId(), op: "p", type: ACTIVITY_TYPE, id, body, at: now, newestOnly: true });
  }
}
