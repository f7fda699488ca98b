import { describe, expect, it } from "vitest";
import { createRecipientNumbers } from "../../plugins/sms/recipient-numbers.ts";

const rules = { country: "DE", allowedPrefixes: null, premiumNumbers: false };

describe("numbers that get text messages", () => {
  it.each([
    ["0170 1234567", {}, "+491701234567"],
    ["+49 (0)170 1234567", { country: null }, "+491701234567"],
    ["0043 664 1234567", {}, "+436641234567"],
    ["0170 1234567 ext. 3", {}, "+491701234567"],
    ["80808", {}, "80808"],
    ["0900 1234567", { premiumNumbers: true }, "+499001234567"],
    ["+43 664 1234567", { allowedPrefixes: "+49, 0043" }, "+436641234567"],
    ["80808", { allowedPrefixes: "+49,80808" }, "80808"],
  ])("%s with %o: %s", (text, given, number) => {
    expect(createRecipientNumbers({ ...rules, ...given }).recipientOf(text)).toEqual({ number });
  });

  it.each([
    ["0900 1234567", {}, /premium-rate/],
    ["+1 900 555 1234", {}, /premium-rate/],
    ["+44 20 7946 0000", { allowedPrefixes: "+49, +43" }, /allowedPrefixes/],
    ["80808", { allowedPrefixes: "+49" }, /allowedPrefixes/],
    ["+49 12", {}, /wrong length/],
    ["Ann", {}, /must be a telephone number/],
  ])("%s with %o is refused", (text, given, reason) => {
    expect(createRecipientNumbers({ ...rules, ...given }).recipientOf(text)).toEqual({
      reason: expect.stringMatching(reason),
    });
  });

  it("belong to people: names and short codes are automatic senders", () => {
    const { senderOf } = createRecipientNumbers(rules);
    expect(["4917012345678", "+49 170 12345678", "0170 12345678", "436641234567"].map(senderOf)).toEqual([
      ...["+4917012345678", "+4917012345678", "+4917012345678", "+436641234567"],
    ]);
    expect(["ACME", "80808", ""].map(senderOf)).toEqual([null, null, null]);
  });
});
