import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { createZones, DEFAULT_CLOCK_RULES } from "../../../src/bells/zones.ts";
import { TIME_ZONES, ZONE_MEANINGS } from "../../../src/resources/bells/time-zones.ts";
import { peer } from "../../support/peers.ts";

/** Changes of the clocks by another implementation, and the offset around them: zone, then [instant s, before s, after s]. */
const ORACLE = `
import json, sys, datetime as d, zoneinfo
utc = d.timezone.utc
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

const SPECIAL: readonly (readonly [string, number, number])[] = [
  ["Australia/Lord_Howe", 2026, 2027],
  ["Antarctica/Troll", 2026, 2027],
  ["America/Sao_Paulo", 2018, 2018],
  ["Pacific/Apia", 2011, 2012],
  ["Europe/Dublin", 2026, 2027],
];
const meaningOf = (name: string): string => ZONE_MEANINGS[name] ?? name;

peer("python3").describe("zone tables", () => {
  it("are those of another implementation around every change of a year, for each zone, and for the odd ones", () => {
    const plain = [...new Set(TIME_ZONES.map(meaningOf))].map((name) => [name, 2027, 2027] as const);
    const zones = createZones();
    const faults: string[] = [];
    for (const asked of [plain, SPECIAL]) {
      const answer = execFileSync("python3", ["-c", ORACLE], { input: JSON.stringify(asked), maxBuffer: 1e8 });
      for (const [name, changes] of Object.entries(JSON.parse(String(answer)) as Record<string, number[][]>)) {
        const zone = zones.of(name);
        for (const [at = 0, before = 0, after = 0] of changes) {
          // A grid of 15 minutes from a day before to a day after the change, in local time.
          for (let step = -96; step <= 96; step++) {
            const localMs = (at + before) * 1_000 + step * 900_000;
            const gap = after > before && localMs >= (at + before) * 1_000 && localMs < (at + after) * 1_000;
            const isBefore = localMs < (at + (after < before ? before : Math.min(before, after))) * 1_000;
            const expected = gap ? at * 1_000 : localMs - (isBefore ? before : after) * 1_000;
            const found = zone.instantOf(localMs, DEFAULT_CLOCK_RULES);
            const isMissingDate = gap && after - before >= 86_400;
            if (found !== (isMissingDate ? null : expected))
              faults.push(`${name} ${new Date(localMs).toISOString()} ${found}`);
          }
        }
      }
    }
    expect(faults.slice(0, 10)).toEqual([]);
  });
});

it("are made from names that this runtime knows, all of them", () => {
  const lacking = TIME_ZONES.map(meaningOf).filter((name) => {
    try {
      new Intl.DateTimeFormat("en", { timeZone: name });
      return false;
    } catch {
      return true;
    }
  });
  expect(lacking).toEqual([]);
});
