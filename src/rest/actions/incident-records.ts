import { Readable } from "node:stream";
import incidents from "../../resources/incidents/incidents.ts";
import { namesOf, recordOf } from "../../scenarios/incident-record.ts";
import { rosterOf } from "../../scenarios/incident-roster.ts";
import { messagesOf, timelineOf } from "../../scenarios/incident-timeline.ts";
import { computed, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, type ApiRequest, json, visibleRow } from "../action.ts";
import { RECORD, recordJson, TIMELINE_ENTRY, timelineShown } from "../incident-json.ts";
import { RECORD_PAGE_HEADERS, recordPage } from "../incident-page.ts";
import { zoneFor } from "../local-time.ts";
import { singleText } from "../query.ts";

const ROSTER_ENTRY = {
  userId: uuid("The person.", { required: true }),
  name: text("The person's name."),
  status: text("What was said last; null for nothing yet."),
  location: text("Where the person is, as far as that was said."),
  at: timestamp("When it was said."),
};
const iso = (at: number): string => new Date(at).toISOString();
const ZONE = { timeZone: text("Zone of local times; the appliance's unless given.", { max: 100 }) };

/**
 * What happened in an incident, for whoever may get `/incidents/{id}/timeline` and `/incidents/{id}/report`: they name
 * people and devices. own choice: the paths, and a page of its own instead of another form of the same path.
 * @source decisions.md 13, a report of all its notifications
 */
export const incidentRecordActions: readonly Action[] = [
  {
    method: "get",
    at: "incidents/{incidentId}/timeline",
    doc: "What happened, in order: steps, messages, devices and people by the second, after five minutes by the minute.",
    answers: { kind: "members", fields: { data: computed("What happened.", "array", { of: TIMELINE_ENTRY }) } },
    async handle(request) {
      const { store, clock } = request.needs;
      const incident = incidentOf(request);
      const messages = messagesOf(incident, request.by.scope.inSight, store);
      const entries = await timelineOf(incident, messages, { reader: store, clock });
      const users = namesOf(
        store,
        entries.map(({ userId }) => userId),
      );
      return json({ data: timelineShown(entries, users) });
    },
  },
  {
    method: "get",
    at: "incidents/{incidentId}/roster",
    doc: "Who is accounted for, by name, and who is still to be: a roster-status step says how somebody is.",
    answers: {
      kind: "members",
      fields: { data: computed("The people, at most 5000.", "array", { of: ROSTER_ENTRY }) },
    },
    async handle(request) {
      const { store, clock } = request.needs;
      const data = rosterOf(incidentOf(request), store, clock.now());
      return json({ data: data.map(({ at, ...entry }) => ({ ...entry, at: at === null ? null : iso(at) })) });
    },
  },
  {
    method: "get",
    at: "incidents/{incidentId}/report",
    doc: "The report for afterwards: who got what when, who answered and who did not.",
    query: ZONE,
    answers: { kind: "members", fields: RECORD },
    async handle(request) {
      return { body: Readable.from(recordJson(piecesOf(request), zoneOf(request))) };
    },
  },
  {
    method: "get",
    at: "incidents/{incidentId}/report/page",
    doc: "The same report as a page to print, in local times.",
    query: ZONE,
    answers: { kind: "page" },
    async handle(request) {
      const body = Readable.from(recordPage(piecesOf(request), zoneOf(request)));
      return { type: "text/html; charset=utf-8", headers: RECORD_PAGE_HEADERS, body };
    },
  },
];

/** Throws not-found before anything is answered. */
function piecesOf(request: ApiRequest) {
  const { store, clock } = request.needs;
  return recordOf(incidentOf(request), request.by.scope.inSight, { reader: store, clock });
}

function zoneOf({ needs, query }: ApiRequest): string {
  return zoneFor(needs.store, singleText(query, "timeZone"));
}

function incidentOf(request: ApiRequest) {
  return visibleRow(request, incidents, request.params.incidentId ?? "");
}
