import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import type { NotificationRow } from "../notifications/compose/message-builder.ts";
import incidentActivities from "../resources/incidents/incident-activities.ts";
import { DELIVERY_LEVELS } from "../resources/notifications/delivery-levels.ts";
import notifications from "../resources/notifications/notifications.ts";
import type { RowVisibility, Store, StoreReader } from "../store/store.ts";
import { deliveryChunks, type IncidentDelivery, personChunks } from "./incident-outcomes.ts";
import type { IncidentRow } from "./incident-start.ts";

/** An event of an incident; `at` in epoch ms. */
export interface TimelineEntry {
  at: number;
  /** A step, a sent notification, an entry of its activity log, devices that reached a level, people who answered. */
  kind: "step" | "message" | "diary" | "devices" | "answers";
  /** Type of the step or log entry, level of the devices, the answer; `sent` for a notification. */
  what: string;
  notificationId: string | null;
  /** User who acted. */
  userId: string | null;
  /** Number of devices or people. */
  count: number;
  /** The first names, at most three. */
  names: readonly string[];
  /** Text: subject of a notification, text of a step or log entry. */
  words: string | null;
}

export interface TimelineDeps {
  reader: StoreReader;
  clock: Clock;
}

/** Entries about a notification as a whole; those about single people and devices are in their own rows. */
export const TIMELINE_ACTIVITY_TYPES = [
  "abort",
  "broadcast-failed",
  "broadcast-finished",
  "escalation-rule-skipped",
  "expire",
  "info",
] as const;
const MAX_ACTIVITIES = 1_000;
const MAX_NAMES = 3;
/** Devices and answers are grouped by the second, later by the minute. @source docs/decisions/0204-scenarios-incidents-and-places.md, Incidents */
const FINE_GROUPING_MS = 300_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** Most notifications in a record. @source docs/decisions/0204-scenarios-incidents-and-places.md, Incidents */
const MAX_MESSAGES = 1_000;

/** Notifications of an incident in order, without previews. */
export function incidentNotifications({ id }: IncidentRow, scope: RowVisibility, store: Store): NotificationRow[] {
  const filters = [
    { field: "incidentId", op: "eq", value: id },
    { field: "draft", op: "eq", value: false },
  ] as const;
  return store.page(notifications, { filters, scope, limit: MAX_MESSAGES, includeTotal: false }).rows;
}

/** All events of an incident in order; devices and people in groups. Yields to the event loop between chunks. */
export async function buildTimeline(
  incident: IncidentRow,
  messages: readonly NotificationRow[],
  { reader, clock }: TimelineDeps,
): Promise<TimelineEntry[]> {
  const entries = activityEntries(reader, incident);
  for (const message of messages) {
    const { id, createdAt, subject, initiatorId } = message;
    const sent = { at: createdAt, notificationId: id, userId: initiatorId, words: subject };
    entries.push(createEntry("message", "sent", sent), ...activityLogEntries(reader, message));
    const groups = new Map<string, TimelineEntry & { names: string[] }>();
    const add = (kind: TimelineEntry["kind"], what: string, at: number, name: string | null): void =>
      addToGroup(groups, { kind, what, at, name, message });
    for (const rows of deliveryChunks(reader, message.pk)) {
      for (const row of rows) for (const [level, at] of deliveryLevelTimes(row)) add("devices", level, at, row.name);
      await yieldToEventLoop(clock);
    }
    for (const rows of personChunks(reader, message.pk)) {
      for (const { answer, answeredAt, name } of rows)
        if (answer && answeredAt) add("answers", answer, answeredAt, name);
      await yieldToEventLoop(clock);
    }
    entries.push(...groups.values());
  }
  return entries.sort((a, b) => a.at - b.at);
}

function createEntry(
  kind: TimelineEntry["kind"],
  what: string,
  more: Pick<TimelineEntry, "at"> & Partial<TimelineEntry>,
): TimelineEntry {
  return { kind, what, notificationId: null, userId: null, count: 1, names: [], words: null, ...more };
}

function activityEntries(reader: StoreReader, { id: incidentId }: IncidentRow): TimelineEntry[] {
  return reader.find(incidentActivities, { incidentId }, MAX_ACTIVITIES).map((step) => {
    const { createdAt: at, notificationId, userId } = step;
    return createEntry("step", step.type, { at, notificationId, userId, words: textOfDetails(step.details) });
  });
}

function activityLogEntries(reader: StoreReader, { id: notificationId, pk }: NotificationRow): TimelineEntry[] {
  const lines = reader.all<{ at: number; type: string; userId: string | null; details: string | null }>(
    `SELECT a.created_at AS at, a.type, u.id AS userId, a.details FROM notification_activities a
     LEFT JOIN users u ON u.pk = a.user_pk
     WHERE a.notification_pk = ? AND a.type IN (SELECT value FROM json_each(?))`,
    pk,
    JSON.stringify(TIMELINE_ACTIVITY_TYPES),
  );
  return lines.map(({ at, type, userId, details }) =>
    createEntry("diary", type, {
      at,
      notificationId,
      userId,
      words: textOfDetails(details === null ? null : JSON.parse(details)),
    }),
  );
}

/** Text for people in the details of a step or log entry. */
function textOfDetails(details: unknown): string | null {
  if (typeof details === "string") return details;
  if (typeof details !== "object" || details === null) return null;
  const { message, detail, subject } = details as Record<string, unknown>;
  return [message, detail, subject].find((words) => typeof words === "string") ?? null;
}

/** Levels that a device reached, with their times. */
function deliveryLevelTimes(row: IncidentDelivery): [level: string, at: number][] {
  const { sentAt, acceptedAt, playingAt, provenAt, endedAt, level } = row;
  const proven = level === "confirmed" ? "confirmed" : "heard";
  const isEnd = DELIVERY_LEVELS.indexOf(level as never) >= DELIVERY_LEVELS.indexOf("failed");
  const times: [string, number | null][] = [
    ["sent", sentAt],
    ["accepted", acceptedAt],
    ["playing", playingAt],
    [proven, provenAt],
    [level, isEnd ? endedAt : null],
  ];
  return times.filter((time): time is [string, number] => time[1] !== null);
}

interface TimelineEvent {
  kind: TimelineEntry["kind"];
  what: string;
  at: number;
  name: string | null;
  message: NotificationRow;
}

function addToGroup(
  groups: Map<string, TimelineEntry & { names: string[] }>,
  { kind, what, at, name, message }: TimelineEvent,
) {
  const width = at - message.createdAt < FINE_GROUPING_MS ? SECOND_MS : MINUTE_MS;
  const key = `${kind} ${width} ${Math.floor(at / width)} ${what}`;
  const group = groups.get(key) ?? {
    ...createEntry(kind, what, { at, notificationId: message.id, count: 0 }),
    names: [],
  };
  groups.set(key, group);
  group.at = Math.min(group.at, at);
  group.count += 1;
  if (name !== null && group.names.length < MAX_NAMES) group.names.push(name);
}
