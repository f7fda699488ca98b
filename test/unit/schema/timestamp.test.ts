import { describe, expect, it } from "vitest";
import { isDate, parseQueryTimestamp, parseTimestamp } from "../../../src/schema/timestamp.ts";

describe("timestamps", () => {
  it.each([
    ["2026-01-31T07:10:00Z", "2026-01-31T07:10:00.000Z"],
    ["2026-01-31T07:10Z", "2026-01-31T07:10:00.000Z"],
    ["2026-01-31T07:10:00.123456789Z", "2026-01-31T07:10:00.123Z"],
    ["2026-01-31T07:10:00+01:30", "2026-01-31T05:40:00.000Z"],
    ["2026-01-31T07:10:00.5-0200", "2026-01-31T09:10:00.500Z"],
    ["2026-01-31T07:10:00+0000", "2026-01-31T07:10:00.000Z"],
    ["2026-01-31T07:10:00+02", "2026-01-31T05:10:00.000Z"],
  ])("%s is %s", (text, iso) => {
    expect(new Date(parseTimestamp(text) ?? Number.NaN).toISOString()).toBe(iso);
    expect(parseQueryTimestamp(text)).toBe(Date.parse(iso));
  });

  it.each([
    "2026-01-31T07:10:00",
    "2026-02-30T07:10:00Z",
    "2026-01-31T25:10:00Z",
    "2026-01-31T07:10:00+2500",
    "2026-01-31 07:10:00Z",
    "2026-01-31T07:10:00 UTC",
    "2026-01-31T07:10:00+1",
    "2026-01-31T07:10:00+000",
    "31.1.2026",
    "",
  ])("%s is none", (text) => {
    expect(parseTimestamp(text)).toBeNull();
    expect(parseQueryTimestamp(text)).toBeNull();
  });

  it("takes a date and a + that was not encoded in a query only", () => {
    expect(parseQueryTimestamp("2026-01-31")).toBe(Date.UTC(2026, 0, 31));
    expect(parseQueryTimestamp("2026-01-31T07:10:00 0100")).toBe(Date.UTC(2026, 0, 31, 6, 10));
    expect(parseQueryTimestamp("2026-01-31T07:10:00 01:00")).toBe(Date.UTC(2026, 0, 31, 6, 10));
    expect(parseTimestamp("2026-01-31T07:10:00 0100")).toBeNull();
    expect(parseTimestamp("2026-01-31")).toBeNull();
  });

  it("knows the days of the calendar", () => {
    expect(["2024-02-29", "0001-01-01", "2026-02-29", "2026-1-1", "0000-01-01"].map(isDate)).toEqual([
      ...[true, true, false, false, false],
    ]);
  });
});
