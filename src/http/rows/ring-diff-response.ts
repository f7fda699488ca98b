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

/** Families whose rows say when bells ring. */
const BELL_RESOURCES = new Set([
  "ring-lists",
  "bell-schedules",
  "bell-schedules-bulk-exceptions",
  "bell-schedules-day-changes",
]);

/** The query parameter of writes that move rings. @source bells.md, Running */
export const RING_DIFF_QUERY = {
  includeRingDiff: boolean(
    "True adds `ringDiff`: the rings of the next 400 days that come, go and move by the write. A rehearsal always tells it.",
  ),
};

function closed(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: "object", required: Object.keys(properties), properties };
}

const ID = { type: "string", format: "uuid" };
const MOMENT = { type: "string", format: "date-time" };
const TIME = { type: "string" };
const RING = {
  bellScheduleId: ID,
  ringListId: { type: ["string", "null"], format: "uuid" },
  entryId: ID,
  messageTemplateId: ID,
  at: MOMENT,
  localDate: { type: "string", format: "date" },
  localTime: TIME,
} as const;

/** Members of a warning. */
const OVERLAP_MEMBERS = {
  bellScheduleId: ID,
  entryId: ID,
  messageTemplateId: ID,
  at: MOMENT,
  localDate: RING.localDate,
  localTime: TIME,
  other: closed({ bellScheduleId: ID, entryId: ID, messageTemplateId: ID }),
  devices: { type: "integer", minimum: 1 },
} as const;

/** A warning as answers tell it. */
export function presentOverlap(overlap: RingOverlap): object {
  return { ...overlap, at: new Date(overlap.at).toISOString() };
}

function counted(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const first = { type: "array", items: closed(properties), maxItems: 100 };
  return closed({ count: { type: "integer", minimum: 0 }, first });
}

/** What stands under `ringDiff`. */
export const RING_DIFF_SCHEMA: JsonSchema = {
  ...closed({
    schedules: { type: "integer", minimum: 0 },
    partial: { type: "boolean" },
    added: counted(RING),
    removed: counted(RING),
    moved: counted({ ...RING, movedTo: closed({ at: MOMENT, localTime: TIME }) }),
    overlaps: counted(OVERLAP_MEMBERS),
  }),
  description:
    "With dryRun or includeRingDiff: how many schedules were compared, whether there are more (`partial`, own choice: 100 are compared), and which rings come, go and move. `overlaps` warns of rings of the first 5 schedules that, in their next 7 days, come at the instant of another one on the same devices, and did not before. At most 100 of each are named.",
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

/** Carries a write out and adds what it does to the rings, which a rehearsal found out just before. */
export async function withRingDiff<R extends ApiRequest>(
  request: R,
  run: (request: R) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const { needs } = request;
  const rehearsal = createDryRun(needs.store, captureRings(needs));
  await run({ ...request, needs: { ...needs, store: rehearsal.store } });
  const ringDiff = await presentRingDiff(rehearsal.writes, request);
  return addMembers(await run(request), { ringDiff });
}

/** What a rehearsal notes of each row for `ringMoves`. */
export function captureRings({ bells }: Pick<ApiDeps, "bells">) {
  const note = createAffectedTimetableRecorder(bells);
  return (...row: Parameters<Parameters<typeof createDryRun>[1]>) => ({ schedules: note(...row) });
}

/** What a rehearsal did to the rings, as answers tell it. */
export async function presentRingDiff(
  written: readonly DryRunWrite<{ schedules: AffectedTimetables }>[],
  { needs: { store, clock, bells, memberships }, by }: Pick<ApiRequest, "needs" | "by">,
): Promise<object> {
  const looking = { reader: store, clock, times: bells, memberships, sight: by.scope };
  const { compared, partial } = compareDryRun(written, store, bells);
  const difference = await diffRings(compared, { clock, times: bells, partial });
  const found = await findNewRingOverlaps(compared, looking);
  const overlaps = { count: found.length, first: found.slice(0, 100).map(presentOverlap) };
  return { ...presentDifference(difference), overlaps };
}

function presentDifference({ added, removed, moved, ...rest }: RingDiff): object {
  const ring = <R extends { at: number }>(told: R) => ({ ...told, at: new Date(told.at).toISOString() });
  const movedRing = (told: MovedRingDiffEntry) => ({ ...ring(told), movedTo: ring(told.movedTo) });
  return {
    ...rest,
    added: { ...added, first: added.first.map(ring) },
    removed: { ...removed, first: removed.first.map(ring) },
    moved: { ...moved, first: moved.first.map(movedRing) },
  };
}
