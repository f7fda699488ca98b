import { yieldToEventLoop } from "../lib/clock.ts";
import type { NotificationRow } from "../notifications/compose/message-builder.ts";
import { countLevels, outcomesOf, readCounters } from "../notifications/engine/counters.ts";
import incidentPlans from "../resources/incidents/incident-plans.ts";
import type { OutcomeCounts } from "../resources/notifications/device-outcomes.ts";
import { sumOutcomes } from "../resources/notifications/outcome-counts.ts";
import sites from "../resources/places/sites.ts";
import type { RowVisibility, Store } from "../store/store.ts";
import { deliveryChunks, type IncidentDelivery, type IncidentPerson, personChunks } from "./incident-outcomes.ts";
import type { IncidentRow } from "./incident-start.ts";
import { buildTimeline, incidentNotifications, type TimelineDeps, type TimelineEntry } from "./incident-timeline.ts";

/** Totals of one notification, or of all of an incident. */
export interface IncidentRecordCounts {
  /** Devices by level. */
  devices: Record<string, number>;
  /** Devices by outcome. */
  outcomes: OutcomeCounts;
  recipients: number;
  readers: number;
  /** People by answer. */
  answers: Record<string, number>;
  /** People who were asked and did not answer. */
  silent: number;
}

/** A notification in a record. */
export interface IncidentRecordMessage extends IncidentRecordCounts {
  row: NotificationRow;
  /** True if the notification requested answers. */
  asked: boolean;
}

/** Head of a record; times in epoch ms. */
export interface IncidentRecordHead {
  incident: IncidentRow;
  plan: string | null;
  site: string | null;
  madeAt: number;
  total: IncidentRecordCounts;
  messages: readonly IncidentRecordMessage[];
  timeline: readonly TimelineEntry[];
  /** Names of the users in the record, by id. */
  users: ReadonlyMap<string, string>;
}

/** A chunk of a record: its head, then for each notification its head, devices and people. */
export type IncidentRecordChunk =
  | { kind: "head"; head: IncidentRecordHead }
  | { kind: "message"; message: IncidentRecordMessage }
  | { kind: "devices"; rows: readonly IncidentDelivery[] }
  | { kind: "people"; rows: readonly IncidentPerson[] };

/**
 * After-action record of an incident: who received what and when, and who answered. Streams in chunks and yields to the event
 * loop between them, so that any number of devices does not block other work; notifications that `sight` does not include are
 * omitted.
 */
export async function* buildIncidentRecord(
  incident: IncidentRow,
  visibility: RowVisibility,
  { reader, clock }: TimelineDeps & { reader: Store },
): AsyncGenerator<IncidentRecordChunk> {
  const rows = incidentNotifications(incident, visibility, reader);
  const timeline = await buildTimeline(incident, rows, { reader, clock });
  const messages = addCounts(reader, rows);
  const { incidentPlanId, siteId, startedById } = incident;
  const ids = [startedById, ...rows.map(({ initiatorId }) => initiatorId), ...timeline.map(({ userId }) => userId)];
  const head: IncidentRecordHead = {
    incident,
    plan: incidentPlanId ? (reader.get(incidentPlans, incidentPlanId)?.name ?? null) : null,
    site: siteId ? (reader.get(sites, siteId)?.name ?? null) : null,
    madeAt: clock.now(),
    total: sumCounts(messages),
    messages,
    timeline,
    users: userNamesById(reader, ids),
  };
  yield { kind: "head", head };
  for (const message of messages) {
    yield { kind: "message", message };
    for (const devices of deliveryChunks(reader, message.row.pk)) {
      await yieldToEventLoop(clock);
      yield { kind: "devices", rows: devices };
    }
    for (const people of personChunks(reader, message.row.pk)) {
      await yieldToEventLoop(clock);
      yield { kind: "people", rows: people };
    }
  }
}

function addCounts(store: Store, rows: readonly NotificationRow[]): IncidentRecordMessage[] {
  const counts = readCounters(
    store,
    rows.map(({ pk }) => pk),
  );
  countLevels(store, counts);
  return rows.map((row) => {
    const known = counts.get(row.pk) ?? new Map<string, number>();
    const recipients = known.get("recipients") ?? 0;
    const answers = countsWithPrefix("answer:", known);
    const asked = row.confirmationRequestId !== null;
    const silent = asked ? recipients - Object.values(answers).reduce((sum, n) => sum + n, 0) : 0;
    const devices = countsWithPrefix("level:", known);
    const outcomes = outcomesOf(known);
    return { row, asked, devices, outcomes, recipients, readers: known.get("readers") ?? 0, answers, silent };
  });
}

function countsWithPrefix(prefix: string, known: ReadonlyMap<string, number>): Record<string, number> {
  const found = [...known].filter(([name, n]) => name.startsWith(prefix) && n > 0);
  return Object.fromEntries(found.map(([name, n]) => [name.slice(prefix.length), n]));
}

function sumCounts(all: readonly IncidentRecordCounts[]): IncidentRecordCounts {
  const outcomes = sumOutcomes(all.map((counts) => counts.outcomes));
  const total: IncidentRecordCounts = { devices: {}, outcomes, recipients: 0, readers: 0, answers: {}, silent: 0 };
  for (const { devices, answers, recipients, readers, silent } of all) {
    for (const [level, n] of Object.entries(devices)) total.devices[level] = (total.devices[level] ?? 0) + n;
    for (const [answer, n] of Object.entries(answers)) total.answers[answer] = (total.answers[answer] ?? 0) + n;
    total.recipients += recipients;
    total.readers += readers;
    total.silent += silent;
  }
  return total;
}

export function userNamesById(store: Store, ids: readonly (string | null)[]): ReadonlyMap<string, string> {
  const known = [...new Set(ids.filter((id) => id !== null))];
  const rows = store.all<{ id: string; name: string | null }>(
    "SELECT id, name FROM users WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify(known),
  );
  return new Map(rows.map(({ id, name }) => [id, name ?? ""]));
}
