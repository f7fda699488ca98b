import { expect, it } from "vitest";
import { isTimeZone, TIME_ZONES } from "../../../src/resources/bells/time-zones.ts";
import { ZONES_OF_WINDOWS_NAMES } from "../../../src/resources/bells/windows-zones.ts";
import { option } from "../../../src/schema/field.ts";
import { compileValidator } from "../../../src/schema/validator.ts";

const fields = { timeZone: option("Zone.", TIME_ZONES, { otherNames: ZONES_OF_WINDOWS_NAMES }) };
const validator = compileValidator(fields);
const messageFor = (timeZone: unknown): string | undefined =>
  validator.validate({ timeZone }, "create").faults[0]?.message;

it.each([
  ["Pacific Standard Time", "America/Los_Angeles or America/Vancouver"],
  ["pacific daylight time", "America/Los_Angeles or America/Vancouver"],
  ["Eastern Standard Time", "America/New_York or America/Toronto"],
  ["W. Europe Standard Time", "Europe/Berlin"],
  ["W Europe Standard Time", "Europe/Berlin"],
  ["FLE Standard Time", "Europe/Kiev"],
  ["america/vancouver", "America/Vancouver"],
  ["America/Vancuver", "America/Vancouver"],
  ["America/Vancovuer", "America/Vancouver"],
  ["America/New York", "America/New_York"],
  ["Vancouver", "America/Vancouver"],
  ["Europe/Berlinn", "Europe/Berlin"],
  ["Berlni", "Europe/Berlin"],
  [" Europe/Berlin ", "Europe/Berlin"],
])("the time zone %s suggests %s", (given, suggested) => {
  expect(messageFor(given)).toBe(`Field timeZone is not valid. Did you mean ${suggested}?`);
});

it.each(["Nowhere/Land", "x", "", "__proto__", "constructor", "A".repeat(10_000), 5, {}, ["Europe/Berlin"]])(
  "the time zone %j suggests none",
  (given) => {
    expect(messageFor(given) ?? "").not.toContain("Did you mean");
  },
);

it("every zone that a Windows name suggests is one of schedules", () => {
  expect(
    Object.values(ZONES_OF_WINDOWS_NAMES)
      .flat()
      .filter((name) => !isTimeZone(name)),
  ).toEqual([]);
});
