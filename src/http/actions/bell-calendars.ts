import { Readable } from "node:stream";
import { generateToken, hashToken } from "../../auth/tokens.ts";
import type { BellScheduleRow } from "../../bells/bell-schedule-hooks.ts";
import { decodeCalendar } from "../../bells/calendar-encoding.ts";
import {
  addHolidays,
  createFeed,
  recordFeedRead,
  renderScheduleCalendar,
  scheduleForFeedToken,
} from "../../bells/calendar-feeds.ts";
import { CallerError, invalidValue, notFound } from "../../lib/errors.ts";
import { isUuid } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import feeds from "../../resources/bells/bell-schedule-feeds.ts";
import bellSchedules from "../../resources/bells/bell-schedules.ts";
import ringLists from "../../resources/bells/ring-lists.ts";
import { sentenceField } from "../../resources/sentence-field.ts";
import { computed, integer, text, uuid } from "../../schema/field.ts";
import type { Sync } from "../../store/store.ts";
import { type Action, type ApiRequest, type PublicRequest, requireVisibleRow } from "../action.ts";
import { accessTokenOf } from "../bearer-token.ts";
import { textParameter } from "../query/query.ts";
import { addMembers } from "./add-members.ts";

const CALENDAR_TYPES = ["text/calendar"] as const;

const MAX_CALENDAR_BYTES = 1_048_576;

/** Calendar feeds of rings and import of holidays. @source docs/decisions/0015-bell-engine.md */
export const bellCalendarActions: readonly Action[] = [
  {
    method: "post",
    at: "bell-schedules/{bellScheduleId}/feeds",
    supportsDryRun: true,
    doc: "Creates a calendar feed of the rings. The URL is returned only here.",
    response: { kind: "row", resource: feeds, with: { url: text("URL of the feed.", { required: true, max: 2_000 }) } },
    accepts: { name: feeds.fields.name },
    async handle(request) {
      const { id } = requireVisibleRow(request, bellSchedules, request.params.bellScheduleId ?? "");
      const { token, tokenHash } = generateToken();
      const row = await createFeed(request.deps.store, request.body, { bellScheduleId: id, tokenHash }, request.by);
      const url = `${request.deps.baseUrl()}/api/v1/bell-schedules/${id}/rings.ics?token=${token}`;
      return addMembers(await request.respondWithRow(feeds, row), { url });
    },
  },
  {
    method: "get",
    at: "bell-schedules/{bellScheduleId}/rings.ics",
    permission: "open",
    doc: "Returns the rings of the last 14 and the next 92 days as iCalendar. Requires the token of a feed or access to the schedule.",
    query: { token: text("Token of the feed.", { max: 200 }) },
    response: { kind: "bytes", types: CALENDAR_TYPES },
    async handle(request) {
      const { deps } = request;
      const row = await readableSchedule(request);
      const chunks = await renderScheduleCalendar(row, { reader: deps.store, clock: deps.clock, times: deps.bells });
      return { type: "text/calendar; charset=utf-8", body: Readable.from(chunks) };
    },
  },
  {
    method: "post",
    at: "bell-schedules/{bellScheduleId}/holidays",
    doc: "Imports the days of an iCalendar text as exceptions of the schedule, silent or with a ring list. Overlapping exceptions are replaced. Events that cannot be read are listed in `rejected`; the others are imported.",
    query: { ringListId: uuid("Ring list of these days; default: no bells.") },
    binaryTypes: CALENDAR_TYPES,
    response: {
      kind: "row",
      resource: bellSchedules,
      with: {
        imported: integer("Number of exceptions created.", { required: true }),
        rejected: computed("Events that cannot be read and are not imported, at most 100.", "array", {
          of: {
            number: integer("Position of the event in the calendar, from 1.", { required: true }),
            summary: text("Summary of the event.", { max: 250 }),
            message: text("What is wrong.", { required: true, max: 1_000 }),
            messageSentence: sentenceField("What is wrong"),
          },
        }),
        unknownZones: computed(
          "Unknown time zones of events, at most 10; the zone of the schedule was used.",
          "array",
          {
            of: text("Name of a zone.", { max: 250 }),
          },
        ),
      },
    },
    supportsDryRun: true,
    async handle(request) {
      const { deps, by } = request;
      const found = requireVisibleRow(request, bellSchedules, request.params.bellScheduleId ?? "");
      const ringListId = ringListIn(request);
      const { holidays, rejected, unknownZones } = await deps.calendarReader.read(
        await calendarIn(request),
        found,
        found.timeZone ?? deps.bells.ownZone(),
      );
      const row = await deps.store.write((tx) => {
        return addHolidays(tx, { id: found.id, holidays, ringListId }, by) as Sync<BellScheduleRow>;
      });
      return addMembers(await request.respondWithRow(bellSchedules, row), {
        ...{ imported: holidays.length, unknownZones },
        rejected: rejected.map((each) => ({ ...each, messageSentence: deps.plugins.sentences.read(each.message) })),
      });
    },
  },
];

/** The schedule that the request may read. Throws not-found, also for an invalid token. */
async function readableSchedule(request: PublicRequest): Promise<BellScheduleRow> {
  const { deps, params, query } = request;
  const id = params.bellScheduleId ?? "";
  const token = textParameter(query, "token");
  if (token !== null) {
    const row = scheduleForFeedToken(deps.store, id, hashToken(token));
    if (!row) throw notFound();
    await recordFeedRead(deps.store, hashToken(token), deps.clock.now(), deps.access.systemContext("bells"));
    return row;
  }
  const bearer = accessTokenOf(request.header("authorization"), query);
  const principal = bearer === null ? null : deps.access.authenticate(bearer, "bearer", true, request.address);
  const row = principal && deps.store.get(bellSchedules, id, deps.access.resolveScope(principal, null));
  if (!row) throw notFound();
  return row;
}

function ringListIn({ query, deps, by }: ApiRequest): string | null {
  const id = textParameter(query, "ringListId");
  if (id === null || id === "") return null;
  if (!isUuid(id) || !deps.store.get(ringLists, id, by.scope)) {
    throw invalidValue("ringListId", sentence("field.not-found-id", { id }));
  }
  return id.toLowerCase();
}

async function calendarIn(request: ApiRequest): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.readBytes()) {
    size += chunk.length;
    if (size > MAX_CALENDAR_BYTES)
      throw new CallerError("too-large", sentence("upload.must-be-at-most-max-bytes", { max: MAX_CALENDAR_BYTES }));
    chunks.push(chunk);
  }
  return decodeCalendar(Buffer.concat(chunks));
}
