import { listRings } from "../../bells/ring-dto.ts";
import { findRingOverlaps } from "../../bells/ring-overlaps.ts";
import { paginateRings } from "../../bells/ring-pagination.ts";
import { loadTimetables } from "../../bells/timetables.ts";
import { listUpcomingRings } from "../../bells/upcoming-rings.ts";
import { invalidValue, notFound } from "../../lib/errors.ts";
import bellSchedules from "../../resources/bells/bell-schedules.ts";
import { boolean, computed, date, integer, option, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, type ApiRequest, jsonResponse, requireVisibleRow } from "../action.ts";
import { limitOf, MAX_PAGE_ROWS } from "../query/list-query.ts";
import { type Query, textParameter } from "../query/query.ts";
import { presentOverlap } from "../rows/ring-diff-response.ts";

const DAY_MS = 86_400_000;
/** own choice */
const DEFAULT_DAYS = 7;
const MAX_DAYS = 366;
const MAX_OVERLAP_DAYS = 31;
const SURE = { required: true } as const;

const RING = {
  id: uuid("The ring's id, on every appliance; also that of the message it sends.", SURE),
  at: timestamp("When it rings.", SURE),
  localDate: date("The day, as the schedule has it.", SURE),
  localTime: text("The time, as the schedule has it.", SURE),
  ringListId: uuid("Ring list that it is of."),
  entryId: uuid("Which ring of the list."),
  messageTemplateId: uuid("Message that it sends."),
  state: option(
    "How far it has come.",
    ["planned", "prepared", "armed", "started", "rung", "late", "missed", "skipped"],
    SURE,
  ),
};

const RING_WITH_OUTCOME = {
  ...RING,
  playedAlone: integer("Speakers that played it by themselves while the appliance could not be reached.", SURE),
};

const OVERLAP = {
  at: RING.at,
  localDate: RING.localDate,
  localTime: RING.localTime,
  bellScheduleId: uuid("Schedule of the ring.", SURE),
  entryId: uuid("Which ring of its list.", SURE),
  messageTemplateId: uuid("Message that it sends.", SURE),
  other: computed("The other ring: its schedule, entry and message.", "object", {
    of: {
      bellScheduleId: uuid("Its schedule.", SURE),
      entryId: uuid("Which ring of its list.", SURE),
      messageTemplateId: uuid("Message that it sends.", SURE),
    },
  }),
  devices: integer("How many devices are to ring twice.", SURE),
};

const NAMED = { id: uuid("Its id.", SURE), name: text("Its name.", SURE) };
const { state: _state, ...UPCOMING_RING } = RING;
const DEFAULT_UPCOMING = 20;

/** The rings of a schedule, past and to come. @source bells.md, Proof; own choice: a week from now unless asked, at most 366 days */
export const bellRingActions: readonly Action[] = [
  {
    method: "get",
    at: "bell-schedules/{bellScheduleId}/rings",
    doc: "The rings of a schedule: what became of those that are over, and those to come.",
    query: {
      from: timestamp("From then on, included; now unless given. A date and time, or a day in UTC."),
      to: timestamp("Until then, not included; 7 days after `from` unless given, at most 366."),
      limit: integer("Most rows of the page.", { min: 1, max: MAX_PAGE_ROWS, default: 100 }),
      start: text("`next` or `previous` of an earlier page, or `end`.", { max: 1_000 }),
      includeTotal: boolean("False leaves out `total`.", { default: true }),
    },
    response: {
      kind: "members",
      fields: {
        total: integer("How many there are.", SURE),
        partial: boolean("Whether there are more than this page holds.", SURE),
        previous: text("`start` of the page before.", { max: 1_000 }),
        next: text("`start` of the page after.", { max: 1_000 }),
        data: computed("Rings in order of time.", "array", { of: RING_WITH_OUTCOME }),
      },
      sometimes: ["total"],
    },
    async handle(request) {
      const { needs, query } = request;
      const row = requireVisibleRow(request, bellSchedules, request.params.bellScheduleId ?? "");
      const { fromMs, toMs } = timeRange(request, MAX_DAYS);
      const rings = await listRings(
        row,
        { fromMs, toMs },
        { reader: needs.store, clock: needs.clock, times: needs.bells },
      );
      const list = `rings ${row.id}`;
      const page = paginateRings(rings, { list, limit: limitOf(query) ?? 100, start: textParameter(query, "start") });
      if (!page) throw invalidValue("start", "It is no next or previous of this list.");
      const data = page.rings.map((ring) => ({ ...ring, at: new Date(ring.at).toISOString() }));
      const { previous, next } = page;
      const total = query.includeTotal === false ? {} : { total: rings.length };
      return jsonResponse({ ...total, partial: data.length < rings.length, previous, next, data });
    },
  },
  {
    method: "get",
    at: "bell-rings",
    doc: "The next rings of all schedules that the caller may see, as far ahead as they are planned: two days at least.",
    query: { limit: integer("Most rings.", { min: 1, max: MAX_PAGE_ROWS, default: DEFAULT_UPCOMING }) },
    response: {
      kind: "members",
      fields: {
        data: computed("Rings in order of time.", "array", {
          of: {
            ...UPCOMING_RING,
            state: option("How far it has come.", ["planned", "prepared", "armed", "started"], SURE),
            bellSchedule: computed("Its schedule.", "object", { of: NAMED }),
            messageTemplate: computed("The message that it sends.", "object", { of: NAMED, nullable: true }),
          },
        }),
      },
    },
    // Whose schedules may be seen is what limits it.
    permission: "anyone",
    async handle({ needs, by, query }) {
      const rings = listUpcomingRings(needs.store, by.scope, needs.clock.now(), limitOf(query) ?? DEFAULT_UPCOMING);
      return jsonResponse({ data: rings.map((ring) => ({ ...ring, at: new Date(ring.at).toISOString() })) });
    },
  },
  {
    method: "get",
    at: "bell-schedules/{bellScheduleId}/overlaps",
    doc: "Warns of rings of a schedule that come at the instant of another ring on the same devices.",
    query: {
      from: timestamp("From then on, included; now unless given. A date and time, or a day in UTC."),
      to: timestamp("Until then, not included; 7 days after `from` unless given, at most 31."),
    },
    response: {
      kind: "members",
      fields: {
        total: integer("How many there are; 100 at most.", SURE),
        data: computed("Rings in order of time.", "array", { of: OVERLAP }),
      },
    },
    async handle(request) {
      const { needs, by } = request;
      const row = requireVisibleRow(request, bellSchedules, request.params.bellScheduleId ?? "");
      const span = timeRange(request, MAX_OVERLAP_DAYS);
      const [timetable] = loadTimetables(needs.store, [row], needs.bells);
      if (!timetable) throw notFound();
      const { store: reader, clock, bells: times, memberships } = needs;
      const looking = { reader, clock, times, memberships, sight: by.scope };
      const data = (await findRingOverlaps(timetable, span, looking)).map(presentOverlap);
      return jsonResponse({ total: data.length, data });
    },
  },
];

/** What the query's `from` and `to` mean. Throws invalid-value. */
function timeRange({ query, needs }: Pick<ApiRequest, "query" | "needs">, mostDays: number) {
  const fromMs = momentIn(query, "from") ?? needs.clock.now();
  const toMs = momentIn(query, "to") ?? fromMs + DEFAULT_DAYS * DAY_MS;
  if (toMs < fromMs) throw invalidValue("to", "It lies before from.");
  if (toMs - fromMs > mostDays * DAY_MS) throw invalidValue("to", `At most ${mostDays} days after from.`);
  return { fromMs, toMs };
}

function momentIn(query: Query, name: string): number | null {
  const given = textParameter(query, name);
  if (given === null || given === "") return null;
  const isMoment = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(given);
  const ms = isMoment ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(ms)) throw invalidValue(name, "It is a date and time such as 2031-09-01T00:00:00Z, or a day.");
  return ms;
}
