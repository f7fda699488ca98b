import { expect, it } from "vitest";
import { createTimeZones } from "../../../src/bells/time-zones.ts";
import { TIME_ZONES } from "../../../src/resources/bells/time-zones.ts";
import { externalProgram } from "../../support/external-programs.ts";
import {
  canonicalTimeZone,
  compareTimeZones,
  isKnown,
  isOutdatedInOracle,
  type TimeZoneSpan,
} from "../../support/time-zone-oracle.ts";

const SPECIAL: readonly TimeZoneSpan[] = [
  ["Australia/Lord_Howe", 2026, 2027],
  ["Antarctica/Troll", 2026, 2027],
  ["America/Sao_Paulo", 2018, 2018],
  ["Pacific/Apia", 2011, 2012],
  ["Europe/Dublin", 2026, 2027],
];

externalProgram("python3").describe("zone tables", () => {
  it("match an independent implementation around every DST change, for each time zone", async () => {
    const names = [...new Set(TIME_ZONES.map(canonicalTimeZone))].filter((name) => !isOutdatedInOracle(name));
    const plain = names.map((name): TimeZoneSpan => [name, 2027, 2027]);
    for (const asked of [plain, SPECIAL]) {
      const { differences, changes, zones } = await compareTimeZones(asked);
      expect([differences.slice(0, 10), zones]).toEqual([[], asked.length]);
      expect(changes).toBeGreaterThan(zones);
    }
  });

  it("are rejected by that comparison when they are wrong by an hour", async () => {
    const zones = createTimeZones();
    const late = { of: (name: string) => ({ ...zones.of(name), instantOf: (ms: number) => ms - 7_200_000 }) };
    expect((await compareTimeZones([["Europe/Berlin", 2027, 2027]], late)).differences).not.toEqual([]);
  });
});

it("are known to the runtime for every supported name", () => {
  expect(TIME_ZONES.map(canonicalTimeZone).filter((name) => !isKnown(name))).toEqual([]);
});
