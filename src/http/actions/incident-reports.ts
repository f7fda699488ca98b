import { Readable } from "node:stream";
import { buildIncidentRecord, userNamesById } from "../../incidents/incident-record.ts";
import { buildRoster } from "../../incidents/incident-roster.ts";
import { buildTimeline, incidentNotifications } from "../../incidents/incident-timeline.ts";
import incidents from "../../resources/incidents/incidents.ts";
import { computed, text, timestamp, uuid } from "../../schema/field.ts";
import { INCIDENT_REPORT_HEADERS, renderIncidentReport } from "../../web-pages/incident-report-page.ts";
import { resolveTimeZone } from "../../web-pages/local-time.ts";
import { type Action, type ApiRequest, jsonResponse, requireVisibleRow } from "../action.ts";
import { textParameter } from "../query/query.ts";
import {
  INCIDENT_REPORT_FIELDS,
  presentTimeline,
  TIMELINE_ENTRY_FIELDS,
  writeIncidentReportJson,
} from "../reports/incident-report-json.ts";

const ROSTER_ENTRY = {
  userId: uuid("The person.", { required: true }),
  name: text("The person's name."),
  status: text("What was said last; null for nothing yet."),
  location: text("Where the person is, as far as that was said."),
  at: timestamp("When it was said."),
};
const iso = (at: number): string => new Date(at).toISOString();
const TIME_ZONE_QUERY = { timeZone: text("Zone of local times; the appliance's unless given.", { max: 100 }) };

/**
 * What happened in an incident, for whoever may get `/incidents/{id}/timeline` and `/incidents/{id}/report`: they name
 * people and devices. own choice: the paths, and a page of its own instead of another form of the same path.
 * @source decisions.md 13, a report of all its notifications
 */
export const incidentReportActions: readonly Action[] = [
  {
    method: "get",
    at: "incidents/{incidentId}/timeline",
    doc: "What happened, in order: steps, messages, devices and people by the second, after five minutes by the minute.",
    response: { kind: "members", fields: { data: computed("What happened.", "array", { of: TIMELINE_ENTRY_FIELDS }) } },
    async handle(request) {
      const { store, clock } = request.needs;
      const incident = incidentOf(request);
      const messages = incidentNotifications(incident, request.by.scope.domainVisibility, store);
      const entries = await buildTimeline(incident, messages, { reader: store, clock });
      const users = userNamesById(
        store,
        entries.map(({ userId }) => userId),
      );
      return jsonResponse({ data: presentTimeline(entries, users) });
    },
  },
  {
    method: "get",
    at: "incidents/{incidentId}/roster",
    doc: "Who is accounted for, by name, and who is still to be: a roster-status step says how somebody is.",
    response: {
      kind: "members",
      fields: { data: computed("The people, at most 5000.", "array", { of: ROSTER_ENTRY }) },
    },
    async handle(request) {
      const { store, clock } = request.needs;
      const data = buildRoster(incidentOf(request), store, clock.now());
      return jsonResponse({ data: data.map(({ at, ...entry }) => ({ ...entry, at: at === null ? null : iso(at) })) });
    },
  },
  {
    method: "get",
    at: "incidents/{incidentId}/report",
    doc: "The report for afterwards: who got what when, who answered and who did not.",
    query: TIME_ZONE_QUERY,
    response: { kind: "members", fields: INCIDENT_REPORT_FIELDS },
    async handle(request) {
      return { body: Readable.from(writeIncidentReportJson(reportPieces(request), zoneOf(request))) };
    },
  },
  {
    method: "get",
    at: "incidents/{incidentId}/report/page",
    doc: "The same report as a page to print, in local times.",
    query: TIME_ZONE_QUERY,
    response: { kind: "page" },
    async handle(request) {
      const body = Readable.from(renderIncidentReport(reportPieces(request), zoneOf(request)));
      return { type: "text/html; charset=utf-8", headers: INCIDENT_REPORT_HEADERS, body };
    },
  },
];

/** Throws not-found before anything is answered. */
function reportPieces(request: ApiRequest) {
  const { store, clock } = request.needs;
  return buildIncidentRecord(incidentOf(request), request.by.scope.domainVisibility, { reader: store, clock });
}

function zoneOf({ needs, query }: ApiRequest): string {
  return resolveTimeZone(needs.store, textParameter(query, "timeZone"));
}

function incidentOf(request: ApiRequest) {
  return requireVisibleRow(request, incidents, request.params.incidentId ?? "");
}
