import alarmMutes from "../resources/alarms/alarm-mutes.ts";
import { ALARM_STATUSES } from "../resources/alarms/alarm-types.ts";
import type { RowOf } from "../schema/resource.ts";
import type { StoreReader } from "../store/store.ts";

/** Scope of a mute; null matches everything. */
export type MuteRule = Pick<RowOf<typeof alarmMutes>, "endpointId" | "reason">;

/** An alarm event whose actions may be muted. */
interface MutableEvent {
  endpointId: string | null;
  reasons: readonly string[];
}

const MAX_MUTES = 100;

/** True if the alarm is muted or one of its mutes matches, so that its actions must not run. */
export function isMuted(
  reader: StoreReader,
  { alarmId, now, ...event }: MutableEvent & { alarmId: string; now: number },
): boolean {
  if (reader.one("SELECT 1 FROM alarms WHERE id = ? AND muted = 1", alarmId)) return true;
  const mutes = reader.find(alarmMutes, { alarmId }, MAX_MUTES);
  return mutes.some((mute) => (mute.until === null || mute.until > now) && matchesMute(mute, event));
}

function matchesMute({ endpointId, reason }: MuteRule, event: MutableEvent): boolean {
  if (endpointId !== null && endpointId !== event.endpointId) return false;
  if (reason === null) return true;
  const text = reason.toLowerCase();
  return event.reasons.length > 0 && event.reasons.every((each) => each.toLowerCase().includes(text));
}

/** Effect that a mute would have had. */
export interface MutePreview {
  /** Matching events of the last 30 days, newest first, at most 100. Times are epoch ms. */
  events: { id: string; status: string; createdAt: number; reasons: string[]; actions: number }[];
  /** Number of matching events. */
  total: number;
  /** Number of notifications that would not have been sent. */
  withheld: number;
}

const LOOKBACK_MS = 30 * 24 * 3_600_000;
const MAX_LISTED = 100;
const MAX_EVENTS_SCANNED = 5_000;

/** Evaluates past events with the current actions. */
export function previewMute(reader: StoreReader, alarmId: string, rule: MuteRule, now: number): MutePreview {
  const actions = new Map<string, number>(
    ALARM_STATUSES.map((status) => [
      status,
      reader.one<{ n: number }>(
        `SELECT COUNT(*) AS n FROM alarm_actions x JOIN alarms a ON a.pk = x.alarm_pk
         WHERE a.id = ? AND x.trigger_on_status = ?`,
        alarmId,
        status,
      )?.n ?? 0,
    ]),
  );
  const lines = reader.all<{ id: string; status: string; at: number; reasons: string | null; endpoint: string | null }>(
    `SELECT v.id, v.status, v.created_at AS at, v.reasons, e.id AS endpoint FROM alarm_events v
     JOIN alarms a ON a.pk = v.alarm_pk LEFT JOIN endpoints e ON e.pk = v.endpoint_pk
     WHERE a.id = ? AND v.created_at > ? ORDER BY v.pk DESC LIMIT ${MAX_EVENTS_SCANNED}`,
    alarmId,
    now - LOOKBACK_MS,
  );
  const events = lines
    .map(({ id, status, at, reasons, endpoint }) => ({
      ...{ id, status, createdAt: at, endpointId: endpoint, actions: actions.get(status) ?? 0 },
      reasons: JSON.parse(reasons ?? "[]") as string[],
    }))
    .filter((event) => matchesMute(rule, event));
  return {
    events: events.slice(0, MAX_LISTED).map(({ endpointId: _endpoint, ...event }) => event),
    total: events.length,
    withheld: events.reduce((sum, event) => sum + event.actions, 0),
  };
}
