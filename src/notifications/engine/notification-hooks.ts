import { BugError, ConflictError } from "../../lib/errors.ts";
import type { SentenceReader } from "../../lib/sentences/registry.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { floorPlansOf } from "../../places/floor-plan.ts";
import incidents from "../../resources/incidents/incidents.ts";
import { NOTIFICATION_ACTIVITY_TYPES } from "../../resources/notifications/notification-activity-types.ts";
import type notifications from "../../resources/notifications/notifications.ts";
import { reachVerdict } from "../../resources/notifications/outcome-counts.ts";
import { progressCounterName } from "../../resources/notifications/progress-fields.ts";
import type { PresentContext, ResourceHooks, StoreReader, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { readServerText } from "../compose/server-text.ts";
import { isoTimeOrNull, serializeForUser } from "../recipients/user-notifications.ts";
import { NOTIFICATION_OWNED_TABLES } from "../schema.ts";
import { findCatchingUp } from "./catch-up.ts";
import { countLevels, outcomesOf, readCounters } from "./counters.ts";
import { isHeld } from "./hold-registry.ts";
import type { NotificationPreview } from "./preview.ts";

/**
 * Hooks of notifications: only the notification service creates them; one in progress cannot be deleted, except by the
 * appliance that holds it; computed fields show the results. A fixed number of queries per page, whatever the number of
 * recipients.
 */
export const notificationHooks: ResourceHooks<typeof notifications> = {
  beforeWrite({ op, before, after }, tx, { actor }) {
    if (op === "delete" && before?.incidentId && tx.get(incidents, before.incidentId)?.legalHold)
      throw new ConflictError(
        sentence("error.the-message-belongs-to-an-incident-under-legal-hold-lift-the-hold-first"),
      );
    if (op === "create" && after?.stage === null)
      throw new BugError("Notifications must be created by the notification service.");
    if (op === "delete" && before && !isFinal(before) && !(isHeld(before) && actor.kind === "system")) {
      throw new ConflictError(sentence("error.the-message-is-still-being-sent-end-it-before-deleting-it"));
    }
  },
  afterWrite({ op, before }, tx) {
    if (op === "delete" && before) deleteRelatedRows(tx, before.pk);
  },
  present(rows, context) {
    const counts = readCounters(
      context.reader,
      rows.map(({ pk }) => pk),
    );
    countLevels(context.reader, counts);
    const options = answersOf(context.reader, rows);
    const previews = previewsOf(rows, context);
    const catchingUp = findCatchingUp(context.reader, rows);
    const own = serializeForUser(rows, context);
    const around = serializeContext(rows, context);
    return rows.map((row, at) => {
      const known = counts.get(row.pk) ?? new Map<string, number>();
      const preview = previews.get(row.pk);
      const responseCounts = answerCounts(options.get(row.pk) ?? [], known);
      const people = preview ? preview.recipientCount : (known.get("recipients") ?? 0);
      return {
        confirmationResults: responseCounts,
        confirmationResponseCounts: responseCounts,
        recipientCount: people,
        confirmableCount: row.confirmationRequestId === null ? 0 : people,
        readCount: known.get("readers") ?? 0,
        smsSent: known.get("activity:sms-sent") ?? 0,
        smsReceived: known.get("activity:sms-received") ?? 0,
        progress: preview ? { ...progressOf(row, known), preview } : progressOf(row, known),
        soundsAt: isoTimeOrNull(row.heldUntil),
        imageMimeType: row.image?.contentType ?? null,
        // A follow-up is offered for everything that was really sent.
        followUpAllowed: !row.draft,
        catchingUp: catchingUp.has(row.pk),
        ...readServerText(row, context.sentences),
        ...around[at],
        ...own[at],
      };
    });
  },
};

/** Origin as requested by the query: the appliance and the floor plan. */
function serializeContext(
  rows: readonly NotificationRow[],
  { reader, query }: PresentContext,
): Record<string, unknown>[] {
  const servers = query.includeServer === true ? serversOf(rows, reader) : null;
  const plans = query.includeFloorPlan === true ? plansOf(rows, reader) : null;
  return rows.map(({ initiatingEndpointId }, at) => ({
    ...(servers ? { server: servers.get(initiatingEndpointId ?? "") ?? null } : {}),
    ...(plans ? { floorPlan: plans[at] } : {}),
  }));
}

function serversOf(rows: readonly NotificationRow[], reader: StoreReader) {
  const found = reader.all<{ id: string; name: string | null }>(
    "SELECT id, name FROM endpoints WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify([...new Set(rows.map(({ initiatingEndpointId }) => initiatingEndpointId))]),
  );
  return new Map(found.map((server) => [server.id, server]));
}

function plansOf(rows: readonly NotificationRow[], reader: StoreReader) {
  const ids = rows.flatMap(({ scenarioNotificationId }) => scenarioNotificationId ?? []);
  const found = reader.all<{ id: string; floorId: string | null; zoneId: string | null }>(
    `SELECT n.id, f.id AS floorId, z.id AS zoneId FROM scenario_notifications n
     LEFT JOIN floors f ON f.pk = n.floor_pk LEFT JOIN zones z ON z.pk = n.zone_pk
     WHERE n.id IN (SELECT value FROM json_each(?))`,
    JSON.stringify([...new Set(ids)]),
  );
  const places = new Map(found.map(({ id, ...place }) => [id, place]));
  return floorPlansOf(
    rows.map(({ scenarioNotificationId }) => places.get(scenarioNotificationId ?? "") ?? {}),
    reader,
  );
}

function deleteRelatedRows(tx: Transaction, pk: number): void {
  for (const { name } of NOTIFICATION_OWNED_TABLES) tx.run(`DELETE FROM ${name} WHERE notification = ?`, pk);
}

/** The options of each notification's confirmation request, by internal key; one query. */
function answersOf(reader: StoreReader, rows: readonly NotificationRow[]): Map<number, string[]> {
  const lines = reader.all<{ pk: number; options: string }>(
    `SELECT n.pk, c.options FROM notifications n JOIN confirmation_requests c ON c.pk = n.confirmation_request_pk
     WHERE n.pk IN (SELECT value FROM json_each(?))`,
    JSON.stringify(rows.map(({ pk }) => pk)),
  );
  return new Map(lines.map(({ pk, options }) => [pk, JSON.parse(options) as string[]]));
}

function answerCounts(options: readonly string[], known: ReadonlyMap<string, number>): Record<string, number> {
  const counts = new Map(options.map((option) => [option, 0]));
  for (const [name, n] of known) if (name.startsWith("answer:") && n > 0) counts.set(name.slice("answer:".length), n);
  return Object.fromEntries(counts);
}

type StoredPreview = Pick<NotificationPreview, "recipientCount" | "notReached" | "offline">;

function previewsOf(
  rows: readonly NotificationRow[],
  { reader, sentences }: PresentContext,
): Map<number, StoredPreview> {
  const drafts = rows.filter(({ draft }) => draft).map(({ pk }) => pk);
  if (drafts.length === 0) return new Map();
  const lines = reader.all<{ pk: number; found: string }>(
    "SELECT notification AS pk, found FROM notification_previews WHERE notification IN (SELECT value FROM json_each(?))",
    JSON.stringify(drafts),
  );
  return new Map(lines.map(({ pk, found }) => [pk, withSentences(JSON.parse(found) as StoredPreview, sentences)]));
}

/** The reasons of a preview by code, beside their texts. */
function withSentences(preview: StoredPreview, sentences: SentenceReader): StoredPreview {
  const add = <T extends { reason: string }>(each: T) => ({ ...each, reasonSentence: sentences.read(each.reason) });
  const { notReached, offline } = preview;
  return {
    ...preview,
    notReached: notReached.map(add),
    offline: { ...offline, devices: offline.devices.map(add) },
  };
}

const COUNTERS: ReadonlyMap<string, string> = new Map(
  NOTIFICATION_ACTIVITY_TYPES.map((type) => [`activity:${type}`, progressCounterName(type)]),
);
const NOTHING_COUNTED: Readonly<Record<string, number>> = Object.fromEntries(
  [...COUNTERS.values()].map((name) => [name, 0]),
);

/**
 * percentComplete, one counter per type of activity, `devices`: number of deliveries per level, `outcomes`: number per
 * outcome, and `verdict`: what these add up to. Complete is
 * everything that is no longer planned, at most 99 % before the message is settled.
 */
function progressOf(row: NotificationRow, known: ReadonlyMap<string, number>): Record<string, unknown> {
  const devices: Record<string, number> = {};
  const outcomes = outcomesOf(known);
  const progress: Record<string, unknown> = {
    percentComplete: 100,
    devices,
    outcomes,
    verdict: reachVerdict(outcomes),
    ...NOTHING_COUNTED,
  };
  let all = 0;
  for (const [name, n] of known) {
    const counter = COUNTERS.get(name);
    if (counter) progress[counter] = n;
    if (!name.startsWith("level:")) continue;
    devices[name.slice("level:".length)] = n;
    all += n;
  }
  const past = all - (devices.planned ?? 0);
  if (row.stage !== "settled") progress.percentComplete = all === 0 ? 0 : Math.min(99, Math.floor((100 * past) / all));
  return progress;
}

function isFinal({ stage }: NotificationRow): boolean {
  return stage === "settled" || stage === "draft";
}
