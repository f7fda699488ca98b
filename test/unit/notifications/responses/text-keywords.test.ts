import { describe, expect, it } from "vitest";
import { textKeyword } from "../../../../src/notifications/responses/text-keywords.ts";

describe("keywords of text messages", () => {
  it.each([
    ["Stop!", "stop"],
    ["  «STOP.» ", "stop"],
    ["STOP please", "stop"],
    ["Stop all", "stop"],
    ["stop 🛑", "stop"],
    ["STOPP", "stop"],
    ["Arrêt", "stop"],
    ["ARRÊTER SVP", "stop"],
    ["désabonner", "stop"],
    ["¡BAJA!", "stop"],
    ["Parar, por favor", "stop"],
    ["annulla", "stop"],
    ["SAIR", "stop"],
    ["Afmelden.", "stop"],
    ["avsluta", "stop"],
    ["wypisz", "stop"],
    ["СТОП", "stop"],
    ["Opt-out", "stop"],
    ["Abbestellen", "stop"],
    ["END", "stop"],
    ["start", "start"],
    ["UNSTOP!", "start"],
    ["Reprendre", "start"],
    ["Weiter bitte", "start"],
    ["HELP?", "help"],
    ["¿Ayuda?", "help"],
    ["hjälp", "help"],
    ["Hilfe!", "help"],
  ])("%s means %s", (text, kind) => {
    expect(textKeyword(text)).toMatchObject({ kind, rest: "" });
  });

  it.each([
    "Stopover in Rome",
    "fine",
    "Ende der Stunde",
    "help is needed in room 4",
    "1",
    "",
    "🛑",
    "start of term",
    "Sluta skolan nu",
  ])("%s is no keyword", (text) => {
    expect(textKeyword(text)).toBeNull();
  });

  it("leave one list by its tag, as it is written", () => {
    expect(textKeyword("STOP: Choir/2")).toEqual({ kind: "stop", isStrict: true, rest: "Choir/2" });
    expect(textKeyword("cancel snow")).toMatchObject({ kind: "stop", rest: "snow" });
  });
});
