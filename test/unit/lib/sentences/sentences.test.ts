import { describe, expect, it } from "vitest";
import de from "../../../../src/lib/sentences/de.json" with { type: "json" };
import en from "../../../../src/lib/sentences/en.json" with { type: "json" };
import {
  asGiven,
  readSentence,
  readSentences,
  type SentenceCode,
  sentence,
  sentenceSql,
  translateSentence,
} from "../../../../src/lib/sentences/sentences.ts";
import { MISSED_AUDIO_REASONS } from "../../../../src/resources/notifications/missed-audio.ts";
import { placeholdersOf } from "../../../support/sentences.ts";

const CODES = Object.keys(en) as SentenceCode[];
const GERMAN: Readonly<Record<string, string>> = de;

/** A value of each placeholder; `variant` chooses among plain and awkward ones. */
function sampleParams(code: SentenceCode, variant: number): Record<string, string | number> {
  const words = ["Hall 3", "“Ä.ö” 50 % {x} 'quoted'", "a: b; c, d", "12", "The end"];
  return Object.fromEntries(
    placeholdersOf(en[code]).map(({ name, isCount }, at) => [
      name,
      isCount ? [1, 2, 0, 1_234, 12_345_678][(variant + at) % 5] : words[(variant + at) % words.length],
    ]) as [string, string | number][],
  );
}

describe("sentences of the server", () => {
  it("are rendered in English and read again by code and parameters, whatever the values", () => {
    const wrong: unknown[] = [];
    for (const code of CODES) {
      for (let variant = 0; variant < 5; variant++) {
        const text = sentence(code, sampleParams(code, variant));
        const read = readSentence(text);
        const again = read && sentence(read.code as SentenceCode, read.params as Record<string, string>);
        if (again !== text || (variant === 0 && read?.code !== code)) wrong.push({ code, text, read });
      }
    }
    expect(wrong).toEqual([]);
  });

  it("are shown in German, and what is none stays as it is", () => {
    expect(translateSentence(sentence("delivery.busy"), "de")).toBe(
      "Das Gerät ist mit einer anderen Nachricht belegt.",
    );
    expect(translateSentence(sentence("delivery.channel-late", { channel: "sms" }), "de")).toBe(
      "Der Kanal sms hat die Nachricht nicht rechtzeitig angenommen.",
    );
    expect(translateSentence(sentence("activity.audio-missed", { count: 1_200 }), "de")).toContain(
      "bevor 1.200 Telefone",
    );
    expect(translateSentence(sentence("delivery.busy"), "en")).toBe("The device is busy with another message.");
    expect(translateSentence(asGiven("486 Busy Here"), "de")).toBe("486 Busy Here");
    expect(translateSentence("", "de")).toBe("");
  });

  it("are translated within others, one or several of them", () => {
    const reason = sentence("delivery.plugin-not-running", { plugin: "sip", reason: sentence("delivery.aborted") });
    const again = sentence("delivery.sent-again-failed", { reason });
    expect(readSentence(again)).toEqual({
      code: "delivery.sent-again-failed",
      params: {
        reason: [
          {
            code: "delivery.plugin-not-running",
            params: { plugin: "sip", reason: [{ code: "delivery.aborted", params: {} }] },
          },
        ],
      },
    });
    expect(translateSentence(again, "de")).toBe(
      "Ohne Erfolg noch einmal gesendet: sip läuft nicht: Die Nachricht wurde von einem Benutzer beendet.",
    );
    const both = `${sentence("delivery.no-answer")} ${sentence("delivery.channel-late", { channel: "St. Mary" })}`;
    expect(translateSentence(sentence("delivery.not-sent-again", { reason: both }), "de")).toBe(
      "Nicht noch einmal gesendet: Keine Antwort innerhalb der Frist. Der Kanal St. Mary hat die Nachricht nicht rechtzeitig angenommen.",
    );
    const mixed = `${sentence("delivery.no-answer")} Line 3 said no.`;
    expect(translateSentence(sentence("delivery.not-sent-again", { reason: mixed }), "de")).toBe(
      "Nicht noch einmal gesendet: Keine Antwort innerhalb der Frist. Line 3 said no.",
    );
  });

  it("are translated within lists", () => {
    const findings = [
      sentence("health.schedule-twice", { count: 2, first: "2026-11-30 08:00" }),
      sentence("health.schedule-order", { count: 3, first: "2026-12-01 08:00" }),
    ];
    expect(translateSentence(sentence("health.schedule", { name: "Main", findings: findings.join("; ") }), "de")).toBe(
      "Läuteplan Main: 2-mal läutet es doppelt (zuerst 2026-11-30 08:00); 3-mal stimmt die Reihenfolge nicht (zuerst 2026-12-01 08:00).",
    );
    const bells = `${sentence("alarm.bells-missed", { bells: 3 })}, ${sentence("alarm.bells-late", { bells: 1 })}`;
    expect(translateSentence(sentence("alarm.bells-troubled", { bells, threshold: 2 }), "de")).toBe(
      "Läuten der letzten 24 Stunden: 3 ausgefallen, 1 verspätet. Der Grenzwert ist 2.",
    );
  });

  it("are read in the wording of rows from before they had plurals", () => {
    const text = "The first sync is not complete: 1 rows differ.";
    expect(translateSentence(text, "de")).toBe("Der Erstabgleich ist nicht abgeschlossen: 1 Zeile unterscheidet sich.");
    expect(sentence("sync.differs", { count: 1 })).toBe("The first sync is not complete: 1 row differs.");
  });

  it("are listed with their texts", () => {
    expect(readSentences([sentence("delivery.busy"), "486 Busy Here"])).toEqual([
      { text: "The device is busy with another message.", code: "delivery.busy", params: {} },
      { text: "486 Busy Here", code: null, params: null },
    ]);
  });

  it("are read to a bounded depth and length", () => {
    expect(readSentence("Not sent again: ".repeat(600))?.code).toBe("delivery.not-sent-again");
    expect(readSentence("x".repeat(20_000))).toBeNull();
    expect(readSentence(`Not sent again: ${"No. ".repeat(2_400)}`)?.params).toEqual({ reason: "No. ".repeat(2_400) });
  });

  it("are the same in SQL", () => {
    expect(sentenceSql("delivery.no-plugin-for-device-type", { type: "d.type" })).toBe(
      "'No plugin serves devices of type ' || d.type || '.'",
    );
    expect(() => sentenceSql("activity.audio-missed")).toThrow("plural forms");
  });

  it("name missed audio in the words that stored rows are searched for", () => {
    expect(MISSED_AUDIO_REASONS).toEqual({
      asked: sentence("delivery.missed-audio-asked"),
      joined: sentence("delivery.missed-audio-joined"),
      partly: sentence("delivery.missed-audio-partly"),
    });
  });

  it("have a German entry that differs from the English one", () => {
    expect(CODES.filter((code) => GERMAN[code] === undefined || GERMAN[code] === en[code])).toEqual([]);
  });
});
