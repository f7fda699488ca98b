import {
  type AffectedTimetables,
  compareDryRun,
  createAffectedTimetableRecorder,
} from "../../bells/dry-run-schedules.ts";
import { diffRings, type MovedRingDiffEntry, type RingDiff } from "../../bells/ring-diff.ts";
import { findNewRingOverlaps, type RingOverlap } from "../../bells/ring-overlaps.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { boolean } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { createDryRun, type DryRunWrite } from "../../store/dry-run.ts";
import type { Action, ApiRequest } from "../action.ts";
import { addMembers } from "../actions/add-members.ts";
import type { ApiDeps } from "../dependencies.ts";
import type { Query } from "../query/query.ts";

/** Resources whose changes affect ring times. */
const BELL_RESOURCES = new Set([
  "ring-lists",
  "bell-schedules",
  "bell-schedules-bulk-exceptions",
  "bell-schedules-day-changes",
]);

/** The query parameter of writes that move rings. @source docs/decisions/0015-bell-engine.md */
export const RING_DIFF_QUERY = {
  includeRingDiff: boolean(
    "True adds `ringDiff`: rings of the next 400 days that the write adds, removes or moves. Always returned with dryRun.",
  ),
};

function closed(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: "object", required: Object.keys(properties), properties };
}

const ID = { type: "string", format: "uuid" };
const TIMESTAMP = { type: "string", format: "date-time" };
const TIME = { type: "string" };
const RING = {
  bellScheduleId: ID,
  ringListId: { type: ["string", "null"], format: "uuid" },
  entryId: ID,
  messageTemplateId: ID,
  at: TIMESTAMP,
  localDate: { type: "string", format: "date" },
  localTime: TIME,
} as const;

/** Members of a warning. */
const OVERLAP_MEMBERS = {
  bellScheduleId: ID,
  entryId: ID,
  messageTemplateId: ID,
  at: TIMESTAMP,
  localDate: RING.localDate,
  localTime: TIME,
  other: closed({ bellScheduleId: ID, entryId: ID, messageTemplateId: ID }),
  devices: { type: "integer", minimum: 1 },
} as const;

/** An overlap in API form. */
export function presentOverlap(overlap: RingOverlap): object {
  return { ...overlap, at: new Date(overlap.at).toISOString() };
}

function countedList(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const first = { type: "array", items: closed(properties), maxItems: 100 };
  return closed({ count: { type: "integer", minimum: 0 }, first });
}

/** Schema of `ringDiff`. */
export const RING_DIFF_SCHEMA: JsonSchema = {
  ...closed({
    schedules: { type: "integer", minimum: 0 },
    partial: { type: "boolean" },
    added: countedList(RING),
    removed: countedList(RING),
    moved: countedList({ ...RING, movedTo: closed({ at: TIMESTAMP, localTime: TIME }) }),
    overlaps: countedList(OVERLAP_MEMBERS),
  }),
  description:
    "With dryRun or includeRingDiff: the number of schedules compared (at most 100; `partial` is true if there are more) and the rings added, removed and moved. `overlaps` lists rings of the first 5 schedules that newly coincide with another ring on the same devices within the next 7 days. At most 100 of each are listed.",
};

/** True for a write that can move rings. */
export function canChangeRings(action: Action): boolean {
  if (action.permission === "open" || action.method === "get" || !action.supportsDryRun) return false;
  return BELL_RESOURCES.has(action.at.split("/")[0] ?? "");
}

/** True when the caller wants to know which rings a write moves. */
export function requestsRingDiff(action: Action, query: Query): boolean {
  return canChangeRings(action) && query.includeRingDiff === true;
}

/** Executes a write and adds its effect on the rings, determined by a dry run before. */
export async function withRingDiff<R extends ApiRequest>(
  request: R,
  run: (request: R) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const { deps } = request;
  const dryRun = createDryRun(deps.store, captureRings(deps));
  await run({ ...request, deps: { ...deps, store: dryRun.store } });
  const ringDiff = await presentRingDiff(dryRun.writes, request);
  return addMembers(await run(request), { ringDiff });
}

/** Captures the timetables affected by each row of a dry run. */
export function captureRings({ bells }: Pick<ApiDeps, "bells">) {
  const note = createAffectedTimetableRecorder(bells);
  return (...row: Parameters<Parameters<typeof createDryRun>[1]>) => ({ schedules: note(...row) });
}

/** The effect of a dry run on the rings, in API form. */
export async function presentRingDiff(
  written: readonly DryRunWrite<{ schedules: AffectedTimetables }>[],
  { deps: { store, clock, bells, memberships }, by }: Pick<ApiRequest, "deps" | "by">,
): Promise<object> {
  const overlapDeps = { reader: store, clock, times: bells, memberships, visibility: by.scope };
  const { compared, partial } = compareDryRun(written, store, bells);
  const difference = await diffRings(compared, { clock, times: bells, partial });
  const found = await findNewRingOverlaps(compared, overlapDeps);
  const overlaps = { count: found.length, first: found.slice(0, 100).map(presentOverlap) };
  return { ...presentDifference(difference), overlaps };
}

function presentDifference({ added, removed, moved, ...rest }: RingDiff): object {
  const ring = <R extends { at: number }>(entry: R) => ({ ...entry, at: new Date(entry.at).toISOString() });
  const movedRing = (entry: MovedRingDiffEntry) => ({ ...ring(entry), movedTo: ring(entry.movedTo) });
  return {
    ...rest,
    added: { ...added, first: added.first.map(ring) },
    removed: { ...removed, first: removed.first.map(ring) },
    moved: { ...moved, first: moved.first.map(movedRing) },
  };
}
