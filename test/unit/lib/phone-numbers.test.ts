import { parsePhoneNumberFromString } from "libphonenumber-js/max";
import { describe, expect, it } from "vitest";
import { createPhoneNumberReader } from "../../../src/lib/phone-numbers.ts";
import { isSamePhoneNumber, parsePhoneNumber } from "../../../src/people/phone-numbers.ts";

const read = createPhoneNumberReader(parsePhoneNumberFromString);

describe("telephone numbers", () => {
  it.each([
    ["+49 (0)170 1234567", null, "+491701234567"],
    ["+49 (0) 170 / 123 45-67", null, "+491701234567"],
    ["0049 170 1234567", null, "+491701234567"],
    ["00 49 170 1234567", "DE", "+491701234567"],
    ["0170-1234567", "DE", "+491701234567"],
    ["(0170) 1234567", "DE", "+491701234567"],
    ["491701234567", "DE", "+491701234567"],
    ["tel:+49-170-1234567", null, "+491701234567"],
    ["+49 30 123456 ext. 12", null, "+4930123456"],
    ["(212) 555-0100 x12", "US", "+12125550100"],
    ["212.555.0100", "US", "+12125550100"],
    ["011 44 20 7946 0000", "US", "+442079460000"],
    ["+44 (0)20 7946 0000", "DE", "+442079460000"],
    ["06 12 34 56 78", "FR", "+33612345678"],
    ["0 512 345 678", "PL", null],
    ["512 345 678", "PL", "+48512345678"],
    ["+39 06 1234 5678", null, "+390612345678"],
    ["＋49 170 1234567", null, "+491701234567"],
    ["\u202a+49 170 1234567\u202c", null, "+491701234567"],
    ["80808", "DE", "80808"],
    ["01701234567", null, "01701234567"],
  ])("%s of %s is %s", (text, country, expected) => {
    const found = read(text, country);
    if (expected === null) expect(typeof found === "string" || found.number !== "").toBe(true);
    else expect(found).toMatchObject({ number: expected });
  });

  it.each([
    ["+49 12", null, /wrong length/],
    ["0170 12345678901234", "DE", /wrong length/],
    ["+1 555 0100", null, /wrong length/],
    ["ann@example.org", "DE", /must be a telephone number$/],
    ["1-800-FLOWERS", "US", /must be a telephone number$/],
    ["+", "DE", /must be a telephone number/],
    ["12", null, /country code/],
    ["9".repeat(100), "DE", /too long/],
    ["", "DE", /must be a telephone number/],
  ])("%s of %s is refused", (text, country, reason) => {
    expect(read(text, country)).toMatch(reason);
  });

  it.each([
    ["0900 1234567", "DE", true],
    ["+1 900 555 1234", null, true],
    ["+44 909 8790000", null, true],
    ["+979 123456789", null, true],
    ["0170 1234567", "DE", false],
    ["0800 1234567", "DE", false],
  ])("%s of %s: premium rate is %s", (text, country, isPremium) => {
    expect(read(text, country)).toMatchObject({ isPremium });
  });

  it("are compared in any spelling", () => {
    expect(isSamePhoneNumber("0170 / 1234567", "+491701234567", null)).toBe(true);
    expect(isSamePhoneNumber("+49 (0)170 1234567", "491701234567", null)).toBe(true);
    // At a German site this is a German number.
    expect(isSamePhoneNumber("0664 1234567", "+436641234567", "DE")).toBe(false);
    expect(isSamePhoneNumber("0664 1234567", "+436641234567", "AT")).toBe(true);
    expect(isSamePhoneNumber("0170 1234568", "+491701234567", null)).toBe(false);
    expect(parsePhoneNumber("+1 (555) 0123")).toBe("+15550123");
    expect(parsePhoneNumber("0170 1234567", "phone", "DE")).toBe("+491701234567");
    expect(() => parsePhoneNumber("no number", "phone")).toThrow("telephone number");
  });
});
