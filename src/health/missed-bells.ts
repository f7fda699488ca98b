import type { Clock } from "../base/clock.ts";
import type { Reader } from "../store/store.ts";
import type { HealthSource } from "./health.ts";

/** own choice: that a bell was missed is told for so long; the activity that says so stays. */
const TOLD_MS = 3_600_000;
const MOST_TOLD = 20;

/** A bell as the activity about it names it. */
interface Bell {
  localDate?: string;
  localTime?: string;
}

/** One bell, or how many from the first to the last; why, in words. */
interface MissedValue extends Bell {
  rings?: number;
  first?: Bell;
  last?: Bell;
  reason?: string;
}

/** What the appliance's activities of the last hour say of bells that did not ring. @source decisions.md 13 */
export function missedBells(reader: Reader, clock: Clock, endpointId: () => string): HealthSource {
  return () => {
    const lines = reader.all<{ id: string; at: number; value: string | null }>(
      `SELECT a.id, a.created_at AS at, a.value FROM endpoint_activities a JOIN endpoints e ON e.pk = a.endpoint_pk
       WHERE e.id = ? AND a.type = 'scheduled-broadcast-skipped' AND a.severity = 'error'
       ORDER BY a.pk DESC LIMIT ${MOST_TOLD}`,
      endpointId(),
    );
    const recent = lines.filter(({ at }) => at > clock.now() - TOLD_MS);
    return recent.map(({ id, value }) => ({ level: "red", code: `bells:${id}`, reason: wordsOf(value) }));
  };
}

function wordsOf(value: string | null): string {
  const { rings, first, last, reason, ...bell } = JSON.parse(value ?? "{}") as MissedValue;
  const what = rings
    ? `${rings} bells of ${momentOf(first)} to ${momentOf(last)} were missed.`
    : `The bell of ${momentOf(bell)} was missed.`;
  return reason ? `${what} ${reason}` : what;
}

function momentOf({ localDate = "", localTime = "" }: Bell = {}): string {
  return `${localTime.slice(0, 5)} on ${localDate}`;
}
