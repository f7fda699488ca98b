import type { Clock } from "../base/clock.ts";
import type { Reader } from "../store/store.ts";
import type { HealthSource } from "./health.ts";

/** own choice: that a bell was missed is told for so long; the activity that says so stays. */
const TOLD_MS = 3_600_000;
const MOST_TOLD = 20;

/** Devices that rang without the appliance are back, and have said so, within this time. own choice */
const BACK_WITHIN_MS = 30_000;

/** A bell as the activity about it names it. */
interface Bell {
  ringId?: string;
  at?: string;
  localDate?: string;
  localTime?: string;
}

/** What is known of devices that ring without the appliance. */
export interface LoneDevices {
  /** There are such devices. */
  areThere(): boolean;
  /** For each: all of these rings were made up for. */
  havePlayed(asked: readonly AskedRings[]): boolean[];
}

/** Rings between two instants (epoch ms), or the one of them with this id. */
export interface AskedRings {
  fromMs: number;
  toMs: number;
  ringId: string | null;
}

/** One bell, or how many from the first to the last; why, in words. */
interface MissedValue extends Bell {
  rings?: number;
  first?: Bell;
  last?: Bell;
  reason?: string;
}

/**
 * What the appliance's activities of the last hour say of bells that did not ring, on no device either.
 * @source decisions.md 13
 */
export function missedBells(
  reader: Reader,
  clock: Clock,
  endpointId: () => string,
  lone: LoneDevices = { areThere: () => false, havePlayed: (asked) => asked.map(() => false) },
): HealthSource {
  return () => {
    const lines = reader.all<{ id: string; at: number; value: string | null }>(
      `SELECT a.id, a.created_at AS at, a.value FROM endpoint_activities a JOIN endpoints e ON e.pk = a.endpoint_pk
       WHERE e.id = ? AND a.type = 'scheduled-broadcast-skipped' AND a.severity = 'error'
       ORDER BY a.pk DESC LIMIT ${MOST_TOLD}`,
      endpointId(),
    );
    const recent = lines.filter(({ at }) => at > clock.now() - TOLD_MS);
    if (recent.length === 0) return [];
    const isNew = ({ at }: { at: number }): boolean => at > clock.now() - BACK_WITHIN_MS;
    const mayBeTold = recent.some(isNew) && lone.areThere();
    const values = recent.map(({ value }) => JSON.parse(value ?? "{}") as MissedValue);
    const played = lone.havePlayed(values.map(ringsOf));
    return recent.flatMap((line, at) => {
      if ((mayBeTold && isNew(line)) || played[at]) return [];
      return [{ level: "red", code: `bells:${line.id}`, reason: wordsOf(values[at] as MissedValue) }];
    });
  };
}

/** No ring where the activity does not say of which it is. */
function ringsOf({ rings, first, last, ringId, at }: MissedValue): AskedRings {
  const [from = 0, to = 0] = (rings ? [first?.at, last?.at] : [at, at]).map((moment) => Date.parse(moment ?? ""));
  if (Number.isNaN(from) || Number.isNaN(to)) return { fromMs: 0, toMs: -1_000, ringId: null };
  return { fromMs: from, toMs: to, ringId: rings ? null : (ringId ?? null) };
}

function wordsOf({ rings, first, last, reason, ...bell }: MissedValue): string {
  const what = rings
    ? `${rings} bells of ${momentOf(first)} to ${momentOf(last)} were missed.`
    : `The bell of ${momentOf(bell)} was missed.`;
  return reason ? `${what} ${reason}` : what;
}

function momentOf({ localDate = "", localTime = "" }: Bell = {}): string {
  return `${localTime.slice(0, 5)} on ${localDate}`;
}
