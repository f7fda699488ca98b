import { describe, expect, it } from "vitest";
import { compileCatalogue } from "../../../../src/console/web/i18n/compile-catalogue.ts";
import de from "../../../../src/console/web/i18n/de.json" with { type: "json" };
import en from "../../../../src/console/web/i18n/en.json" with { type: "json" };
import { errorText, fieldErrorText } from "../../../../src/console/web/i18n/error-text.ts";
import { createTranslator } from "../../../../src/console/web/i18n/translator.ts";
import { type ErrorReason, invalidValue } from "../../../../src/lib/errors.ts";

const english = createTranslator("en", compileCatalogue(en));
const german = createTranslator("de", compileCatalogue(de));

function textsOf(reason: ErrorReason | undefined, detail = "Must be right."): string[] {
  const error = invalidValue("password", detail, reason);
  return [english, german].map((translator) => errorText(error, translator));
}

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
