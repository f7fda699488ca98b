import { listRings } from "../../bells/ring-dto.ts";
import { findRingOverlaps } from "../../bells/ring-overlaps.ts";
import { paginateRings } from "../../bells/ring-pagination.ts";
import { loadTimetables } from "../../bells/timetables.ts";
import { listUpcomingRings } from "../../bells/upcoming-rings.ts";
import { invalidValue, notFound } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { readVerdicts } from "../../notifications/engine/counters.ts";
import bellSchedules from "../../resources/bells/bell-schedules.ts";
import { REACH_VERDICTS } from "../../resources/notifications/device-outcomes.ts";
import { boolean, computed, date, integer, option, text, timestamp, uuid } from "../../schema/field.ts";
import { parseQueryTimestamp } from "../../schema/timestamp.ts";
import { type Action, type ApiRequest, jsonResponse, requireVisibleRow } from "../action.ts";
import { limitOf, MAX_PAGE_ROWS } from "../query/list-query.ts";
import { type Query, textParameter } from "../query/query.ts";
import { presentOverlap } from "../rows/ring-diff-response.ts";

const DAY_MS = 86_400_000;

const DEFAULT_DAYS = 7;
const MAX_DAYS = 366;
const MAX_OVERLAP_DAYS = 31;
const REQUIRED = { required: true } as const;

const RING = {
  id: uuid("Id of the ring on every appliance and of the notification it sends.", REQUIRED),
  at: timestamp("Time of the ring.", REQUIRED),
  localDate: date("Local date of the schedule.", REQUIRED),
  localTime: text("Local time of the schedule.", REQUIRED),
  ringListId: uuid("Ring list of the ring."),
  entryId: uuid("Id of the ring within the list."),
  messageTemplateId: uuid("Message template."),
  state: option(
    "State of the ring.",
    ["planned", "prepared", "armed", "started", "rung", "late", "missed", "skipped"],
    REQUIRED,
  ),
};

const RING_WITH_OUTCOME = {
  ...RING,
  playedAlone: integer("Speakers that played it offline while the appliance was unreachable.", REQUIRED),
  verdict: option("What the outcomes of its devices add up to; null before it is over.", REACH_VERDICTS),
};

const OVERLAP = {
  at: RING.at,
  localDate: RING.localDate,
  localTime: RING.localTime,
  bellScheduleId: uuid("Schedule of the ring.", REQUIRED),
  entryId: uuid("Id of the ring within its list.", REQUIRED),
  messageTemplateId: uuid("Message template.", REQUIRED),
  other: computed("The other ring: its schedule, entry and message.", "object", {
    of: {
      bellScheduleId: uuid("Schedule of the ring.", REQUIRED),
      entryId: uuid("Id of the ring within its list.", REQUIRED),
      messageTemplateId: uuid("Message template.", REQUIRED),
    },
  }),
  devices: integer("Number of devices that would ring twice.", REQUIRED),
};

const NAMED = { id: uuid("Id.", REQUIRED), name: text("Name.", REQUIRED) };
const { state: _state, ...UPCOMING_RING } = RING;
const DEFAULT_UPCOMING = 20;

/** Past and upcoming rings of a schedule. @source docs/decisions/0015-bell-engine.md */
export const bellRingActions: readonly Action[] = [
  {
    method: "get",
    at: "bell-schedules/{bellScheduleId}/rings",
    doc: "Lists past rings of a schedule with their outcome, and upcoming rings.",
    query: {
      from: timestamp("Start of the range, inclusive; default: now. A date and time, or a day in UTC."),
      to: timestamp("End of the range, exclusive; default: 7 days after `from`, at most 366 days."),
      limit: integer("Maximum number of rows per page.", { min: 1, max: MAX_PAGE_ROWS, default: 100 }),
      start: text("`next` or `previous` of an earlier page, or `end`.", { max: 1_000 }),
      includeTotal: boolean("False omits `total`.", { default: true }),
    },
    response: {
      kind: "members",
      fields: {
        total: integer("Total number.", REQUIRED),
        partial: boolean("True if the page does not contain all rows.", REQUIRED),
        previous: text("Token of the previous page.", { max: 1_000 }),
        next: text("Token of the next page.", { max: 1_000 }),
        data: computed("Rings in chronological order.", "array", { of: RING_WITH_OUTCOME }),
      },
      sometimes: ["total"],
    },
    async handle(request) {
      const { deps, query } = request;
      const row = requireVisibleRow(request, bellSchedules, request.params.bellScheduleId ?? "");
      const { fromMs, toMs } = timeRange(request, MAX_DAYS);
      const rings = await listRings(
        row,
        { fromMs, toMs },
        { reader: deps.store, clock: deps.clock, times: deps.bells },
      );
      const list = `rings ${row.id}`;
      const page = paginateRings(rings, { list, limit: limitOf(query) ?? 100, start: textParameter(query, "start") });
      if (!page) throw invalidValue("start", sentence("field.invalid-page-token"));
      const verdicts = readVerdicts(
        deps.store,
        page.rings.map(({ id }) => id),
      );
      const data = page.rings.map((ring) => ({
        ...ring,
        at: new Date(ring.at).toISOString(),
        verdict: verdicts.get(ring.id) ?? null,
      }));
      const { previous, next } = page;
      const total = query.includeTotal === false ? {} : { total: rings.length };
      return jsonResponse({ ...total, partial: data.length < rings.length, previous, next, data });
    },
  },
  {
    method: "get",
    at: "bell-rings",
    doc: "Lists the next rings of all visible schedules, as far as planned (at least two days).",
    query: { limit: integer("Maximum number of rings.", { min: 1, max: MAX_PAGE_ROWS, default: DEFAULT_UPCOMING }) },
    response: {
      kind: "members",
      fields: {
        data: computed("Rings in chronological order.", "array", {
          of: {
            ...UPCOMING_RING,
            state: option("State of the ring.", ["planned", "prepared", "armed", "started"], REQUIRED),
            bellSchedule: computed("Schedule of the ring.", "object", { of: NAMED }),
            messageTemplate: computed("Message template of the ring.", "object", { of: NAMED, nullable: true }),
          },
        }),
      },
    },
    // Limited by the visibility of the schedules.
    permission: "anyone",
    async handle({ deps, by, query }) {
      const rings = listUpcomingRings(deps.store, by.scope, deps.clock.now(), limitOf(query) ?? DEFAULT_UPCOMING);
      return jsonResponse({ data: rings.map((ring) => ({ ...ring, at: new Date(ring.at).toISOString() })) });
    },
  },
  {
    method: "get",
    at: "bell-schedules/{bellScheduleId}/overlaps",
    doc: "Lists rings of a schedule that coincide with another ring on the same devices.",
    query: {
      from: timestamp("Start of the range, inclusive; default: now. A date and time, or a day in UTC."),
      to: timestamp("End of the range, exclusive; default: 7 days after `from`, at most 31 days."),
    },
    response: {
      kind: "members",
      fields: {
        total: integer("Number of overlaps, at most 100.", REQUIRED),
        data: computed("Rings in chronological order.", "array", { of: OVERLAP }),
      },
    },
    async handle(request) {
      const { deps, by } = request;
      const row = requireVisibleRow(request, bellSchedules, request.params.bellScheduleId ?? "");
      const span = timeRange(request, MAX_OVERLAP_DAYS);
      const [timetable] = loadTimetables(deps.store, [row], deps.bells);
      if (!timetable) throw notFound();
      const { store: reader, clock, bells: times, memberships } = deps;
      const overlapDeps = { reader, clock, times, memberships, visibility: by.scope };
      const data = (await findRingOverlaps(timetable, span, overlapDeps)).map(presentOverlap);
      return jsonResponse({ total: data.length, data });
    },
  },
];

/** Reads `from` and `to` of the query. Throws invalid-value. */
function timeRange({ query, deps }: Pick<ApiRequest, "query" | "deps">, maxDays: number) {
  const fromMs = momentIn(query, "from") ?? deps.clock.now();
  const toMs = momentIn(query, "to") ?? fromMs + DEFAULT_DAYS * DAY_MS;
  if (toMs < fromMs) throw invalidValue("to", sentence("field.must-not-be-before-from"));
  if (toMs - fromMs > maxDays * DAY_MS)
    throw invalidValue("to", sentence("field.must-be-at-most-days-days-after-from", { days: maxDays }));
  return { fromMs, toMs };
}

function momentIn(query: Query, name: string): number | null {
  const given = textParameter(query, name);
  if (given === null || given === "") return null;
  const ms = parseQueryTimestamp(given);
  if (ms === null) throw invalidValue(name, sentence("field.must-be-a-date-and-time-such-as-2031-09-01t00-00-00z-or"));
  return ms;
}
