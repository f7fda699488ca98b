import type { Clock } from "../../lib/clock.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { isBeforeStageSql } from "../../resources/notifications/pipeline-stages.ts";
import type { StoreReader } from "../../store/store.ts";
import type { HealthReason, HealthSource } from "./health.ts";

/** Messages normally start within seconds, for any number of devices. */
const STUCK_AFTER_MS = 30_000;
/** A backlog of this size is reported. */
const MAX_WAITING_WEBHOOKS = 1_000;

/** Lengths of the work queues. */
export interface QueueLengths {
  /** Messages in progress. */
  broadcastsUnderWay: number;
  /** Pending alarm actions. */
  alarmActionsWaiting: number;
  /** Pending webhook calls. */
  webhooksWaiting: number;
}

export function queueLengths(reader: StoreReader): QueueLengths {
  const lengths = reader.one<{ broadcastsUnderWay: number; alarmActionsWaiting: number; webhooksWaiting: number }>(
    `SELECT (SELECT COUNT(*) FROM notifications
        WHERE ${isBeforeStageSql("settle")}) AS broadcastsUnderWay,
      (SELECT COUNT(*) FROM alarm_pending_actions) AS alarmActionsWaiting,
      (SELECT COUNT(*) FROM trigger_deliveries WHERE state = 'pending') AS webhooksWaiting`,
  );
  return lengths ?? { broadcastsUnderWay: 0, alarmActionsWaiting: 0, webhooksWaiting: 0 };
}

/** Reports a backlog of unsent messages or webhook calls. */
export function queueHealthReasons(reader: StoreReader, clock: Clock): HealthSource {
  return () => {
    const reasons: HealthReason[] = [];
    const stuck = count(
      reader,
      `SELECT COUNT(*) AS n FROM notifications
       WHERE ${isBeforeStageSql("deliver")} AND stage_at < ?`,
      clock.now() - STUCK_AFTER_MS,
    );
    if (stuck > 0) {
      const reason = sentence("health.messages-stuck", { count: stuck, seconds: STUCK_AFTER_MS / 1_000 });
      reasons.push({ level: "red", code: "queue:messages", reason });
    }
    const sql = `SELECT COUNT(*) AS n FROM (SELECT 1 FROM trigger_deliveries WHERE state = 'pending' LIMIT ?)`;
    if (count(reader, sql, MAX_WAITING_WEBHOOKS) === MAX_WAITING_WEBHOOKS) {
      const reason = sentence("health.webhooks-waiting", { calls: MAX_WAITING_WEBHOOKS });
      reasons.push({ level: "yellow", code: "queue:webhooks", reason });
    }
    return reasons;
  };
}

function count(reader: StoreReader, sql: string, value: number): number {
  return reader.one<{ n: number }>(sql, value)?.n ?? 0;
}
