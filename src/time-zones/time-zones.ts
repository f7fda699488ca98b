import { DAY_MS } from "../lib/durations.ts";
import { BugError } from "../lib/errors.ts";
import { isTimeZone, TIME_ZONE_ALIASES } from "../resources/bells/time-zones.ts";
import type { OffsetZone } from "./offset-zone.ts";

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

/** Time zones by name; each is compiled once per version of the data, in whole years on demand. */
export interface TimeZones {
  /** Throws BugError for a name that `isTimeZone` rejects. */
  of(name: string): TimeZone;
}

/** Where zones come from; `revision` changes with the data. */
export interface ZoneLookup {
  readonly revision: number;
  /** Null for a name that no source knows. */
  zone(name: string): OffsetZone | null;
}

/** Upper bound of an offset, including a skipped day. */
const MAX_OFFSET_MS = 2 * DAY_MS;

/** UTC only, for dates that do not depend on a zone. */
export const UTC_ONLY: TimeZones = {
  of: () => ({ offsetAt: () => 0, offsetOfDay: () => 0, instantOf: (localMs) => localMs }),
};

export function createTimeZones(data: ZoneLookup): TimeZones {
  const compiled = new Map<string, TimeZone>();
  let { revision } = data;
  return {
    of(name) {
      if (revision !== data.revision) compiled.clear();
      revision = data.revision;
      const meaning = TIME_ZONE_ALIASES[name] ?? name;
      const known = compiled.get(meaning);
      if (known) return known;
      const source = isTimeZone(name) ? data.zone(meaning) : null;
      if (!source) throw new BugError("Unknown time zone.", { name });
      const zone = compileZone((from, to) => source.transitions(from, to));
      compiled.set(meaning, zone);
      return zone;
    },
  };
}

/** Compiles a zone from its transitions. */
export function compileZone(transitions: OffsetZone["transitions"]): TimeZone {
  // `offsets[i]` applies from the instant `starts[i]`; the first one applies before it, too.
  let starts: number[] = [];
  let offsets: number[] = [];
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;

  const ensureCompiled = (localMs: number): void => {
    if (localMs - MAX_OFFSET_MS >= from && localMs + MAX_OFFSET_MS < to) return;
    from = Math.min(from, yearStart(localMs - MAX_OFFSET_MS, 0));
    to = Math.max(to, yearStart(localMs + MAX_OFFSET_MS, 1));
    ({ starts, offsets } = transitions(from, to));
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
