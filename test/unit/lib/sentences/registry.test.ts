import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { createSentenceRegistry } from "../../../../src/lib/sentences/registry.ts";
import { asGiven, sentence } from "../../../../src/lib/sentences/sentences.ts";
import { defineSentences } from "../../../../src/plugin-api/index.ts";

const EN = {
  jammed: "the gate is jammed at {place}",
  refused: "the gate refused the command: {detail}",
  retries: "{count, plural, one {tried once} other {tried # times}}",
  broken: "not closed {",
  "": "",
};
const DE = { jammed: "das Tor klemmt bei {place}", refused: "das Tor lehnte den Befehl ab: {detail}" };
const gate = defineSentences(EN);

function gateRegistry() {
  const registry = createSentenceRegistry();
  registry.set("gate", { en: EN, de: DE });
  return registry;
}

describe("sentences of plugins", () => {
  it("are read by code and parameters from the text, with the translation", () => {
    const text = gate("refused", { detail: "E 7" });
    expect(text).toBe("the gate refused the command: E 7");
    expect(gateRegistry().read(text)).toEqual({
      code: "plugin.gate.refused",
      params: { detail: "E 7" },
      translations: { de: "das Tor lehnte den Befehl ab: E 7" },
    });
    expect(createSentenceRegistry().read(text)).toBeNull();
  });

  it.each([
    ["one", gate("jammed", { place: "3" }), "das Tor klemmt bei 3"],
    [
      "one within another",
      gate("refused", { detail: gate("jammed", { place: "3" }) }),
      "das Tor lehnte den Befehl ab: das Tor klemmt bei 3",
    ],
    [
      "several",
      `${gate("jammed", { place: "3" })}; ${gate("jammed", { place: "4" })}`,
      "das Tor klemmt bei 3; das Tor klemmt bei 4",
    ],
    ["with a name", `north: ${gate("jammed", { place: "3" })}`, "north: das Tor klemmt bei 3"],
    [
      "several with names",
      `north: ${gate("jammed", { place: "3" })}; south: E 7`,
      "north: das Tor klemmt bei 3; south: E 7",
    ],
    [
      "in a sentence of the core",
      sentence("delivery.not-sent-again", { reason: gate("jammed", { place: "3" }) }),
      "Nicht noch einmal gesendet: das Tor klemmt bei 3",
    ],
    ["of the core", sentence("delivery.busy"), "Das Gerät ist mit einer anderen Nachricht belegt."],
    ["without a translation", gate("retries", { count: 2 }), "tried 2 times"],
    ["words of a device", asGiven("486 Busy Here"), "486 Busy Here"],
    ["words with a name", "host: 486 Busy Here; x", "host: 486 Busy Here; x"],
    ["nothing", "", ""],
  ])("are shown in German: %s", (_what, text, german) => {
    expect(gateRegistry().translate(text, "de")).toBe(german);
    expect(gateRegistry().translate(text, "en")).toBe(text);
  });

  it("name fields of the configuration by code, and are not found in texts then", () => {
    const registry = createSentenceRegistry();
    registry.set("gate", { en: { ...EN, "label.host-name": "Host" }, de: { ...DE, "label.host-name": "Rechner" } });
    const code = "plugin.gate.label.host-name";
    expect(registry.label("gate", "hostName")).toEqual({
      text: "Host",
      sentence: { code, params: {}, translations: { de: "Rechner" } },
    });
    expect([registry.label("gate", "port"), registry.label("door", "hostName"), registry.read("Host")]).toEqual([
      ...[null, null, null],
    ]);
  });

  it("of the core have no translations: clients have its catalogue", () => {
    expect(gateRegistry().read(sentence("delivery.busy"))).toEqual({ code: "delivery.busy", params: {} });
  });

  it("never take a core sentence's place, and those of a new version replace the old", () => {
    const registry = gateRegistry();
    registry.set("copy", { en: { busy: sentence("delivery.busy") }, de: { busy: "falsch" } });
    expect(registry.read(sentence("delivery.busy"))?.code).toBe("delivery.busy");
    registry.set("gate", { en: { jammed: "the gate jams" }, de: {} });
    expect(registry.read(gate("jammed", { place: "3" }))).toBeNull();
    expect(registry.translate("the gate jams", "de")).toBe("the gate jams");
  });

  it("are read in bounded time from hostile text", () => {
    const registry = gateRegistry();
    const text = `${"a: the gate is jammed at ; ".repeat(20_000)}`;
    const start = performance.now();
    expect(registry.read(text)).toBeNull();
    registry.read(text.slice(0, 10_000));
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});

describe("messages of libraries", () => {
  it("are read as Node writes them, with the name of the host before them and within other sentences", async () => {
    const error = await new Promise<Error>((fulfil) => connect(1, "127.0.0.1").once("error", fulfil));
    const { translate } = createSentenceRegistry();
    expect(translate(`127.0.0.1:1: ${error.message}`, "de")).toBe(
      "127.0.0.1:1: Die Verbindung wurde abgelehnt (connect ECONNREFUSED 127.0.0.1:1)",
    );
    const within = sentence("health.link-down-because", { reason: error.message });
    expect(translate(within, "de")).toContain("Die Verbindung wurde abgelehnt (connect ECONNREFUSED 127.0.0.1:1)");
    expect(translate("a library that nobody knows failed", "de")).toBe("a library that nobody knows failed");
  });

  it.each([
    ["ENOENT: no such file or directory, open '/x/y'", "Die Datei oder der Ordner fehlt (ENOENT, open '/x/y')"],
    [
      "getaddrinfo ENOTFOUND mail.example.org",
      "Der Name des Hosts ist unbekannt (getaddrinfo ENOTFOUND mail.example.org)",
    ],
    [
      "self-signed certificate in certificate chain",
      "Die Zertifikatskette enthält ein selbst signiertes Zertifikat (self-signed certificate in certificate chain)",
    ],
    ["x.example.org: no response within 30 s", "x.example.org: keine Antwort innerhalb von 30 s"],
  ])("gives %s in German", (text, german) => {
    expect(createSentenceRegistry().translate(text, "de")).toBe(german);
  });
});
