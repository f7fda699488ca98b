import type { Clock } from "../../lib/clock.ts";
import { stagesBeforeSql } from "../../resources/notifications/pipeline-stages.ts";
import type { StoreReader } from "../../store/store.ts";
import type { HealthReason, HealthSource } from "./health.ts";

/** own choice: a message is on its way to the devices within seconds, however many they are. */
const STUCK_AFTER_MS = 30_000;
/** own choice */
const MAX_WAITING_WEBHOOKS = 1_000;

/** Work that is not done yet. */
export interface QueueLengths {
  /** Messages that are not settled. */
  broadcastsUnderWay: number;
  /** Actions of alarms that are still to be taken. */
  alarmActionsWaiting: number;
  /** Calls of triggers that are still to be made. */
  webhooksWaiting: number;
}

/** How much work waits now. */
export function queueLengths(reader: StoreReader): QueueLengths {
  const lengths = reader.one<{ broadcastsUnderWay: number; alarmActionsWaiting: number; webhooksWaiting: number }>(
    `SELECT (SELECT COUNT(*) FROM notifications
        WHERE stage IN (${stagesBeforeSql("settle")})) AS broadcastsUnderWay,
      (SELECT COUNT(*) FROM alarm_pending_actions) AS alarmActionsWaiting,
      (SELECT COUNT(*) FROM trigger_deliveries WHERE state = 'pending') AS webhooksWaiting`,
  );
  return lengths ?? { broadcastsUnderWay: 0, alarmActionsWaiting: 0, webhooksWaiting: 0 };
}

/** Work that piles up: messages that do not get to their devices, and calls of triggers. */
export function queueHealthReasons(reader: StoreReader, clock: Clock): HealthSource {
  return () => {
    const reasons: HealthReason[] = [];
    const stuck = count(
      reader,
      `SELECT COUNT(*) AS n FROM notifications
       WHERE stage IN (${stagesBeforeSql("deliver")}) AND stage_at < ?`,
      clock.now() - STUCK_AFTER_MS,
    );
    if (stuck > 0) {
      const reason = `${stuck} messages have been waiting for more than ${STUCK_AFTER_MS / 1_000} s to be sent.`;
      reasons.push({ level: "red", code: "queue:messages", reason });
    }
    const sql = `SELECT COUNT(*) AS n FROM (SELECT 1 FROM trigger_deliveries WHERE state = 'pending' LIMIT ?)`;
    if (count(reader, sql, MAX_WAITING_WEBHOOKS) === MAX_WAITING_WEBHOOKS) {
      const reason = `${MAX_WAITING_WEBHOOKS} calls of webhooks or more wait for their receivers.`;
      reasons.push({ level: "yellow", code: "queue:webhooks", reason });
    }
    return reasons;
  };
}

function count(reader: StoreReader, sql: string, value: number): number {
  return reader.one<{ n: number }>(sql, value)?.n ?? 0;
}
