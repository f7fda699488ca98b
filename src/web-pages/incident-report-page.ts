import { hash } from "node:crypto";
import type { IncidentDelivery, IncidentPerson } from "../incidents/incident-outcomes.ts";
import type {
  IncidentRecordChunk,
  IncidentRecordCounts,
  IncidentRecordHead,
  IncidentRecordMessage,
} from "../incidents/incident-record.ts";
import type { TIMELINE_ACTIVITY_TYPES, TimelineEntry } from "../incidents/incident-timeline.ts";
import type incidentActivities from "../resources/incidents/incident-activities.ts";
import { DEVICE_OUTCOMES, OUTCOME_NAMES } from "../resources/notifications/device-outcomes.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ZoneLookup } from "../time-zones/time-zones.ts";
import { html, type Markup, pageHeaders, rawHtml } from "./html-page.ts";
import { createLocalTimeFormatter } from "./local-time.ts";

const STYLE = `
:root{font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;color:#1b2030;background:#fff}
body{max-width:70rem;margin:0 auto;padding:24px}
h1{font-size:1.7rem;margin:0 0 8px}h2{font-size:1.25rem;margin:32px 0 8px}h3{font-size:1rem;margin:20px 0 4px}
h1,h2,td,th,dd,p{overflow-wrap:anywhere}
.drill{display:inline-block;padding:4px 12px;border:3px solid #1b2030;font-weight:700;letter-spacing:.1em}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:8px 0}dt{color:#50586b}dd{margin:0}
table{width:100%;border-collapse:collapse;font-size:.9rem}
caption{text-align:left;font-weight:600;padding:12px 0 4px}
th,td{text-align:left;vertical-align:top;padding:3px 10px 3px 0;border-bottom:1px solid #c3c8d4}
td.number{text-align:right;font-variant-numeric:tabular-nums}
.body{white-space:pre-wrap}
@page{margin:15mm}
@media print{body{max-width:none;padding:0}h2{break-before:page}h2.first{break-before:auto}tr,dl{break-inside:avoid}thead{display:table-header-group}}
`;
const STYLE_HASH = `'sha256-${hash("sha256", STYLE, "base64")}'`;

/** Headers of the page. */
export const INCIDENT_REPORT_HEADERS = pageHeaders(STYLE_HASH, "'none'", "Accept-Language");

/** Labels of incident steps and notification activities. */
const KINDS: Readonly<Record<string, string>> = {
  "start-incident": "Incident started",
  "end-incident": "Incident ended",
  "all-clear": "All-clear",
  note: "Note",
  "roster-status": "Accounted for",
  "incident-escalated": "Escalated",
  "escalated-incident-linked": "Linked",
  abort: "Message ended",
  expire: "Message expired",
  "broadcast-finished": "Message finished",
  "broadcast-failed": "Message failed",
  "escalation-rule-skipped": "Escalation skipped",
  info: "Note",
} satisfies Record<RowOf<typeof incidentActivities>["type"] | (typeof TIMELINE_ACTIVITY_TYPES)[number], string>;

/** Formatting of values. */
interface Formatting {
  /** Local time in the zone of the report; empty for null. */
  time(at: number | null): string;
  users: IncidentRecordHead["users"];
}

/** Renders an incident report as a printable page, streamed; no scripts, no external resources. */
export async function* renderIncidentReport(
  chunks: AsyncIterable<IncidentRecordChunk>,
  timeZone: string,
  data: ZoneLookup,
): AsyncGenerator<string> {
  const localTime = createLocalTimeFormatter(timeZone, data);
  const formatting: Formatting = { time: (at) => (at === null ? "" : localTime(at)), users: new Map() };
  let open: IncidentRecordChunk["kind"] | null = null;
  let asked = false;
  for await (const chunk of chunks) {
    const closing = open !== chunk.kind && (open === "devices" || open === "people") ? "</tbody></table>" : "";
    const isFirst = open !== chunk.kind;
    open = chunk.kind;
    if (chunk.kind === "head") {
      formatting.users = chunk.head.users;
      yield* headPage(chunk.head, timeZone, formatting);
    } else if (chunk.kind === "message") {
      asked = chunk.message.asked;
      yield closing + messageHead(chunk.message, formatting).text;
    } else if (chunk.kind === "devices") {
      yield (isFirst ? DEVICES : "") + chunk.rows.map((row) => deviceRow(row, formatting).text).join("");
    } else {
      yield closing +
        (isFirst ? PEOPLE : "") +
        chunk.rows.map((row) => personRow(row, asked, formatting).text).join("");
    }
  }
  yield `${open === "devices" || open === "people" ? "</tbody></table>" : ""}</body></html>`;
}

/** Timeline entries per chunk. */
const CHUNK_ENTRIES = 200;

function* headPage(head: IncidentRecordHead, timeZone: string, formatting: Formatting): Generator<string> {
  const { incident, plan, site, madeAt, total, timeline, messages } = head;
  const title = incident.name ?? "Incident";
  const startedBy = formatting.users.get(incident.startedById ?? "") ?? "";
  const facts: [string, string][] = [
    ["Plan", plan ?? ""],
    ["Site", site ?? ""],
    ["Started", formatting.time(incident.createdAt)],
    ["Started by", startedBy],
    ["Ended", incident.endedAt === null ? "In progress" : formatting.time(incident.endedAt)],
    ["Messages", String(messages.length)],
    ["Times", `${timeZone}, with UTC offset`],
    ["Report created", formatting.time(madeAt)],
  ];
  yield html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} – Carillon</title><style>${rawHtml(STYLE)}</style></head><body><h1>${title}</h1>${incident.drill ? rawHtml('<p class="drill">DRILL</p>') : rawHtml("")}${factList(facts)}${countTables(total)}<h2 class="first">Timeline</h2><table><thead><tr><th>Time</th><th>Event</th><th>Who</th><th>Text</th></tr></thead><tbody>`
    .text;
  const subjects = new Map(messages.map(({ row }) => [row.id, row.subject ?? ""]));
  for (let from = 0; from < timeline.length; from += CHUNK_ENTRIES) {
    const chunk = timeline.slice(from, from + CHUNK_ENTRIES);
    yield chunk.map((entry) => entryRow(entry, subjects, formatting).text).join("");
  }
  yield "</tbody></table>";
}

function factList(facts: readonly [string, string][]): Markup {
  return html`<dl>${facts.filter(([, value]) => value !== "").map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

function countTables({ outcomes, recipients, readers, answers, silent }: IncidentRecordCounts): Markup {
  const lines = DEVICE_OUTCOMES.filter((outcome) => outcomes[outcome] > 0).map(
    (outcome) => [OUTCOME_NAMES[outcome], outcomes[outcome]] as const,
  );
  const people = [
    ["recipients", recipients],
    ["read", readers],
    ...Object.entries(answers).map(([answer, n]) => [`answered ${answer}`, n] as const),
    ["no answer", silent],
  ] as const;
  return html`${countTable("Devices", lines)}${countTable("People", people)}`;
}

function countTable(caption: string, lines: readonly (readonly [string, number])[]): Markup {
  const rows = lines.map(([name, n]) => html`<tr><td>${name}</td><td class="number">${String(n)}</td></tr>`);
  return html`<table><caption>${caption}</caption><tbody>${rows}</tbody></table>`;
}

function entryRow(entry: TimelineEntry, subjects: ReadonlyMap<string, string>, { time, users }: Formatting): Markup {
  const { at, kind, what, notificationId, userId, count, names, words } = entry;
  const more = names.length > 0 && names.length < count ? " …" : "";
  const who = userId === null ? names.join(", ") + more : (users.get(userId) ?? "");
  const subject = subjects.get(notificationId ?? "") ?? "";
  const text = kind === "message" || words !== null ? (words ?? "") : subject;
  return html`<tr><td>${time(at)}</td><td>${describeEvent(kind, what, count)}</td><td>${who}</td><td>${text}</td></tr>`;
}

function describeEvent(kind: TimelineEntry["kind"], what: string, count: number): string {
  if (kind === "message") return "Message sent";
  if (kind === "devices") return `${count} ${count === 1 ? "device" : "devices"}: ${what}`;
  if (kind === "answers") return `${count} answered ${what}`;
  return KINDS[what] ?? what;
}

function messageHead({ row, ...counts }: IncidentRecordMessage, { time, users }: Formatting): Markup {
  const facts: [string, string][] = [
    ["Sent", time(row.createdAt)],
    ["Sent by", users.get(row.initiatorId ?? "") ?? ""],
    ["Started by", row.notificationSource],
    ["Priority", row.priority ?? ""],
    ["Ended early", time(row.abortedAt)],
  ];
  return html`<h2>${row.subject ?? ""}</h2>${row.drill ? rawHtml('<p class="drill">DRILL</p>') : rawHtml("")}<p class="body">${row.body ?? ""}</p>${factList(facts)}${countTables(counts)}`;
}

const DEVICES =
  "<table><caption>Deliveries by device</caption><thead><tr><th>Device</th><th>Outcome</th><th>Sent</th><th>Accepted</th><th>Playing</th><th>Heard or confirmed</th><th>Ended</th></tr></thead><tbody>";
const PEOPLE =
  "<table><caption>Recipients</caption><thead><tr><th>Person</th><th>Read</th><th>Answer</th><th>Answered</th></tr></thead><tbody>";

function deviceRow(row: IncidentDelivery, { time }: Formatting): Markup {
  const { name, deviceIdentifier, owner, outcome, reason } = row;
  const device = [name ?? "", deviceIdentifier ?? "", owner ?? ""].filter(Boolean).join(" · ");
  const proven = reason === null ? OUTCOME_NAMES[outcome] : `${OUTCOME_NAMES[outcome]}: ${reason}`;
  const times = [row.sentAt, row.acceptedAt, row.playingAt, row.provenAt, row.endedAt].map(
    (at) => html`<td>${time(at)}</td>`,
  );
  return html`<tr><td>${device}</td><td>${proven}</td>${times}</tr>`;
}

function personRow(
  { name, email, readAt, answer, answeredAt }: IncidentPerson,
  asked: boolean,
  { time }: Formatting,
): Markup {
  const person = [name ?? "", email ?? ""].filter(Boolean).join(" · ");
  const text = answer ?? (asked ? "no answer" : "");
  return html`<tr><td>${person}</td><td>${time(readAt)}</td><td>${text}</td><td>${time(answeredAt)}</td></tr>`;
}
