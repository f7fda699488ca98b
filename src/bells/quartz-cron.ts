import { Cron } from "croner";
import { sentence } from "../lib/sentences/sentences.ts";

/** Fields of a Quartz cron expression in order, with their ranges. */
const FIELDS = [
  { invalid: "field.the-seconds-are-not-valid", min: 0, max: 59 },
  { invalid: "field.the-minutes-are-not-valid", min: 0, max: 59 },
  { invalid: "field.the-hours-are-not-valid", min: 0, max: 23 },
  { invalid: "field.the-days-of-month-are-not-valid", min: 1, max: 31 },
  {
    invalid: "field.the-months-are-not-valid",
    min: 1,
    max: 12,
    names: "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC",
  },
  // Quartz: Sunday is 1; croner: Sunday is 0.
  { invalid: "field.the-days-of-week-are-not-valid", min: 1, max: 7, names: "SUN MON TUE WED THU FRI SAT" },
  { invalid: "field.the-years-are-not-valid", min: 1970, max: 2099 },
] as const;

type FieldSpec = (typeof FIELDS)[number];

const DAYS_OF_MONTH = 3;
const DAYS_OF_WEEK = 5;

/** A compiled expression: each day of `days` at each of the times. */
export interface QuartzCron {
  /** Fires at midnight of each day, in UTC. */
  days: Pick<Cron, "nextRun">;
  /** Milliseconds after midnight, sorted. */
  times: readonly number[];
}

/**
 * Compiles a Quartz cron expression over local times (as UTC); returns an error message if it is invalid. croner finds the
 * days; it takes 60 µs for each time, which is too long for an expression that fires each minute. The seconds field must be a single value, so that the schedule fires at most once a minute; `L-n` is not
 * supported. @source Quartz CronExpression
 */
export function parseQuartzCron(expression: string): QuartzCron | string {
  const fields = expression.trim().toUpperCase().split(/\s+/);
  if (fields.length < 6 || fields.length > 7)
    return sentence("error.a-cron-expression-must-have-six-fields-or-seven-with-a-year");
  if (!/^\d{1,2}$/.test(fields[0] ?? ""))
    return sentence("error.the-seconds-field-must-be-a-single-value-from-0-to-59");
  const isOpen = (at: number): boolean => fields[at] === "?" || fields[at] === "*";
  if (!isOpen(DAYS_OF_MONTH) && !isOpen(DAYS_OF_WEEK)) {
    return sentence("error.one-of-day-of-month-and-day-of-week-must-be-a-question-mark");
  }
  const translated: string[] = [];
  for (const [at, field] of fields.entries()) {
    const spec = FIELDS[at] as FieldSpec;
    const parts = field.split(",").map((part) => translateField(part, spec, at));
    if (parts.some((word) => word === null)) return sentence(spec.invalid, { given: field });
    translated.push(parts.join(","));
  }
  const [second = 0, minutes = [], hours = []] = [
    Number(translated[0]),
    ...translated.slice(1, 3).map((list) => [...new Set(list.split(",").map(Number))].sort((a, b) => a - b)),
  ] as [number, number[], number[]];
  const times = hours.flatMap((hour) => minutes.map((minute) => ((hour * 60 + minute) * 60 + second) * 1_000));
  try {
    const days = new Cron(["0 0 0", ...translated.slice(3)].join(" "), {
      ...{ timezone: "UTC", paused: true, mode: "6-or-7-parts" },
    });
    return { days, times };
  } catch {
    return sentence("error.invalid-cron-expression");
  }
}

/** Translates one part of a field to croner syntax; null if it is invalid. */
function translateField(part: string, spec: FieldSpec, at: number): string | null {
  if (part === "?") return at === DAYS_OF_MONTH || at === DAYS_OF_WEEK ? "*" : null;
  if (at === DAYS_OF_MONTH && /^(L|LW|([1-9]|[12]\d|3[01])W)$/.test(part)) return part;
  if (at === DAYS_OF_WEEK) {
    const special = /^(\w+?)(L|#[1-5])$/.exec(part);
    const day = special && parseFieldValue(special[1] ?? "", spec);
    if (special && day !== null) return `${day - 1}${special[2] === "L" ? "#L" : special[2]}`;
    if (part === "L") return "6";
  }
  const [range = "", step, ...rest] = part.split("/");
  if (rest.length > 0 || (step !== undefined && !/^[1-9]\d{0,3}$/.test(step))) return null;
  const [from, to, ...more] =
    range === "*" ? [spec.min, spec.max] : range.split("-").map((each) => parseFieldValue(each, spec));
  if (more.length > 0 || from === null || from === undefined || to === null) return null;
  const last = to ?? (step === undefined ? from : spec.max);
  const shift = at === DAYS_OF_WEEK ? 1 : 0;
  return expandRange(from, last, Number(step ?? 1), spec)
    .map((value) => value - shift)
    .join(",");
}

/** Values of a range with a step; a range whose end precedes its start wraps around. */
function expandRange(from: number, to: number, step: number, { min, max }: FieldSpec): number[] {
  const end = to >= from ? to : to + max - min + 1;
  const values: number[] = [];
  for (let value = from; value <= end; value += step) values.push(value > max ? value - max + min - 1 : value);
  return values;
}

function parseFieldValue(text: string, spec: FieldSpec): number | null {
  const named = "names" in spec ? spec.names.split(" ").indexOf(text) : -1;
  if (named >= 0) return named + spec.min;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  return value >= spec.min && value <= spec.max ? value : null;
}
