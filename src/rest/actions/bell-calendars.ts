import { Readable } from "node:stream";
import { hashToken, newToken } from "../../access/tokens.ts";
import { CallerError, invalidValue, notFound } from "../../base/errors.ts";
import { isUuid } from "../../base/ids.ts";
import type { BellScheduleRow } from "../../bells/bell-schedule-behaviour.ts";
import { calendarOf, followedSchedule, makeFeed, noteReading, putHolidays } from "../../bells/calendars.ts";
import { readHolidays } from "../../bells/holidays.ts";
import feeds from "../../resources/bells/bell-schedule-feeds.ts";
import bellSchedules from "../../resources/bells/bell-schedules.ts";
import ringLists from "../../resources/bells/ring-lists.ts";
import { integer, text, uuid } from "../../schema/field.ts";
import type { Sync } from "../../store/store.ts";
import { type Action, type ApiRequest, type OpenRequest, visibleRow } from "../action.ts";
import { tokenOf } from "../bearer.ts";
import { singleText } from "../query.ts";
import { withMembers } from "./answer-members.ts";

const CALENDAR_TYPES = ["text/calendar"] as const;
/** own choice */
const MOST_BYTES = 1_048_576;

/** Rings as a calendar that programs follow, and holidays from one. @source bells.md, Proof. own choice: the paths */
export const bellCalendarActions: readonly Action[] = [
  {
    method: "post",
    at: "bell-schedules/{bellScheduleId}/feeds",
    rehearses: true,
    doc: "Makes an address at which a calendar program follows the rings; it is told here and never again.",
    answers: { kind: "row", resource: feeds, with: { url: text("The address.", { required: true, max: 2_000 }) } },
    accepts: { name: feeds.fields.name },
    async handle(request) {
      const { id } = visibleRow(request, bellSchedules, request.params.bellScheduleId ?? "");
      const { token, tokenHash } = newToken();
      const row = await makeFeed(request.needs.store, request.body, { bellScheduleId: id, tokenHash }, request.by);
      const url = `${request.needs.baseUrl()}/api/v1/bell-schedules/${id}/rings.ics?token=${token}`;
      return withMembers(await request.show(feeds, row), { url });
    },
  },
  {
    method: "get",
    at: "bell-schedules/{bellScheduleId}/rings.ics",
    permission: "open",
    doc: "The rings of the last 14 and the next 92 days as a calendar, for the token of a feed or whoever may see the schedule.",
    query: { token: text("The token of a feed.", { max: 200 }) },
    answers: { kind: "bytes", types: CALENDAR_TYPES },
    async handle(request) {
      const { needs } = request;
      const row = await scheduleFor(request);
      const pieces = await calendarOf(row, { reader: needs.store, clock: needs.clock, times: needs.bells });
      return { type: "text/calendar; charset=utf-8", body: Readable.from(pieces) };
    },
  },
  {
    method: "post",
    at: "bell-schedules/{bellScheduleId}/holidays",
    doc: "Makes the days of an iCalendar text exceptions of the schedule, silent or with a ring list; others in their way give way.",
    query: { ringListId: uuid("How these days ring; no bells when not given.") },
    takesBytes: CALENDAR_TYPES,
    answers: {
      kind: "row",
      resource: bellSchedules,
      with: { imported: integer("How many exceptions were made of it.", { required: true }) },
    },
    rehearses: true,
    async handle(request) {
      const { needs, by } = request;
      const found = visibleRow(request, bellSchedules, request.params.bellScheduleId ?? "");
      const ringListId = ringListIn(request);
      const holidays = await readHolidays(await calendarIn(request), found, needs.clock);
      const row = await needs.store.write((tx) => {
        return putHolidays(tx, { id: found.id, holidays, ringListId }, by) as Sync<BellScheduleRow>;
      });
      return withMembers(await request.show(bellSchedules, row), { imported: holidays.length });
    },
  },
];

/** The schedule that the request may read. Throws not-found, also without a good token. */
async function scheduleFor(request: OpenRequest): Promise<BellScheduleRow> {
  const { needs, params, query } = request;
  const id = params.bellScheduleId ?? "";
  const token = singleText(query, "token");
  if (token !== null) {
    const row = followedSchedule(needs.store, id, hashToken(token));
    if (!row) throw notFound();
    await noteReading(needs.store, hashToken(token), needs.clock.now(), needs.access.systemBy("bells"));
    return row;
  }
  const bearer = tokenOf(request.header("authorization"), query);
  const principal = bearer === null ? null : needs.access.authenticate(bearer);
  const row = principal && needs.store.get(bellSchedules, id, needs.access.scopeOf(principal, null));
  if (!row) throw notFound();
  return row;
}

function ringListIn({ query, needs, by }: ApiRequest): string | null {
  const id = singleText(query, "ringListId");
  if (id === null || id === "") return null;
  if (!isUuid(id) || !needs.store.get(ringLists, id, by.scope)) {
    throw invalidValue("ringListId", `There is none with the id ${id}.`);
  }
  return id.toLowerCase();
}

async function calendarIn(request: ApiRequest): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.bytes()) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new CallerError("too-large", `At most ${MOST_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
