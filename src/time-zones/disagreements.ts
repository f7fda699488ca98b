import type { Clock } from "../lib/clock.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
import { TIME_ZONE_ALIASES, TIME_ZONES } from "../resources/bells/time-zones.ts";
import type { OffsetTable } from "./offset-zone.ts";
import type { ZoneData } from "./zone-data.ts";
import type { ZoneSourceKind } from "./zone-sources.ts";

/** How a source differs from the data in use. */
export interface SourceDisagreement {
  kind: ZoneSourceKind;
  version: string | null;
  /** Epoch ms; null if unknown. */
  arrivedAt: number | null;
  isInUse: boolean;
  /** Names with other offsets, sorted. */
  differs: string[];
  /** Names that the source lacks, sorted. */
  lacks: string[];
}

const YEARS_BEFORE = 1;
const YEARS_AFTER = 3;

/** Compares every source with the data in use, for all names of schedules, from last year to the year after next. */
export async function compareSources(data: ZoneData, clock: Clock): Promise<SourceDisagreement[]> {
  const year = new Date(clock.now()).getUTCFullYear();
  const [fromMs, toMs] = [Date.UTC(year - YEARS_BEFORE, 0, 1), Date.UTC(year + YEARS_AFTER, 0, 1)];
  const names = [...new Set(TIME_ZONES.map((name) => TIME_ZONE_ALIASES[name] ?? name))].sort();
  const found: SourceDisagreement[] = [];
  const slice = createTimeSlice(clock);
  for (const [index, { kind, version, arrivedAt, zone }] of data.sources().entries()) {
    const differs: string[] = [];
    const lacks: string[] = [];
    for (const name of names) {
      const [own, inUse] = [zone(name), data.zone(name)];
      if (!own) lacks.push(name);
      else if (own !== inUse && inUse && !isSame(own.transitions(fromMs, toMs), inUse.transitions(fromMs, toMs)))
        differs.push(name);
      if (slice.isOver()) await slice.next();
    }
    found.push({ kind, version, arrivedAt, isInUse: index === 0, differs, lacks });
  }
  return found;
}

/** `compareSources`, which takes seconds of processor time, once per version of the data and year. */
export function createSourceComparison(data: ZoneData, clock: Clock): () => Promise<SourceDisagreement[]> {
  let known: { key: string; found: Promise<SourceDisagreement[]> } | null = null;
  return () => {
    const key = `${data.revision} ${new Date(clock.now()).getUTCFullYear()}`;
    if (known?.key !== key) known = { key, found: compareSources(data, clock) };
    return known.found;
  };
}

function isSame(one: OffsetTable, other: OffsetTable): boolean {
  return one.starts.join() === other.starts.join() && one.offsets.join() === other.offsets.join();
}
