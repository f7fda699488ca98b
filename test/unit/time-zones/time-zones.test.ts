import { expect, it } from "vitest";
import { TIME_ZONES } from "../../../src/resources/bells/time-zones.ts";
import { createTimeZones } from "../../../src/time-zones/time-zones.ts";
import { MACHINE_FOLDER, machineZoneData } from "../../../src/time-zones/zone-data.ts";
import { externalProgram } from "../../support/external-programs.ts";
import {
  canonicalTimeZone,
  compareTimeZones,
  isKnown,
  namesIn,
  type TimeZoneSpan,
  timeZonesIn,
} from "../../support/time-zone-oracle.ts";

const SPECIAL: readonly TimeZoneSpan[] = [
  ["Africa/Casablanca", 2018, 2060],
  ["America/New_York", 2020, 2060],
  ["America/Nuuk", 2020, 2060],
  ["America/Sao_Paulo", 2018, 2018],
  ["America/Santiago", 2020, 2060],
  ["Antarctica/Troll", 2020, 2060],
  ["Asia/Gaza", 2020, 2060],
  ["Asia/Pyongyang", 2015, 2018],
  ["Australia/Lord_Howe", 2020, 2060],
  ["Europe/Berlin", 1975, 2060],
  ["Europe/Dublin", 1972, 2060],
  ["Pacific/Apia", 2010, 2012],
];

externalProgram("python3").describe("zone tables", () => {
  it("match an independent implementation around every DST change, for each time zone", async () => {
    const names = namesIn(MACHINE_FOLDER, [...new Set(TIME_ZONES.map(canonicalTimeZone))]);
    const plain = names.map((name): TimeZoneSpan => [name, 2027, 2027]);
    for (const asked of [plain, SPECIAL]) {
      const { differences, changes, zones } = await compareTimeZones(asked);
      expect([differences.slice(0, 10), zones]).toEqual([[], asked.length]);
      expect(changes).toBeGreaterThan(zones);
    }
  });

  it("are rejected by that comparison when they are wrong by an hour", async () => {
    const zones = timeZonesIn(MACHINE_FOLDER);
    const late = { of: (name: string) => ({ ...zones.of(name), instantOf: (ms: number) => ms - 7_200_000 }) };
    const { differences } = await compareTimeZones([["Europe/Berlin", 2027, 2027]], MACHINE_FOLDER, late);
    expect(differences).not.toEqual([]);
  });
});

it("are known to the runtime for every supported name", () => {
  expect(TIME_ZONES.map(canonicalTimeZone).filter((name) => !isKnown(name))).toEqual([]);
});

it("exist for every supported name, whatever the machine has", () => {
  const zones = createTimeZones(machineZoneData());
  const at = Date.parse("2026-07-01T12:00:00Z");
  expect(TIME_ZONES.filter((name) => Number.isNaN(zones.of(name).offsetAt(at)))).toEqual([]);
});
