import type { Clock } from "../../lib/clock.ts";
import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import type { StoreReader } from "../../store/store.ts";
import type { HealthSource } from "./health.ts";

/** A missed bell is reported by the health for this time; its activity stays. */
const REPORT_DURATION_MS = 3_600_000;
const MAX_REPORTED = 20;

/** Devices that rang offline have reconnected and reported within this time. */
const RECONNECT_GRACE_MS = 30_000;

/** A bell as named in the activity. */
interface MissedBell {
  ringId?: string;
  at?: string;
  localDate?: string;
  localTime?: string;
}

/** Devices that can ring while the appliance is offline. */
export interface OfflineRingingDevices {
  /** Whether there are such devices. */
  exist(): boolean;
  /** For each range: whether all its rings were played offline. */
  compensated(ranges: readonly MissedRingRange[]): boolean[];
}

/** Rings between two instants (epoch ms); with `ringId`, only that one. */
export interface MissedRingRange {
  fromMs: number;
  toMs: number;
  ringId: string | null;
}

/** One bell, or a number of bells from the first to the last; `reason` as text. */
interface MissedValue extends MissedBell {
  rings?: number;
  first?: MissedBell;
  last?: MissedBell;
  reason?: string;
}

/**
 * Bells of the last hour that no device rang, from the appliance's activities.
 * @source docs/decisions/0015-bell-engine.md
 */
export function missedBellReasons(
  reader: StoreReader,
  clock: Clock,
  endpointId: () => string,
  offlineRinging: OfflineRingingDevices = { exist: () => false, compensated: (ranges) => ranges.map(() => false) },
): HealthSource {
  return () => {
    const lines = reader.all<{ id: string; at: number; value: string | null }>(
      `SELECT a.id, a.created_at AS at, a.value FROM endpoint_activities a JOIN endpoints e ON e.pk = a.endpoint_pk
       WHERE e.id = ? AND a.type = 'scheduled-broadcast-skipped' AND a.severity = 'error'
       ORDER BY a.pk DESC LIMIT ${MAX_REPORTED}`,
      endpointId(),
    );
    const recent = lines.filter(({ at }) => at > clock.now() - REPORT_DURATION_MS);
    if (recent.length === 0) return [];
    const isNew = ({ at }: { at: number }): boolean => at > clock.now() - RECONNECT_GRACE_MS;
    const mayBeReported = recent.some(isNew) && offlineRinging.exist();
    const values = recent.map(({ value }) => JSON.parse(value ?? "{}") as MissedValue);
    const played = offlineRinging.compensated(values.map(ringRangeOf));
    return recent.flatMap((line, index) => {
      if ((mayBeReported && isNew(line)) || played[index]) return [];
      return [{ level: "red", code: `bells:${line.id}`, reason: describeMissed(values[index] as MissedValue) }];
    });
  };
}

/** An empty range if the activity does not identify the ring. */
function ringRangeOf({ rings, first, last, ringId, at }: MissedValue): MissedRingRange {
  const [from = 0, to = 0] = (rings ? [first?.at, last?.at] : [at, at]).map((moment) => Date.parse(moment ?? ""));
  if (Number.isNaN(from) || Number.isNaN(to)) return { fromMs: 0, toMs: -1_000, ringId: null };
  return { fromMs: from, toMs: to, ringId: rings ? null : (ringId ?? null) };
}

function describeMissed({ rings, first, last, reason, ...bell }: MissedValue): Sentence {
  if (rings) {
    const range = { rings, first: localMoment(first), last: localMoment(last) };
    return reason
      ? sentence("health.bells-missed-because", { ...range, reason })
      : sentence("health.bells-missed", range);
  }
  const { localDate = "", localTime = "" } = bell;
  const moment = { time: localTime.slice(0, 5), date: localDate };
  return reason
    ? sentence("health.bell-missed-because", { ...moment, reason })
    : sentence("health.bell-missed", moment);
}

function localMoment({ localDate = "", localTime = "" }: MissedBell = {}): string {
  return `${localTime.slice(0, 5)} on ${localDate}`;
}
