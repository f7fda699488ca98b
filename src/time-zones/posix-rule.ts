/** The rule after the last transition of a TZif file, as a POSIX TZ string with the extensions of RFC 9636. */
export interface PosixRule {
  /** Seconds that standard time is ahead of UTC. */
  standard: number;
  /** Null without daylight saving time. */
  daylight: { offset: number; start: RuleDate; end: RuleDate } | null;
}

/** A day of a year and the local time on it at which the clocks change, in seconds since midnight (-167 h to 167 h). */
export interface RuleDate {
  time: number;
  /** Days since 1970 of the date in a year. */
  dayOf(year: number): number;
}

const DAY_S = 86_400;
const NAME = "(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)";
const TIME = String.raw`[+-]?\d{1,3}(?::\d{2}){0,2}`;
const DATE = String.raw`(?:J\d{1,3}|\d{1,3}|M\d{1,2}\.\d\.\d)`;
const RULE = new RegExp(
  `^${NAME}(${TIME})(?:${NAME}(${TIME})?(?:,(${DATE})(?:/(${TIME}))?,(${DATE})(?:/(${TIME}))?)?)?$`,
);
const HAS_DAYLIGHT = new RegExp(`^${NAME}${TIME}${NAME}`);
const MAX_OFFSET_S = 26 * 3_600;
const MAX_TIME_S = 168 * 3_600;
/** The rule of a name of daylight saving time without dates. @source POSIX.1, TZ: left to the implementation; RFC 9636 has no default */
const DEFAULT_DATES = ["M3.2.0", "M11.1.0"] as const;

/** Returns null for an invalid string. @source RFC 8536, section 3.3; RFC 9636, section 3.3.1 */
export function parsePosixRule(text: string): PosixRule | null {
  const match = RULE.exec(text);
  if (!match) return null;
  const [, standardText = "", daylightText, startText, startTime, endText, endTime] = match;
  const standard = -parseTime(standardText);
  if (Math.abs(standard) > MAX_OFFSET_S) return null;
  if (!HAS_DAYLIGHT.test(text)) return { standard, daylight: null };
  const offset = daylightText === undefined ? standard + 3_600 : -parseTime(daylightText);
  const start = parseDate(startText ?? DEFAULT_DATES[0], startTime);
  const end = parseDate(endText ?? DEFAULT_DATES[1], endTime);
  if (Math.abs(offset) > MAX_OFFSET_S || !start || !end) return null;
  return { standard, daylight: { offset, start, end } };
}

/**
 * Changes of the clocks of some years, sorted by time in epoch seconds; empty without daylight saving time. At most two a
 * year; a rule that is always daylight saving time changes twice at one instant.
 */
export function ruleChanges(
  { standard, daylight }: PosixRule,
  firstYear: number,
  lastYear: number,
): { at: number; offset: number }[] {
  if (!daylight) return [];
  const changes: { at: number; offset: number }[] = [];
  for (let year = firstYear; year <= lastYear; year++) {
    const { start, end, offset } = daylight;
    const ofYear = [
      { at: start.dayOf(year) * DAY_S + start.time - standard, offset },
      { at: end.dayOf(year) * DAY_S + end.time - offset, offset: standard },
    ];
    changes.push(...ofYear.sort((one, other) => one.at - other.at));
  }
  // The sort is stable: of two changes at one instant the one of the later year is the last.
  return changes.sort((one, other) => one.at - other.at);
}

function parseTime(text: string): number {
  const sign = text.startsWith("-") ? -1 : 1;
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(/^[+-]/, "").split(":").map(Number);
  return sign * (hours * 3_600 + minutes * 60 + seconds);
}

function parseDate(text: string, time = "2"): RuleDate | null {
  const seconds = parseTime(time);
  if (Math.abs(seconds) >= MAX_TIME_S) return null;
  const dayOf = text.startsWith("M") ? weekdayOfMonth(text) : dayOfYear(text);
  return dayOf && { time: seconds, dayOf };
}

/** `Jn`: 1 to 365, 29 February never counts; `n`: 0 to 365, it counts. */
function dayOfYear(text: string): RuleDate["dayOf"] | null {
  const isJulian = text.startsWith("J");
  const number = Number(text.replace("J", ""));
  if (number > 365 || (isJulian && number === 0)) return null;
  if (!isJulian) return (year) => dayNumber(year, 0, 1) + number;
  return (year) => dayNumber(year, 0, 1) + number - 1 + Number(number > 59 && isLeapYear(year));
}

/** `Mm.w.d`: weekday d (0 = Sunday) of week w of month m; week 5 is the last one. */
function weekdayOfMonth(text: string): RuleDate["dayOf"] | null {
  const [month = 0, week = 0, weekday = 0] = text.slice(1).split(".").map(Number);
  if (month < 1 || month > 12 || week < 1 || week > 5 || weekday > 6) return null;
  return (year) => {
    const first = dayNumber(year, month - 1, 1);
    // 1970-01-01 was a Thursday.
    const day = first + ((((weekday - first - 4) % 7) + 7) % 7) + (week - 1) * 7;
    return day < dayNumber(year, month, 1) ? day : day - 7;
  };
}

function dayNumber(year: number, month: number, day: number): number {
  return Date.UTC(year, month, day) / (DAY_S * 1_000);
}

function isLeapYear(year: number): boolean {
  return dayNumber(year, 2, 1) - dayNumber(year, 1, 1) === 29;
}
