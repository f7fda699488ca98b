import type { Clock } from "../base/clock.ts";
import { stagesInSql } from "../resources/broadcasts/stages.ts";
import type { Reader } from "../store/store.ts";
import type { HealthReason, HealthSource } from "./health.ts";

/** own choice: a message is on its way to the devices within seconds, however many they are. */
const STUCK_MS = 30_000;
/** own choice */
const MANY_CALLS = 1_000;

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
export function queueLengths(reader: Reader): QueueLengths {
  const lengths = reader.one<{ broadcastsUnderWay: number; alarmActionsWaiting: number; webhooksWaiting: number }>(
    `SELECT (SELECT COUNT(*) FROM notifications
        WHERE stage IN (${stagesInSql("settle")})) AS broadcastsUnderWay,
      (SELECT COUNT(*) FROM alarm_firings) AS alarmActionsWaiting,
      (SELECT COUNT(*) FROM trigger_deliveries WHERE state = 'pending') AS webhooksWaiting`,
  );
  return lengths ?? { broadcastsUnderWay: 0, alarmActionsWaiting: 0, webhooksWaiting: 0 };
}

/** Work that piles up: messages that do not get to their devices, and calls of triggers. */
export function queueFaults(reader: Reader, clock: Clock): HealthSource {
  return () => {
    const reasons: HealthReason[] = [];
    const stuck = count(
      reader,
      `SELECT COUNT(*) AS n FROM notifications
       WHERE stage IN (${stagesInSql("deliver")}) AND stage_at < ?`,
      clock.now() - STUCK_MS,
    );
    if (stuck > 0) {
      const reason = `${stuck} messages have been waiting for more than ${STUCK_MS / 1_000} s to be sent.`;
      reasons.push({ level: "red", code: "queue:messages", reason });
    }
    const sql = `SELECT COUNT(*) AS n FROM (SELECT 1 FROM trigger_deliveries WHERE state = 'pending' LIMIT ?)`;
    if (count(reader, sql, MANY_CALLS) === MANY_CALLS) {
      const reason = `${MANY_CALLS} calls of webhooks or more wait for their receivers.`;
      reasons.push({ level: "yellow", code: "queue:webhooks", reason });
    }
    return reasons;
  };
}

function count(reader: Reader, sql: string, value: number): number {
  return reader.one<{ n: number }>(sql, value)?.n ?? 0;
}
