import type {
  IncidentRecordChunk,
  IncidentRecordHead,
  IncidentRecordMessage,
} from "../../incidents/incident-record.ts";
import type { TimelineEntry } from "../../incidents/incident-timeline.ts";
import { computed, integer, object, text, timestamp, uuid } from "../../schema/field.ts";

const REQUIRED = { required: true } as const;
const NUMBER = integer("How many.", REQUIRED);
const COUNTS = {
  devices: computed("Devices by level.", "object", { of: NUMBER }),
  recipients: integer("People it went to; of an incident, each once a message.", REQUIRED),
  readers: integer("People who read it.", REQUIRED),
  answers: computed("People by answer.", "object", { of: NUMBER }),
  silent: integer("People who were asked and gave no answer.", REQUIRED),
};
const TEXT = { max: 100_000 } as const;

/** One entry of a time line. */
export const TIMELINE_ENTRY_FIELDS = {
  at: timestamp("When.", REQUIRED),
  kind: text("A step, a message that was sent, its diary, devices that got to a level, people who answered.", REQUIRED),
  what: text("Type of the step or diary entry, level of the devices, the answer.", REQUIRED),
  notificationId: uuid("Message that it is about."),
  userId: uuid("User who did it."),
  userName: text("That user's name.", TEXT),
  count: NUMBER,
  names: computed("The first of them by name, at most three.", "array", {
    of: text("A name.", { ...TEXT, ...REQUIRED }),
  }),
  words: text("What was said.", TEXT),
};

const DELIVERY = {
  name: text("The device's description.", TEXT),
  type: text("The device's type.", TEXT),
  deviceIdentifier: text("The device's identifier.", TEXT),
  owner: text("Owner of a device of a user.", TEXT),
  level: text("How far it is proven.", REQUIRED),
  reason: text("Why it stands where it stands.", TEXT),
  sentAt: timestamp("When the channel took it."),
  acceptedAt: timestamp("When the device said yes."),
  playingAt: timestamp("When it was proven to play."),
  provenAt: timestamp("When it was proven heard or confirmed."),
  endedAt: timestamp("When nothing more was to be expected."),
};
const PERSON = {
  name: text("The person's name.", TEXT),
  email: text("The person's mail address.", TEXT),
  readAt: timestamp("When it was read first."),
  answer: text("The last answer.", TEXT),
  answeredAt: timestamp("When that was given."),
  reply: text("What the person was told then.", TEXT),
};
const MESSAGE = {
  id: uuid("Its id.", REQUIRED),
  subject: text("Its first line.", TEXT),
  body: text("The message itself.", TEXT),
  sentAt: timestamp("When it was sent.", REQUIRED),
  sentBy: text("Name of who sent it.", TEXT),
  source: text("What started it.", REQUIRED),
  priority: text("How urgent it was."),
  ...COUNTS,
  deliveries: computed("What became of it on each device.", "array", { of: DELIVERY }),
  people: computed("What each person did with it.", "array", { of: PERSON }),
};
const INCIDENT = object(
  "The incident.",
  {
    id: uuid("Its id.", REQUIRED),
    name: text("What people call it.", TEXT),
    drill: { kind: "boolean", doc: "It was practised.", ...REQUIRED },
    plan: text("Name of its plan.", TEXT),
    site: text("Name of its site.", TEXT),
    startedAt: timestamp("When it began.", REQUIRED),
    startedBy: text("Name of who started it.", TEXT),
    endedAt: timestamp("When it ended; null while it goes on."),
  },
  REQUIRED,
);

/** What a record of an incident holds. */
export const INCIDENT_REPORT_FIELDS = {
  incident: INCIDENT,
  madeAt: timestamp("When the record was made.", REQUIRED),
  timeZone: text("Zone that people at the appliance live in; times here are UTC.", REQUIRED),
  total: computed("Numbers of all messages.", "object", { of: COUNTS }),
  timeline: computed("What happened, in order.", "array", { of: TIMELINE_ENTRY_FIELDS }),
  messages: computed("What was sent, in order.", "array", { of: MESSAGE }),
};

/** What is open within the list of messages, and what closes it. */
const CLOSING = { nothing: "", devices: '],"people":[]}', people: "]}" } as const;

/** A record as JSON text, piece by piece. */
export async function* writeIncidentReportJson(
  pieces: AsyncIterable<IncidentRecordChunk>,
  timeZone: string,
): AsyncGenerator<string> {
  let users: IncidentRecordHead["users"] = new Map();
  let open: keyof typeof CLOSING = "nothing";
  let rows = 0;
  for await (const piece of pieces) {
    if (piece.kind === "head") {
      users = piece.head.users;
      yield `${headText(piece.head, timeZone)},"messages":[`;
    } else if (piece.kind === "message") {
      yield `${CLOSING[open]}${open === "nothing" ? "" : ","}${messageText(piece.message, users)},"deliveries":[`;
      open = "devices";
      rows = 0;
    } else {
      const turns = piece.kind === "people" && open === "devices";
      if (turns) rows = 0;
      open = piece.kind;
      yield `${turns ? '],"people":[' : ""}${rows > 0 ? "," : ""}${(piece.rows as readonly object[]).map(rowText).join()}`;
      rows += piece.rows.length;
    }
  }
  yield `${CLOSING[open]}]}`;
}

/** Entries of a time line as the API shows them. */
export function presentTimeline(
  entries: readonly TimelineEntry[],
  users: IncidentRecordHead["users"],
): Record<string, unknown>[] {
  return entries.map(({ at, kind, what, notificationId, userId, ...rest }) => {
    const userName = userId === null ? null : (users.get(userId) ?? null);
    return { at: isoText(at), kind, what, notificationId, userId, userName, ...rest };
  });
}

function headText(
  { incident, plan, site, madeAt, total, timeline, users }: IncidentRecordHead,
  timeZone: string,
): string {
  const { id, name, drill, createdAt, endedAt, startedById } = incident;
  const startedBy = startedById === null ? null : (users.get(startedById) ?? null);
  const shown = { id, name, drill, plan, site, startedAt: isoText(createdAt), startedBy, endedAt: isoText(endedAt) };
  const head = {
    incident: shown,
    madeAt: isoText(madeAt),
    timeZone,
    total,
    timeline: presentTimeline(timeline, users),
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
