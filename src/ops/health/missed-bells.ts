import type { Clock } from "../../lib/clock.ts";
import type { StoreReader } from "../../store/store.ts";
import type { HealthSource } from "./health.ts";

/** own choice: that a bell was missed is told for so long; the activity that says so stays. */
const REPORT_DURATION_MS = 3_600_000;
const MAX_REPORTED = 20;

/** Devices that rang without the appliance are back, and have said so, within this time. own choice */
const RECONNECT_GRACE_MS = 30_000;

/** A bell as the activity about it names it. */
interface MissedBell {
  ringId?: string;
  at?: string;
  localDate?: string;
  localTime?: string;
}

/** What is known of devices that ring without the appliance. */
export interface OfflineRingingDevices {
  /** There are such devices. */
  exist(): boolean;
  /** For each: all of these rings were made up for. */
  compensated(asked: readonly MissedRingRange[]): boolean[];
}

/** Rings between two instants (epoch ms), or the one of them with this id. */
export interface MissedRingRange {
  fromMs: number;
  toMs: number;
  ringId: string | null;
}

/** One bell, or how many from the first to the last; why, in words. */
interface MissedValue extends MissedBell {
  rings?: number;
  first?: MissedBell;
  last?: MissedBell;
  reason?: string;
}

/**
 * What the appliance's activities of the last hour say of bells that did not ring, on no device either.
 * @source decisions.md 13
 */
export function missedBellReasons(
  reader: StoreReader,
  clock: Clock,
  endpointId: () => string,
  lone: OfflineRingingDevices = { exist: () => false, compensated: (asked) => asked.map(() => false) },
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
    const mayBeTold = recent.some(isNew) && lone.exist();
    const values = recent.map(({ value }) => JSON.parse(value ?? "{}") as MissedValue);
    const played = lone.compensated(values.map(ringRangeOf));
    return recent.flatMap((line, at) => {
      if ((mayBeTold && isNew(line)) || played[at]) return [];
      return [{ level: "red", code: `bells:${line.id}`, reason: describeMissed(values[at] as MissedValue) }];
    });
  };
}

/** No ring where the activity does not say of which it is. */
function ringRangeOf({ rings, first, last, ringId, at }: MissedValue): MissedRingRange {
  const [from = 0, to = 0] = (rings ? [first?.at, last?.at] : [at, at]).map((moment) => Date.parse(moment ?? ""));
  if (Number.isNaN(from) || Number.isNaN(to)) return { fromMs: 0, toMs: -1_000, ringId: null };
  return { fromMs: from, toMs: to, ringId: rings ? null : (ringId ?? null) };
}

function describeMissed({ rings, first, last, reason, ...bell }: MissedValue): string {
  const what = rings
    ? `${rings} bells of ${localMoment(first)} to ${localMoment(last)} were missed.`
    : `The bell of ${localMoment(bell)} was missed.`;
  return reason ? `${what} ${reason}` : what;
}

function localMoment({ localDate = "", localTime = "" }: MissedBell = {}): string {
  return `${localTime.slice(0, 5)} on ${localDate}`;
}
