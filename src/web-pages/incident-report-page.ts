import { hash } from "node:crypto";
import type { IncidentDelivery, IncidentPerson } from "../incidents/incident-outcomes.ts";
import type {
  IncidentRecordChunk,
  IncidentRecordCounts,
  IncidentRecordHead,
  IncidentRecordMessage,
} from "../incidents/incident-record.ts";
import type { TimelineEntry } from "../incidents/incident-timeline.ts";
import type { SentenceReader } from "../lib/sentences/registry.ts";
import type { SentenceLanguage } from "../lib/sentences/sentences.ts";
import { DEVICE_OUTCOMES } from "../resources/notifications/device-outcomes.ts";
import type { ZoneLookup } from "../time-zones/time-zones.ts";
import { html, type Markup, pageHeaders, rawHtml } from "./html-page.ts";
import { type IncidentReportMessages, incidentReportMessages } from "./incident-report-messages.ts";
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

/** Formatting of values. */
interface Formatting {
  /** Local time in the zone of the report; empty for null. */
  time(at: number | null): string;
  users: IncidentRecordHead["users"];
  messages: IncidentReportMessages;
  /** A sentence of the server in the language of the report. */
  say(text: string): string;
}

/** Time zone and language of a report. */
export interface IncidentReportOptions {
  timeZone: string;
  data: ZoneLookup;
  sentences: Pick<SentenceReader, "translate">;
  language: SentenceLanguage;
}

/** Renders an incident report as a printable page, streamed; no scripts, no external resources. */
export async function* renderIncidentReport(
  chunks: AsyncIterable<IncidentRecordChunk>,
  { timeZone, data, sentences, language }: IncidentReportOptions,
): AsyncGenerator<string> {
  const localTime = createLocalTimeFormatter(timeZone, data);
  const messages = incidentReportMessages(language);
  const formatting: Formatting = {
    time: (at) => (at === null ? "" : localTime(at)),
    users: new Map(),
    messages,
    say: (text) => sentences.translate(text, language),
  };
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
      yield (isFirst ? tableHead(messages.deliveries, messages.deliveryHeads) : "") +
        chunk.rows.map((row) => deviceRow(row, formatting).text).join("");
    } else {
      yield closing +
        (isFirst ? tableHead(messages.people, messages.personHeads) : "") +
        chunk.rows.map((row) => personRow(row, asked, formatting).text).join("");
    }
  }
  yield `${open === "devices" || open === "people" ? "</tbody></table>" : ""}</body></html>`;
}

/** Timeline entries per chunk. */
const CHUNK_ENTRIES = 200;

function* headPage(head: IncidentRecordHead, timeZone: string, formatting: Formatting): Generator<string> {
  const { incident, plan, site, madeAt, total, timeline, messages } = head;
  const { facts: names, ...texts } = formatting.messages;
  const title = incident.name ?? texts.incident;
  const startedBy = formatting.users.get(incident.startedById ?? "") ?? "";
  const facts: [string, string][] = [
    [names.plan, plan ?? ""],
    [names.site, site ?? ""],
    [names.started, formatting.time(incident.createdAt)],
    [names.startedBy, startedBy],
    [names.ended, incident.endedAt === null ? names.inProgress : formatting.time(incident.endedAt)],
    [names.messages, String(messages.length)],
    [names.times, texts.zone(timeZone)],
    [names.created, formatting.time(madeAt)],
  ];
  yield html`<!doctype html><html lang="${texts.language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} – Carillon</title><style>${rawHtml(STYLE)}</style></head><body><h1>${title}</h1>${drillMark(incident.drill, formatting)}${factList(facts)}${countTables(total, formatting)}<h2 class="first">${texts.timeline}</h2><table>${headRow(texts.timelineHeads)}<tbody>`
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

function drillMark(isDrill: boolean, { messages }: Formatting): Markup {
  return isDrill ? html`<p class="drill">${messages.drill}</p>` : rawHtml("");
}

function headRow(heads: readonly string[]): Markup {
  return html`<thead><tr>${heads.map((head) => html`<th>${head}</th>`)}</tr></thead>`;
}

function tableHead(caption: string, heads: readonly string[]): string {
  return html`<table><caption>${caption}</caption>${headRow(heads)}<tbody>`.text;
}

function countTables(
  { outcomes, recipients, readers, answers, silent }: IncidentRecordCounts,
  { messages }: Formatting,
): Markup {
  const lines = DEVICE_OUTCOMES.filter((outcome) => outcomes[outcome] > 0).map(
    (outcome) => [messages.outcomes[outcome], outcomes[outcome]] as const,
  );
  const people = [
    [messages.recipients, recipients],
    [messages.read, readers],
    ...Object.entries(answers).map(([answer, n]) => [messages.answered(answer), n] as const),
    [messages.noAnswer, silent],
  ] as const;
  return html`${countTable(messages.devices, lines)}${countTable(messages.people, people)}`;
}

function countTable(caption: string, lines: readonly (readonly [string, number])[]): Markup {
  const rows = lines.map(([name, n]) => html`<tr><td>${name}</td><td class="number">${String(n)}</td></tr>`);
  return html`<table><caption>${caption}</caption><tbody>${rows}</tbody></table>`;
}

function entryRow(entry: TimelineEntry, subjects: ReadonlyMap<string, string>, formatting: Formatting): Markup {
  const { at, kind, notificationId, userId, count, names, words } = entry;
  const { time, users, say } = formatting;
  const more = names.length > 0 && names.length < count ? " …" : "";
  const who = userId === null ? names.join(", ") + more : (users.get(userId) ?? "");
  const subject = subjects.get(notificationId ?? "") ?? "";
  const given = kind === "message" || words !== null ? (words ?? "") : subject;
  const text = kind === "diary" ? say(given) : given;
  return html`<tr><td>${time(at)}</td><td>${describeEvent(entry, formatting)}</td><td>${who}</td><td>${text}</td></tr>`;
}

function describeEvent({ kind, what, count }: TimelineEntry, { messages }: Formatting): string {
  if (kind === "message") return messages.messageSent;
  if (kind === "devices") return messages.devicesReached(count, messages.levels[what] ?? what);
  if (kind === "answers") return messages.peopleAnswered(count, what);
  const events: Readonly<Record<string, string>> = messages.events;
  return events[what] ?? what;
}

function messageHead({ row, ...counts }: IncidentRecordMessage, formatting: Formatting): Markup {
  const { time, users, messages } = formatting;
  const { facts: names, sources, priorities } = messages;
  const facts: [string, string][] = [
    [names.sent, time(row.createdAt)],
    [names.sentBy, users.get(row.initiatorId ?? "") ?? ""],
    [names.origin, sources[row.notificationSource] ?? row.notificationSource],
    [names.priority, priorities[row.priority ?? ""] ?? row.priority ?? ""],
    [names.endedEarly, time(row.abortedAt)],
  ];
  return html`<h2>${row.subject ?? ""}</h2>${drillMark(row.drill, formatting)}<p class="body">${row.body ?? ""}</p>${factList(facts)}${countTables(counts, formatting)}`;
}

function deviceRow(row: IncidentDelivery, { time, messages, say }: Formatting): Markup {
  const { name, deviceIdentifier, owner, outcome, reason } = row;
  const device = [name ?? "", deviceIdentifier ?? "", owner ?? ""].filter(Boolean).join(" · ");
  const outcomeName = messages.outcomes[outcome];
  const proven = reason === null ? outcomeName : `${outcomeName}: ${say(reason)}`;
  const times = [row.sentAt, row.acceptedAt, row.playingAt, row.provenAt, row.endedAt].map(
    (at) => html`<td>${time(at)}</td>`,
  );
  return html`<tr><td>${device}</td><td>${proven}</td>${times}</tr>`;
}

function personRow(
  { name, email, readAt, answer, answeredAt }: IncidentPerson,
  asked: boolean,
  { time, messages }: Formatting,
): Markup {
  const person = [name ?? "", email ?? ""].filter(Boolean).join(" · ");
  const text = answer ?? (asked ? messages.noAnswer : "");
  return html`<tr><td>${person}</td><td>${time(readAt)}</td><td>${text}</td><td>${time(answeredAt)}</td></tr>`;
}
