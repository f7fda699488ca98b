import { describe, expect, it } from "vitest";
import { compileCatalogue } from "../../../../src/console/web/i18n/compile-catalogue.ts";
import de from "../../../../src/console/web/i18n/de.json" with { type: "json" };
import en from "../../../../src/console/web/i18n/en.json" with { type: "json" };
import { errorText, fieldErrorText } from "../../../../src/console/web/i18n/error-text.ts";
import { createTranslator } from "../../../../src/console/web/i18n/translator.ts";
import { parseLogicalExpression } from "../../../../src/devices/logical-expression.ts";
import { CallerError, type ErrorReason, invalidValue } from "../../../../src/lib/errors.ts";

const english = createTranslator("en", compileCatalogue(en));
const german = createTranslator("de", compileCatalogue(de));

function textsOf(reason: ErrorReason | undefined, detail = "Must be right."): string[] {
  const error = invalidValue("password", detail, reason);
  return [english, german].map((translator) => errorText(error, translator));
}

/** Every fault that an expression can have, with the number of its filters. */
const EXPRESSIONS: readonly (readonly [string, number])[] = [
  ...[
    ["", 2],
    [" ".repeat(20_000), 2],
    ["1 ? 2", 2],
    [`${"(".repeat(200)}1`, 2],
    ["1 AND", 2],
    ["(1", 2],
  ],
  ...[
    ["(1 2", 2],
    ["1)", 2],
    ["1 2", 2],
    ["1 AND OR", 2],
    ["1", 0],
    ["3", 2],
    ["0 AND 5", 2],
  ],
] as [string, number][];

describe("the explanation of an invalid field", () => {
  it("is the server's sentence in the user's language", () => {
    const message = "Field port is not valid. Must be a number.";
    const sentence = { code: "field.must-be-a-number", params: {} };
    const error = new CallerError("invalid-value", message, [
      { field: "port", type: "invalid-value", message, sentence },
    ]);
    const catalogue = { ...de, "sentence.field.must-be-a-number": "Muss eine Zahl sein." };
    const translator = createTranslator("de", compileCatalogue(catalogue));
    expect(errorText(error, translator)).toMatch(/Muss eine Zahl sein\.$/);
    expect(errorText(error, english)).toMatch(/Must be a number\.$/);
  });

  it.each(EXPRESSIONS)("of an expression is in the user's language, case %#", (text, filters) => {
    let error: unknown = null;
    try {
      parseLogicalExpression(text, filters);
    } catch (thrown) {
      error = thrown;
    }
    const [inEnglish, inGerman] = [english, german].map((each) => errorText(error, each));
    expect((error as CallerError).faults[0]?.message).toBe(
      `Field logicalExpression is not valid. ${inEnglish?.replace(/(\d),(\d)/, "$1$2")}`,
    );
    expect(inGerman).toMatch(/Ausdruck|Klammer|Stelle/);
  });
});

describe("the explanation of an error without a field", () => {
  const message = "The incident has ended.";
  const sentence = { code: "error.the-incident-has-ended", params: {} };
  const catalogue = { ...de, "sentence.error.the-incident-has-ended": "Das Ereignis ist beendet." };
  const translator = createTranslator("de", compileCatalogue(catalogue));

  it("is the server's sentence in the user's language", () => {
    const conflict = new CallerError("conflict", message, [{ field: null, type: "conflict", message, sentence }]);
    const refused = new CallerError("invalid-value", message, [], { sentence });
    for (const error of [conflict, refused]) {
      expect(errorText(error, translator)).toBe("Das Ereignis ist beendet.");
      expect(errorText(error, english)).toBe(message);
    }
  });

  it("is the words for its type without a sentence", () => {
    const fault = { field: null, type: "conflict" as const, message };
    expect(errorText(new CallerError("conflict", message, [fault]), translator)).toBe(de["error.conflict"]);
  });
});

describe("the text of a refused password", () => {
  it.each<[ErrorReason, string]>([
    [
      { code: "password-too-short", params: { min: 12 } },
      "Das Passwort muss mindestens 12 Zeichen haben, zum Beispiel ein Satz.",
    ],
    [{ code: "password-too-long", params: { max: 256 } }, "Das Passwort darf höchstens 256 Zeichen haben."],
    [
      { code: "password-name-of-account", params: { name: "ann" } },
      "Das Passwort darf „ann“ nicht enthalten, einen Namen dieses Kontos. Wählen Sie mehrere Wörter ohne Zusammenhang.",
    ],
    [
      { code: "password-weak-parts", params: { parts: ["word", "date"] } },
      "Das Passwort ist zu leicht zu erraten. Es enthält ein häufiges Wort und ein Datum und sonst wenig. Wählen Sie mehrere Wörter ohne Zusammenhang oder mehr Zeichen.",
    ],
    [{ code: "password-wrong", params: {} }, "Das bisherige Passwort ist nicht richtig."],
    [{ code: "password-unchanged", params: {} }, "Das neue Passwort muss sich vom bisherigen unterscheiden."],
  ])("is in the user's language: $code", (reason, expected) => {
    const [inEnglish, inGerman] = textsOf(reason);
    expect(inGerman).toBe(expected);
    expect(inEnglish).toMatch(/^The .*password/);
    const error = invalidValue("password", "Must be right.", reason);
    expect(fieldErrorText(error, "password", german)).toBe(expected);
  });

  it("falls back to the message for an unknown code and without one", () => {
    for (const reason of [undefined, { code: "no-such-code", params: {} }])
      expect(textsOf(reason)[0]).toContain("Must be right.");
  });
});
