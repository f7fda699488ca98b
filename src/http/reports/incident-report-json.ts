import type {
  IncidentRecordChunk,
  IncidentRecordHead,
  IncidentRecordMessage,
} from "../../incidents/incident-record.ts";
import type { TimelineEntry } from "../../incidents/incident-timeline.ts";
import type { SentenceReader } from "../../lib/sentences/registry.ts";
import { DEVICE_OUTCOMES } from "../../resources/notifications/device-outcomes.ts";
import { OUTCOME_COUNTS } from "../../resources/notifications/progress-fields.ts";
import { sentenceField } from "../../resources/sentence-field.ts";
import { computed, integer, object, option, text, timestamp, uuid } from "../../schema/field.ts";

const REQUIRED = { required: true } as const;
const NUMBER = integer("Count.", REQUIRED);
const COUNTS = {
  devices: computed("Number of devices by level.", "object", { of: NUMBER }),
  outcomes: computed("Number of devices by outcome.", "object", { of: OUTCOME_COUNTS }),
  recipients: integer("Number of recipients; for an incident, counted once per message.", REQUIRED),
  readers: integer("Number of recipients who read it.", REQUIRED),
  answers: computed("Number of recipients by answer.", "object", { of: NUMBER }),
  silent: integer("Number of recipients without an answer.", REQUIRED),
};
const TEXT = { max: 100_000 } as const;

/** A timeline entry. */
export const TIMELINE_ENTRY_FIELDS = {
  at: timestamp("Time.", REQUIRED),
  kind: text("Entry type: incident step, message, activity, devices that reached a level, or answers.", REQUIRED),
  what: text("Type of the step or activity, level of the devices, or the answer.", REQUIRED),
  notificationId: uuid("Id of the notification."),
  userId: uuid("Id of the user."),
  userName: text("Name of the user.", TEXT),
  count: NUMBER,
  names: computed("The first names, at most three.", "array", {
    of: text("A name.", { ...TEXT, ...REQUIRED }),
  }),
  words: text("Text of the entry.", TEXT),
  wordsSentence: sentenceField("Text"),
};

const DELIVERY = {
  name: text("Description of the device.", TEXT),
  type: text("Type of the device.", TEXT),
  deviceIdentifier: text("Identifier of the device.", TEXT),
  owner: text("Owner, for a user device.", TEXT),
  level: text("Delivery level.", REQUIRED),
  outcome: option("Outcome.", DEVICE_OUTCOMES, REQUIRED),
  reason: text("Reason for the level.", TEXT),
  sentAt: timestamp("When the channel accepted it for sending."),
  acceptedAt: timestamp("When the device accepted it."),
  playingAt: timestamp("When playback was verified."),
  provenAt: timestamp("When it was verified as heard or confirmed."),
  endedAt: timestamp("When the delivery ended."),
};
const PERSON = {
  name: text("Name of the person.", TEXT),
  email: text("Email address of the person.", TEXT),
  readAt: timestamp("When it was first read."),
  answer: text("Last answer.", TEXT),
  answeredAt: timestamp("When the answer was given."),
  reply: text("Reply sent to the person.", TEXT),
};
const MESSAGE = {
  id: uuid("Id.", REQUIRED),
  subject: text("Subject.", TEXT),
  body: text("Body.", TEXT),
  sentAt: timestamp("When it was sent.", REQUIRED),
  sentBy: text("Name of the sender.", TEXT),
  source: text("Source of the notification.", REQUIRED),
  priority: text("Priority."),
  ...COUNTS,
  deliveries: computed("Deliveries by device.", "array", { of: DELIVERY }),
  people: computed("Recipients with their responses.", "array", { of: PERSON }),
};
const INCIDENT = object(
  "The incident.",
  {
    id: uuid("Id.", REQUIRED),
    name: text("Name.", TEXT),
    drill: { kind: "boolean", doc: "The incident was a drill.", ...REQUIRED },
    plan: text("Name of the plan.", TEXT),
    site: text("Name of the site.", TEXT),
    startedAt: timestamp("Start time.", REQUIRED),
    startedBy: text("Name of the user who started it.", TEXT),
    endedAt: timestamp("End time; null while active."),
  },
  REQUIRED,
);

/** Fields of an incident report. */
export const INCIDENT_REPORT_FIELDS = {
  incident: INCIDENT,
  madeAt: timestamp("When the report was created.", REQUIRED),
  timeZone: text("Local time zone of the appliance; times in the report are UTC.", REQUIRED),
  total: computed("Totals of all messages.", "object", { of: COUNTS }),
  timeline: computed("Timeline in chronological order.", "array", { of: TIMELINE_ENTRY_FIELDS }),
  messages: computed("Messages in chronological order.", "array", { of: MESSAGE }),
};

/** JSON that closes the open list of a message. */
const CLOSING = { nothing: "", devices: '],"people":[]}', people: "]}" } as const;

/** An incident report as JSON, streamed. */
export async function* writeIncidentReportJson(
  chunks: AsyncIterable<IncidentRecordChunk>,
  timeZone: string,
  sentences: SentenceReader,
): AsyncGenerator<string> {
  let users: IncidentRecordHead["users"] = new Map();
  let open: keyof typeof CLOSING = "nothing";
  let rows = 0;
  for await (const chunk of chunks) {
    if (chunk.kind === "head") {
      users = chunk.head.users;
      yield `${headText(chunk.head, timeZone, sentences)},"messages":[`;
    } else if (chunk.kind === "message") {
      yield `${CLOSING[open]}${open === "nothing" ? "" : ","}${messageText(chunk.message, users)},"deliveries":[`;
      open = "devices";
      rows = 0;
    } else {
      const switchesToPeople = chunk.kind === "people" && open === "devices";
      if (switchesToPeople) rows = 0;
      open = chunk.kind;
      yield `${switchesToPeople ? '],"people":[' : ""}${rows > 0 ? "," : ""}${(chunk.rows as readonly object[]).map(rowText).join()}`;
      rows += chunk.rows.length;
    }
  }
  yield `${CLOSING[open]}]}`;
}

/** Timeline entries in API form. */
export function presentTimeline(
  entries: readonly TimelineEntry[],
  users: IncidentRecordHead["users"],
  sentences: SentenceReader,
): Record<string, unknown>[] {
  return entries.map(({ at, kind, what, notificationId, userId, ...rest }) => {
    const wordsSentence = kind === "diary" && rest.words ? sentences.read(rest.words) : null;
    const userName = userId === null ? null : (users.get(userId) ?? null);
    return { at: isoText(at), kind, what, notificationId, userId, userName, ...rest, wordsSentence };
  });
}

function headText(
  { incident, plan, site, madeAt, total, timeline, users }: IncidentRecordHead,
  timeZone: string,
  sentences: SentenceReader,
): string {
  const { id, name, drill, createdAt, endedAt, startedById } = incident;
  const startedBy = startedById === null ? null : (users.get(startedById) ?? null);
  const shown = { id, name, drill, plan, site, startedAt: isoText(createdAt), startedBy, endedAt: isoText(endedAt) };
  const head = {
    incident: shown,
    madeAt: isoText(madeAt),
    timeZone,
    total,
    timeline: presentTimeline(timeline, users, sentences),
  };
  return JSON.stringify(head).slice(0, -1);
}

function messageText(
  { row, asked: _asked, ...counts }: IncidentRecordMessage,
  users: IncidentRecordHead["users"],
): string {
  const { id, subject, body, createdAt, initiatorId, notificationSource: source, priority } = row;
  const sentBy = initiatorId === null ? null : (users.get(initiatorId) ?? null);
  return JSON.stringify({ id, subject, body, sentAt: isoText(createdAt), sentBy, source, priority, ...counts }).slice(
    0,
    -1,
  );
}

function rowText({ pk: _pk, ...row }: { pk?: unknown }): string {
  return JSON.stringify(row, (name, value) => (name.endsWith("At") ? isoText(value as number | null) : value));
}

function isoText(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
