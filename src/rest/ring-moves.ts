import { newOverlaps, type Overlap } from "../bells/overlaps.ts";
import { type MovedRing, type RingDifference, ringDifference } from "../bells/ring-difference.ts";
import { comparedBy, noteWrittenSchedules, type WrittenSchedules } from "../bells/written-schedules.ts";
import { boolean } from "../schema/field.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { type Rehearsed, rehearse } from "../store/rehearsal.ts";
import type { Action, Answer, ApiRequest } from "./action.ts";
import { withMembers } from "./actions/answer-members.ts";
import type { ApiNeeds } from "./needs.ts";
import type { Query } from "./query.ts";

/** Families whose rows say when bells ring. */
const FAMILIES = new Set([
  "ring-lists",
  "bell-schedules",
  "bell-schedules-bulk-exceptions",
  "bell-schedules-day-changes",
]);

/** The query parameter of writes that move rings. @source bells.md, Running */
export const RING_DIFFERENCE_QUERY = {
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
export function overlapInApiForm(overlap: Overlap): object {
  return { ...overlap, at: new Date(overlap.at).toISOString() };
}

function counted(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const first = { type: "array", items: closed(properties), maxItems: 100 };
  return closed({ count: { type: "integer", minimum: 0 }, first });
}

/** What stands under `ringDiff`. */
export const RING_DIFFERENCE_SCHEMA: JsonSchema = {
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
export function movesRings(action: Action): boolean {
  if (action.permission === "open" || action.method === "get" || !action.rehearses) return false;
  return FAMILIES.has(action.at.split("/")[0] ?? "");
}

/** True when the caller wants to know which rings a write moves. */
export function asksForRings(action: Action, query: Query): boolean {
  return movesRings(action) && query.includeRingDiff === true;
}

/** Carries a write out and adds what it does to the rings, which a rehearsal found out just before. */
export async function tellingRings<R extends ApiRequest>(
  request: R,
  run: (request: R) => Promise<Answer>,
): Promise<Answer> {
  const { needs } = request;
  const rehearsal = rehearse(needs.store, ringsSeen(needs));
  await run({ ...request, needs: { ...needs, store: rehearsal.store } });
  const ringDiff = await ringMoves(rehearsal.written, request);
  return withMembers(await run(request), { ringDiff });
}

/** What a rehearsal notes of each row for `ringMoves`. */
export function ringsSeen({ bells }: Pick<ApiNeeds, "bells">) {
  const note = noteWrittenSchedules(bells);
  return (...row: Parameters<Parameters<typeof rehearse>[1]>) => ({ schedules: note(...row) });
}

/** What a rehearsal did to the rings, as answers tell it. */
export async function ringMoves(
  written: readonly Rehearsed<{ schedules: WrittenSchedules }>[],
  { needs: { store, clock, bells, memberships }, by }: Pick<ApiRequest, "needs" | "by">,
): Promise<object> {
  const looking = { reader: store, clock, times: bells, memberships, sight: by.scope };
  const { compared, partial } = comparedBy(written, store, bells);
  const difference = await ringDifference(compared, { clock, times: bells, partial });
  const found = await newOverlaps(compared, looking);
  const overlaps = { count: found.length, first: found.slice(0, 100).map(overlapInApiForm) };
  return { ...inApiForm(difference), overlaps };
}

function inApiForm({ added, removed, moved, ...rest }: RingDifference): object {
  const ring = <R extends { at: number }>(told: R) => ({ ...told, at: new Date(told.at).toISOString() });
  const movedRing = (told: MovedRing) => ({ ...ring(told), movedTo: ring(told.movedTo) });
  return {
    ...rest,
    added: { ...added, first: added.first.map(ring) },
    removed: { ...removed, first: removed.first.map(ring) },
    moved: { ...moved, first: moved.first.map(movedRing) },
  };
}
