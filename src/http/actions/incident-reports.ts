import { Readable } from "node:stream";
import { buildIncidentRecord, userNamesById } from "../../incidents/incident-record.ts";
import { buildRoster } from "../../incidents/incident-roster.ts";
import { buildTimeline, incidentNotifications } from "../../incidents/incident-timeline.ts";
import { type SentenceLanguage, sentenceLanguage } from "../../lib/sentences/sentences.ts";
import incidents from "../../resources/incidents/incidents.ts";
import users from "../../resources/people/users.ts";
import { computed, text, timestamp, uuid } from "../../schema/field.ts";
import { acceptedLanguage } from "../../web-pages/accept-language.ts";
import { INCIDENT_REPORT_HEADERS, renderIncidentReport } from "../../web-pages/incident-report-page.ts";
import { requestedTimeZone } from "../../web-pages/local-time.ts";
import { type Action, type ApiRequest, jsonResponse, requireVisibleRow } from "../action.ts";
import { textParameter } from "../query/query.ts";
import {
  INCIDENT_REPORT_FIELDS,
  presentTimeline,
  TIMELINE_ENTRY_FIELDS,
  writeIncidentReportJson,
} from "../reports/incident-report-json.ts";

const ROSTER_ENTRY = {
  userId: uuid("User id of the person.", { required: true }),
  name: text("Name of the person."),
  status: text("Last reported status; null if none."),
  location: text("Last reported location."),
  at: timestamp("Time of the report."),
};
const iso = (at: number): string => new Date(at).toISOString();
const TIME_ZONE_QUERY = { timeZone: text("Time zone of local times; default: that of the appliance.", { max: 100 }) };

/**
 * Timeline, roster and report of an incident, for users who may get `/incidents/{id}/timeline` and
 * `/incidents/{id}/report`, because these contain names of people and devices.
 * @source docs/decisions/0013-other-resources.md, a report of all its notifications
 */
export const incidentReportActions: readonly Action[] = [
  {
    method: "get",
    at: "incidents/{incidentId}/timeline",
    doc: "Returns the timeline of an incident: steps, messages, devices and people; per second, after five minutes per minute.",
    response: {
      kind: "members",
      fields: { data: computed("Entries in chronological order.", "array", { of: TIMELINE_ENTRY_FIELDS }) },
    },
    async handle(request) {
      const { store, clock } = request.deps;
      const incident = incidentOf(request);
      const messages = incidentNotifications(incident, request.by.scope.domainVisibility, store);
      const entries = await buildTimeline(incident, messages, { reader: store, clock });
      const names = userNamesById(
        store,
        entries.map(({ userId }) => userId),
      );
      return jsonResponse({ data: presentTimeline(entries, names, request.deps.plugins.sentences) });
    },
  },
  {
    method: "get",
    at: "incidents/{incidentId}/roster",
    doc: "Returns the roster: people by name with their last status. Statuses are set by roster-status steps.",
    response: {
      kind: "members",
      fields: { data: computed("The people, at most 5000.", "array", { of: ROSTER_ENTRY }) },
    },
    async handle(request) {
      const { store, clock } = request.deps;
      const data = buildRoster(incidentOf(request), store, clock.now());
      return jsonResponse({ data: data.map(({ at, ...entry }) => ({ ...entry, at: at === null ? null : iso(at) })) });
    },
  },
  {
    method: "get",
    at: "incidents/{incidentId}/report",
    doc: "Returns the report of an incident: who received what and when, who answered and who did not.",
    query: TIME_ZONE_QUERY,
    response: { kind: "members", fields: INCIDENT_REPORT_FIELDS },
    async handle(request) {
      return {
        body: Readable.from(
          writeIncidentReportJson(reportPieces(request), zoneOf(request), request.deps.plugins.sentences),
        ),
      };
    },
  },
  {
    method: "get",
    at: "incidents/{incidentId}/report/page",
    doc: "Returns the report as a printable page, in local time and in the language of the user's account or browser.",
    query: TIME_ZONE_QUERY,
    response: { kind: "page" },
    async handle(request) {
      const { bells, plugins } = request.deps;
      const options = {
        ...{ timeZone: zoneOf(request), data: bells.data },
        ...{ sentences: plugins.sentences, language: languageOf(request) },
      };
      const body = Readable.from(renderIncidentReport(reportPieces(request), options));
      return { type: "text/html; charset=utf-8", headers: INCIDENT_REPORT_HEADERS, body };
    },
  },
];

/** Throws not-found before the response starts. */
function reportPieces(request: ApiRequest) {
  const { store, clock } = request.deps;
  return buildIncidentRecord(incidentOf(request), request.by.scope.domainVisibility, { reader: store, clock });
}

function zoneOf({ deps, query }: ApiRequest): string {
  return requestedTimeZone(textParameter(query, "timeZone"), deps.bells.ownZone());
}

/** Language of the account; of the browser, where the account has none. */
function languageOf({ deps, by, header }: ApiRequest): SentenceLanguage {
  const { userId } = by.actor;
  const preferred = userId === null ? null : (deps.store.get(users, userId)?.preferredLanguage ?? null);
  return sentenceLanguage(preferred) ?? acceptedLanguage(header("accept-language"));
}

function incidentOf(request: ApiRequest) {
  return requireVisibleRow(request, incidents, request.params.incidentId ?? "");
}
