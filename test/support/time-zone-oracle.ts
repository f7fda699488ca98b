import { execFile } from "node:child_process";
import { once } from "node:events";
import { TIME_ZONE_ALIASES, TIME_ZONES } from "../../src/resources/bells/time-zones.ts";
import { createTimeZones, DEFAULT_CLOCK_RULES, type TimeZones } from "../../src/time-zones/time-zones.ts";
import { MACHINE_FOLDER } from "../../src/time-zones/zone-data.ts";
import { openZoneFolder } from "../../src/time-zones/zone-sources.ts";

/** Changes of the clocks by another implementation, and the offset around them: zone, then [instant s, before s, after s]. */
const ORACLE = `
import json, sys, datetime as d, zoneinfo
utc = d.timezone.utc
zoneinfo.reset_tzpath(to=[sys.argv[1]])
ask = json.load(sys.stdin)
out = {}
for name, first, last in ask:
    zone = zoneinfo.ZoneInfo(name)
    off = lambda t: int(d.datetime.fromtimestamp(t, utc).astimezone(zone).utcoffset().total_seconds())
    t = int(d.datetime(first, 1, 1, tzinfo=utc).timestamp()); end = int(d.datetime(last + 1, 1, 1, tzinfo=utc).timestamp())
    found = [[t, off(t), off(t)]]
    while t < end:
        n = min(t + 43200, end)
        if off(n) != off(t):
            a, b = t, n
            while b - a > 1:
                m = (a + b) // 2
                if off(m) == off(t): a = m
                else: b = m
            found.append([b, off(a), off(b)])
        t = n
    out[name] = found
json.dump(out, sys.stdout)
`;

/** A zone, and the years from the first to the last that are compared. */
export type TimeZoneSpan = readonly [name: string, firstYear: number, lastYear: number];

/** What came of comparing zones. */
export interface TimeZoneComparison {
  zones: number;
  changes: number;
  /** Local times that were compared. */
  times: number;
  /** Local times that come at another instant, in words. */
  differences: string[];
}

/** What a name that schedules may use stands for. */
export function canonicalTimeZone(name: string): string {
  return TIME_ZONE_ALIASES[name] ?? name;
}

/** Names that stand for another zone here, since the database lacks them or means something else by them. */
export function timeZoneAliases(): { name: string; meaning: string; isKnown: boolean }[] {
  const others = TIME_ZONES.filter((name) => canonicalTimeZone(name) !== name);
  return others.map((name) => ({ name, meaning: canonicalTimeZone(name), isKnown: isKnown(name) }));
}

/** True for a name that the runtime knows. */
export function isKnown(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) !== null;
  } catch {
    return false;
  }
}

/** The transition tables of the database in a folder and of no other source. */
export function timeZonesIn(folder: string): TimeZones {
  const source = openZoneFolder(folder);
  if (!source) throw new Error(`${folder} has no time zone database`);
  return createTimeZones({ revision: 0, zone: (name) => source.zone(name) });
}

/** The names of `names` that the database in a folder has. */
export function namesIn(folder: string, names: readonly string[]): string[] {
  const source = openZoneFolder(folder);
  return names.filter((name) => source?.zone(name));
}

/**
 * Compares the transition tables with Python's zoneinfo, both of the database in `folder`: all local times on a grid of 15
 * minutes from a day before to a day after each change of the clocks.
 */
export async function compareTimeZones(
  asked: readonly TimeZoneSpan[],
  folder: string = MACHINE_FOLDER,
  zones: TimeZones = timeZonesIn(folder),
): Promise<TimeZoneComparison> {
  const found: TimeZoneComparison = { zones: asked.length, changes: 0, times: 0, differences: [] };
  for (const [name, changes] of Object.entries(await askPython(asked, folder))) {
    const zone = zones.of(name);
    for (const [at = 0, before = 0, after = 0] of changes) {
      found.changes++;
      for (let step = -96; step <= 96; step++) {
        const localMs = (at + before) * 1_000 + step * 900_000;
        const gap = after > before && localMs >= (at + before) * 1_000 && localMs < (at + after) * 1_000;
        const isBefore = localMs < (at + (after < before ? before : Math.min(before, after))) * 1_000;
        const expected = gap ? at * 1_000 : localMs - (isBefore ? before : after) * 1_000;
        const instant = zone.instantOf(localMs, DEFAULT_CLOCK_RULES);
        const isMissingDate = gap && after - before >= 86_400;
        found.times++;
        if (instant !== (isMissingDate ? null : expected))
          found.differences.push(`${name} ${new Date(localMs).toISOString()} ${instant}`);
      }
    }
  }
  return found;
}

async function askPython(asked: readonly TimeZoneSpan[], folder: string): Promise<Record<string, number[][]>> {
  const child = execFile("python3", ["-c", ORACLE, folder], { maxBuffer: 1e8 });
  let answer = "";
  child.stdout?.on("data", (text: string) => {
    answer += text;
  });
  child.stdin?.end(JSON.stringify(asked));
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(`python3 ended with ${code}`);
  return JSON.parse(answer) as Record<string, number[][]>;
}
