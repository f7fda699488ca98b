import { DateTime } from "luxon";
import { describe, expect, it } from "vitest";
import { TzifZone } from "../../../src/time-zones/offset-zone.ts";
import { parsePosixRule, ruleChanges } from "../../../src/time-zones/posix-rule.ts";
import { parseTzif } from "../../../src/time-zones/tzif.ts";
import { encodeTzif, type TzifParts, VANCOUVER_2026 } from "../../support/tzif-files.ts";

const seconds = (iso: string): number => Date.parse(iso) / 1_000;
const zoneOf = (parts: TzifParts): TzifZone => new TzifZone("Test/Zone", parseTzif(encodeTzif(parts)));
const hoursAt = (zone: TzifZone, iso: string): number => zone.offset(Date.parse(iso)) / 60;

describe("a TZif zone", () => {
  it("keeps British Columbia on UTC-7: 08:00 on 2026-12-01 is 15:00 UTC", () => {
    const zone = new TzifZone("America/Vancouver", parseTzif(VANCOUVER_2026));
    const local = DateTime.fromObject({ year: 2026, month: 12, day: 1, hour: 8 }, { zone });
    expect(local.toUTC().toISO()).toBe("2026-12-01T15:00:00.000Z");
    expect(local.toISO()).toBe("2026-12-01T08:00:00.000-07:00");
    expect(hoursAt(zone, "2026-01-15T12:00:00Z")).toBe(-8);
  });

  it("reads 32-bit times of version 1 and stays at the last offset", () => {
    const zone = zoneOf({ version: 1, first: 3_600, transitions: [[seconds("2030-01-01T00:00:00Z"), 7_200]] });
    expect(
      ["2029-12-31T23:59:59Z", "2030-01-01T00:00:00Z", "2099-01-01T00:00:00Z"].map((at) => hoursAt(zone, at)),
    ).toEqual([1, 2, 2]);
  });

  it.each([2, 3, 4] as const)("reads 64-bit times and the footer of version %i", (version) => {
    const zone = zoneOf({
      ...{ version, first: 0, footer: "CET-1CEST,M3.5.0,M10.5.0/3" },
      transitions: [[seconds("2100-01-01T00:00:00Z"), 3_600]],
    });
    expect(hoursAt(zone, "2099-07-01T00:00:00Z")).toBe(0);
    expect(hoursAt(zone, "2101-07-01T00:00:00Z")).toBe(2);
    expect(hoursAt(zone, "2101-03-27T00:59:59Z")).toBe(1);
    expect(hoursAt(zone, "2101-03-27T01:00:00Z")).toBe(2);
    expect(hoursAt(zone, "2101-10-30T01:00:00Z")).toBe(1);
  });

  it("lists transitions of the file and of its footer in one table", () => {
    const { starts, offsets } = zoneOf({
      ...{ first: 0, footer: "EST5EDT,M3.2.0,M11.1.0" },
      transitions: [[seconds("2026-02-01T00:00:00Z"), -5 * 3_600]],
    }).transitions(Date.parse("2026-01-01T00:00:00Z"), Date.parse("2027-01-01T00:00:00Z"));
    expect(starts.map((start) => new Date(start).toISOString().slice(0, 16))).toEqual([
      "2026-01-01T00:00",
      "2026-02-01T00:00",
      "2026-03-08T07:00",
      "2026-11-01T06:00",
    ]);
    expect(offsets.map((offset) => offset / 3_600_000)).toEqual([0, -5, -4, -5]);
  });

  it("refuses damaged files, leap seconds and other content", () => {
    const good = encodeTzif({ first: 0, footer: "UTC0", transitions: [[0, 3_600]] });
    const bad: readonly (readonly [Buffer, string])[] = [
      [good.subarray(0, 20), "truncated"],
      [good.subarray(0, good.length - 16), "truncated"],
      [good.subarray(0, good.length - 6), "without footer"],
      [Buffer.from("not a zone at all, but a text of more than 44 bytes"), "not a TZif file"],
      [encodeTzif({ first: 0, leapSeconds: 27 }), "leap seconds"],
      [encodeTzif({ first: 0, footer: "CET-1CEST,M13.1.0,M10.5.0" }), "invalid footer"],
      [encodeTzif({ first: 200_000 }), "invalid local time type"],
      [
        encodeTzif({
          first: 0,
          transitions: [
            [10, 0],
            [10, 3_600],
          ],
        }),
        "invalid transition",
      ],
    ];
    for (const [bytes, message] of bad) expect(() => parseTzif(bytes)).toThrow(message);
  });

  it("survives any damage of single bytes", () => {
    const good = encodeTzif({ first: 0, footer: "CET-1CEST,M3.5.0,M10.5.0/3", transitions: [[0, 3_600]] });
    for (let at = 0; at < good.length; at++) {
      for (const value of [0, 0x7f, 0xff]) {
        const bytes = Buffer.from(good);
        bytes[at] = value;
        let offset: number | null = null;
        try {
          offset = new TzifZone("x", parseTzif(bytes)).offset(1e12);
        } catch (error) {
          expect((error as Error).constructor.name).toBe("TzifError");
        }
        expect(offset === null || Math.abs(offset) <= 26 * 60).toBe(true);
      }
    }
  });
});

describe("a POSIX rule", () => {
  const changesOf = (text: string, year: number): string[] => {
    const rule = parsePosixRule(text);
    if (!rule) throw new Error(text);
    return ruleChanges(rule, year, year).map(
      ({ at, offset }) => `${new Date(at * 1_000).toISOString().slice(0, 16)} ${offset / 3_600}`,
    );
  };

  it("reads every form of date", () => {
    expect(changesOf("PST8PDT,M3.2.0,M11.1.0", 2027)).toEqual(["2027-03-14T10:00 -7", "2027-11-07T09:00 -8"]);
    expect(changesOf("IST-1GMT0,M10.5.0,M3.5.0/1", 2027)).toEqual(["2027-03-28T01:00 1", "2027-10-31T01:00 0"]);
    expect(changesOf("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 2027)).toEqual([
      "2027-04-03T15:00 10.5",
      "2027-10-02T15:30 11",
    ]);
    expect(changesOf("EET-2EEST,J60/0,J300/0", 2028)).toEqual(["2028-02-29T22:00 3", "2028-10-26T21:00 2"]);
    expect(changesOf("EET-2EEST,59/0,299/0", 2028)).toEqual(["2028-02-28T22:00 3", "2028-10-25T21:00 2"]);
    expect(changesOf("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2027)).toEqual(["2027-03-28T01:00 -1", "2027-10-31T01:00 -2"]);
    expect(changesOf("EET-2EEST,M3.4.4/50,M10.4.4/50", 2027)).toEqual(["2027-03-27T00:00 3", "2027-10-29T23:00 2"]);
  });

  it("is daylight saving time all year with two changes at one instant", () => {
    const zone = zoneOf({ first: 0, footer: "XXX3EDT4,0/0,J365/23" });
    for (const at of ["2026-01-01T02:59:59Z", "2026-01-01T03:00:00Z", "2026-07-01T00:00:00Z", "2026-12-31T23:59:59Z"])
      expect([at, hoursAt(zone, at)]).toEqual([at, -4]);
    expect(
      zone.transitions(Date.parse("2026-01-02T00:00:00Z"), Date.parse("2029-01-02T00:00:00Z")).starts,
    ).toHaveLength(1);
  });

  it.each([
    "",
    "CE-1",
    "CET",
    "CET-1CEST,M3.5.0",
    "CET-1CEST,M3.6.0,M10.5.0",
    "CET-30",
    "CET-1 ",
    "CET-1CEST,J0,J5",
    "<>1",
  ])("rejects %j", (text) => {
    expect(parsePosixRule(text)).toBeNull();
  });
});
