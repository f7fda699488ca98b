import { expect, it } from "vitest";
import { createZones } from "../../../src/bells/zones.ts";
import { TIME_ZONES } from "../../../src/resources/bells/time-zones.ts";
import { peer } from "../../support/peers.ts";
import { compareZones, isKnown, meaningOf, type ZoneSpan } from "../../support/zone-oracle.ts";

const SPECIAL: readonly ZoneSpan[] = [
  ["Australia/Lord_Howe", 2026, 2027],
  ["Antarctica/Troll", 2026, 2027],
  ["America/Sao_Paulo", 2018, 2018],
  ["Pacific/Apia", 2011, 2012],
  ["Europe/Dublin", 2026, 2027],
];

peer("python3").describe("zone tables", () => {
  it("are those of another implementation around every change of a year, for each zone, and for the odd ones", async () => {
    const plain = [...new Set(TIME_ZONES.map(meaningOf))].map((name): ZoneSpan => [name, 2027, 2027]);
    for (const asked of [plain, SPECIAL]) {
      const { differences, changes, zones } = await compareZones(asked);
      expect([differences.slice(0, 10), zones]).toEqual([[], asked.length]);
      expect(changes).toBeGreaterThan(zones);
    }
  });

  it("that go wrong by an hour are found out", async () => {
    const zones = createZones();
    const late = { of: (name: string) => ({ ...zones.of(name), instantOf: (ms: number) => ms - 7_200_000 }) };
    expect((await compareZones([["Europe/Berlin", 2027, 2027]], late)).differences).not.toEqual([]);
  });
});

it("are made from names that this runtime knows, all of them", () => {
  expect(TIME_ZONES.map(meaningOf).filter((name) => !isKnown(name))).toEqual([]);
});
