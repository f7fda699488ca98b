import { Readable } from "node:stream";
import { generateToken, hashToken } from "../../auth/tokens.ts";
import type { BellScheduleRow } from "../../bells/bell-schedule-hooks.ts";
import {
  addHolidays,
  createFeed,
  recordFeedRead,
  renderScheduleCalendar,
  scheduleForFeedToken,
} from "../../bells/calendar-feeds.ts";
import { parseHolidays } from "../../bells/holidays.ts";
import { CallerError, invalidValue, notFound } from "../../lib/errors.ts";
import { isUuid } from "../../lib/ids.ts";
import feeds from "../../resources/bells/bell-schedule-feeds.ts";
import bellSchedules from "../../resources/bells/bell-schedules.ts";
import ringLists from "../../resources/bells/ring-lists.ts";
import { integer, text, uuid } from "../../schema/field.ts";
import type { Sync } from "../../store/store.ts";
import { type Action, type ApiRequest, type PublicRequest, requireVisibleRow } from "../action.ts";
import { accessTokenOf } from "../bearer-token.ts";
import { textParameter } from "../query/query.ts";
import { addMembers } from "./add-members.ts";

const CALENDAR_TYPES = ["text/calendar"] as const;
/** own choice */
const MOST_BYTES = 1_048_576;

/** Rings as a calendar that programs follow, and holidays from one. @source bells.md, Proof. own choice: the paths */
export const bellCalendarActions: readonly Action[] = [
  {
    method: "post",
    at: "bell-schedules/{bellScheduleId}/feeds",
    supportsDryRun: true,
    doc: "Makes an address at which a calendar program follows the rings; it is told here and never again.",
    response: { kind: "row", resource: feeds, with: { url: text("The address.", { required: true, max: 2_000 }) } },
    accepts: { name: feeds.fields.name },
    async handle(request) {
      const { id } = requireVisibleRow(request, bellSchedules, request.params.bellScheduleId ?? "");
      const { token, tokenHash } = generateToken();
      const row = await createFeed(request.needs.store, request.body, { bellScheduleId: id, tokenHash }, request.by);
      const url = `${request.needs.baseUrl()}/api/v1/bell-schedules/${id}/rings.ics?token=${token}`;
      return addMembers(await request.respondWithRow(feeds, row), { url });
    },
  },
  {
    method: "get",
    at: "bell-schedules/{bellScheduleId}/rings.ics",
    permission: "open",
    doc: "The rings of the last 14 and the next 92 days as a calendar, for the token of a feed or whoever may see the schedule.",
    query: { token: text("The token of a feed.", { max: 200 }) },
    response: { kind: "bytes", types: CALENDAR_TYPES },
    async handle(request) {
      const { needs } = request;
      const row = await readableSchedule(request);
      const pieces = await renderScheduleCalendar(row, { reader: needs.store, clock: needs.clock, times: needs.bells });
      return { type: "text/calendar; charset=utf-8", body: Readable.from(pieces) };
    },
  },
  {
    method: "post",
    at: "bell-schedules/{bellScheduleId}/holidays",
    doc: "Makes the days of an iCalendar text exceptions of the schedule, silent or with a ring list; others in their way give way.",
    query: { ringListId: uuid("How these days ring; no bells when not given.") },
    binaryTypes: CALENDAR_TYPES,
    response: {
      kind: "row",
      resource: bellSchedules,
      with: { imported: integer("How many exceptions were made of it.", { required: true }) },
    },
    supportsDryRun: true,
    async handle(request) {
      const { needs, by } = request;
      const found = requireVisibleRow(request, bellSchedules, request.params.bellScheduleId ?? "");
      const ringListId = ringListIn(request);
      const holidays = await parseHolidays(await calendarIn(request), found, needs.clock);
      const row = await needs.store.write((tx) => {
        return addHolidays(tx, { id: found.id, holidays, ringListId }, by) as Sync<BellScheduleRow>;
      });
      return addMembers(await request.respondWithRow(bellSchedules, row), { imported: holidays.length });
    },
  },
];

/** The schedule that the request may read. Throws not-found, also without a good token. */
async function readableSchedule(request: PublicRequest): Promise<BellScheduleRow> {
  const { needs, params, query } = request;
  const id = params.bellScheduleId ?? "";
  const token = textParameter(query, "token");
  if (token !== null) {
    const row = scheduleForFeedToken(needs.store, id, hashToken(token));
    if (!row) throw notFound();
    await recordFeedRead(needs.store, hashToken(token), needs.clock.now(), needs.access.systemContext("bells"));
    return row;
  }
  const bearer = accessTokenOf(request.header("authorization"), query);
  const principal = bearer === null ? null : needs.access.authenticate(bearer);
  const row = principal && needs.store.get(bellSchedules, id, needs.access.resolveScope(principal, null));
  if (!row) throw notFound();
  return row;
}

function ringListIn({ query, needs, by }: ApiRequest): string | null {
  const id = textParameter(query, "ringListId");
  if (id === null || id === "") return null;
  if (!isUuid(id) || !needs.store.get(ringLists, id, by.scope)) {
    throw invalidValue("ringListId", `There is none with the id ${id}.`);
  }
  return id.toLowerCase();
}

async function calendarIn(request: ApiRequest): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.readBytes()) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new CallerError("too-large", `At most ${MOST_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
