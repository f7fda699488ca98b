import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import type { Settings } from "../../settings/schema.ts";
import type { Store } from "../../store/store.ts";

/** Kinds of notifications with a retention each; the first that applies counts. */
export const HISTORY_KINDS = ["incidents", "emergencies", "bells", "messages"] as const;
export type HistoryKind = (typeof HISTORY_KINDS)[number];

const KIND_SQL = `CASE WHEN n.incident_pk IS NOT NULL OR n.scenario_notification_pk IS NOT NULL THEN 'incidents'
  WHEN n.priority_level = 0 OR n.priority = 'critical' THEN 'emergencies'
  WHEN n.held_until IS NOT NULL OR n.notification_source IN ('bell-schedule', 'scheduled-notification') THEN 'bells'
  ELSE 'messages' END`;

/** A notification of which something is past its retention. */
export interface DueNotification {
  pk: number;
  id: string;
  createdAt: number;
  kind: HistoryKind;
  /** All details are due, not only the answers. */
  details: boolean;
  /** Its incident is open or under legal hold. */
  isHeld: boolean;
  deliveries: number;
  recipients: number;
}

interface Candidate extends Omit<DueNotification, "details" | "isHeld"> {
  held: number;
  removedAt: number | null;
  answersRemovedAt: number | null;
}

const DAY_MS = 86_400_000;
/** Notifications that one turn of the event loop looks at. */
const PAGE = 100;

const CANDIDATES = `SELECT n.pk, n.id, n.created_at AS createdAt, ${KIND_SQL} AS kind,
    (i.pk IS NOT NULL AND (i.ended_at IS NULL OR i.legal_hold = 1)) AS held,
    r.details_at AS removedAt, r.answers_at AS answersRemovedAt,
    (SELECT coalesce(sum(c.n), 0) FROM notification_counters c
     WHERE c.notification = n.pk AND c.name >= 'level:' AND c.name < 'level;') AS deliveries,
    coalesce((SELECT c.n FROM notification_counters c WHERE c.notification = n.pk AND c.name = 'recipients'), 0) AS recipients
  FROM notifications n LEFT JOIN incidents i ON i.pk = n.incident_pk
    LEFT JOIN notification_removed_details r ON r.notification = n.pk
  WHERE n.created_at < ? AND (n.created_at, n.id) > (?, ?) AND n.stage = 'settled'
  ORDER BY n.created_at, n.id LIMIT ${PAGE}`;

/** Days of a setting; null if the history is kept for ever. */
export function retentionDays(setting: number | "never"): number | null {
  return setting === "never" || setting === 0 ? null : setting;
}

/** Settled notifications with something to remove, oldest first, found in short turns. */
export async function* dueNotifications(
  { store, clock, settings }: { store: Store; clock: Clock; settings: Settings["retention"] },
  now: number,
): AsyncGenerator<DueNotification> {
  const limits = new Map(HISTORY_KINDS.map((kind) => [kind, limitOf(settings[kind], now)]));
  const answersBefore = limitOf(settings.answers, now);
  const newest = Math.max(answersBefore, ...limits.values());
  let [at, id] = [0, ""];
  for (;;) {
    const page = store.all<Candidate & Record<string, string | number | null>>(CANDIDATES, newest, at, id);
    for (const { held, removedAt, answersRemovedAt, ...candidate } of page) {
      const details = removedAt === null && candidate.createdAt < (limits.get(candidate.kind) ?? 0);
      const answers = removedAt === null && answersRemovedAt === null && candidate.createdAt < answersBefore;
      if (details || answers) yield { ...candidate, details, isHeld: held === 1 };
    }
    const last = page.at(-1);
    if (page.length < PAGE || !last) return;
    [at, id] = [last.createdAt, last.id];
    await yieldToEventLoop(clock);
  }
}

/** What was made before this instant is due; nothing is before 0. */
function limitOf(setting: number | "never", now: number): number {
  const days = retentionDays(setting);
  return days === null ? 0 : now - days * DAY_MS;
}

const WATERMARK_KEY = 1;
const DELIVERIES_PER_STEP = 500;

/**
 * An appliance that was restored from a backup sends old deliveries again. Their notifications are due again.
 * @source docs/decisions/0761-retention-of-history.md, Replication
 */
export async function reopenRestoredNotifications({
  store,
  clock,
  signal,
}: {
  store: Store;
  clock: Clock;
  signal: AbortSignal;
}): Promise<void> {
  const newest = store.one<{ pk: number | null }>("SELECT max(pk) AS pk FROM deliveries")?.pk ?? 0;
  let from = store.one<{ pk: number }>("SELECT pk FROM notification_retention_watermark")?.pk ?? newest;
  while (from < newest && !signal.aborted) {
    const upTo = Math.min(newest, from + DELIVERIES_PER_STEP);
    const range = [from, upTo] as const;
    await store.write((tx) => {
      tx.run(
        `DELETE FROM notification_removed_details WHERE notification IN
           (SELECT notification_pk FROM deliveries WHERE pk > ? AND pk <= ?)`,
        ...range,
      );
    }, "normal");
    from = upTo;
    await yieldToEventLoop(clock);
  }
  await store.write((tx) => {
    tx.run("INSERT OR REPLACE INTO notification_retention_watermark (only_one, pk) VALUES (?, ?)", WATERMARK_KEY, from);
  });
}
