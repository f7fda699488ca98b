import { IANAZone } from "luxon";
import { BugError } from "../lib/errors.ts";
import { isTimeZone, TIME_ZONE_ALIASES } from "../resources/bells/time-zones.ts";

/**
 * DST handling: what happens to a local time that a change of the clocks skips (`gap`) or repeats (`fold`).
 * @source docs/decisions/0009-ring-lists-and-bell-schedules.md, The clock rules
 */
export interface ClockRules {
  /** `ring-at-end`: at the instant at which the DST gap ends. */
  gap: "ring-at-end" | "skip";
  fold: "first" | "second";
}

/** Defaults of the settings `bells.gap` and `bells.fold`. */
export const DEFAULT_CLOCK_RULES: ClockRules = { gap: "ring-at-end", fold: "first" };

/** UTC offsets of one time zone. A local time is the epoch ms at which a UTC clock shows it. */
export interface TimeZone {
  /** Milliseconds that local time is ahead of UTC. */
  offsetAt(ms: number): number;
  /**
   * The instant of a local time in epoch ms; null if the rules skip it. Nothing rings on a date that does not exist (Apia,
   * 2011-12-30).
   */
  instantOf(localMs: number, rules: ClockRules): number | null;
  /** The offset in ms for all local times of the day that begins at `localMs`; NaN if a DST change falls on it. */
  offsetOfDay(localMs: number): number;
}

/** Time zones by name; each is compiled once, in whole years on demand. */
export interface TimeZones {
  /** Throws BugError for a name that `isTimeZone` rejects. */
  of(name: string): TimeZone;
}

export const DAY_MS = 86_400_000;

/** No zone has changed twice within a week since 1970; the test against another implementation verifies this. */
const SAMPLE_INTERVAL_MS = 7 * DAY_MS;

/** Upper bound of an offset, including a skipped day. */
const MAX_OFFSET_MS = 2 * DAY_MS;

export function createTimeZones(): TimeZones {
  const compiled = new Map<string, TimeZone>();
  return {
    of(name) {
      const meaning = TIME_ZONE_ALIASES[name] ?? name;
      const known = compiled.get(meaning);
      if (known) return known;
      if (!isTimeZone(name)) throw new BugError("Unknown time zone.", { name });
      const zone = createTimeZone(meaning);
      compiled.set(meaning, zone);
      return zone;
    },
  };
}

function createTimeZone(name: string): TimeZone {
  const source = IANAZone.create(name);
  const offsetMs = (ms: number): number => source.offset(ms) * 60_000;
  // `offsets[i]` applies from the instant `starts[i]`; the first one applies before it, too.
  let starts: number[] = [];
  let offsets: number[] = [];
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;

  const ensureCompiled = (localMs: number): void => {
    if (localMs - MAX_OFFSET_MS >= from && localMs + MAX_OFFSET_MS < to) return;
    from = Math.min(from, yearStart(localMs - MAX_OFFSET_MS, 0));
    to = Math.max(to, yearStart(localMs + MAX_OFFSET_MS, 1));
    ({ starts, offsets } = compileTransitions(offsetMs, from, to));
  };

  /** The last transition at or before a local time, including one whose gap or fold contains it. */
  const lastTransitionBefore = (localMs: number): number => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((starts[middle] ?? 0) + Math.min(offsets[middle - 1] ?? 0, offsets[middle] ?? 0) <= localMs) low = middle;
      else high = middle - 1;
    }
    return low;
  };

  return {
    offsetAt(ms) {
      ensureCompiled(ms);
      let index = starts.length - 1;
      while (index > 0 && (starts[index] ?? 0) > ms) index--;
      return offsets[index] ?? 0;
    },
    offsetOfDay(localMs) {
      ensureCompiled(localMs);
      const index = lastTransitionBefore(localMs);
      const offset = offsets[index] ?? 0;
      const before = offsets[index - 1] ?? offset;
      if (index > 0 && localMs < (starts[index] ?? 0) + Math.max(before, offset)) return Number.NaN;
      return lastTransitionBefore(localMs + DAY_MS - 1) === index ? offset : Number.NaN;
    },
    instantOf(localMs, rules) {
      ensureCompiled(localMs);
      const index = lastTransitionBefore(localMs);
      const after = offsets[index] ?? 0;
      const before = offsets[index - 1] ?? after;
      const change = starts[index] ?? 0;
      if (index === 0 || localMs >= change + Math.max(before, after)) return localMs - after;
      if (after < before) return localMs - (rules.fold === "first" ? before : after);
      if (rules.gap === "skip" || isSkippedDate(localMs, change + before, change + after)) return null;
      return change;
    },
  };
}

function isSkippedDate(localMs: number, gapStart: number, gapEnd: number): boolean {
  const midnight = Math.floor(localMs / DAY_MS) * DAY_MS;
  return gapStart <= midnight && midnight + DAY_MS <= gapEnd;
}

function yearStart(ms: number, plusYears: number): number {
  return Date.UTC(new Date(ms).getUTCFullYear() + plusYears, 0, 1);
}

function compileTransitions(
  offsetMs: (ms: number) => number,
  from: number,
  to: number,
): { starts: number[]; offsets: number[] } {
  const starts = [from];
  const offsets = [offsetMs(from)];
  for (let before = from; before < to; before += SAMPLE_INTERVAL_MS) {
    const after = Math.min(before + SAMPLE_INTERVAL_MS, to);
    const offset = offsetMs(after);
    if (offset === offsets.at(-1)) continue;
    starts.push(findTransition(offsetMs, before, after));
    offsets.push(offset);
  }
  return { starts, offsets };
}

/** The first instant, to the second, whose offset differs from that of `before`. */
function findTransition(offsetMs: (ms: number) => number, before: number, after: number): number {
  const old = offsetMs(before);
  let low = before / 1_000;
  let high = after / 1_000;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMs(middle * 1_000) === old) low = middle;
    else high = middle;
  }
  return high * 1_000;
}
