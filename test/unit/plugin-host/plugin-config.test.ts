import { describe, expect, it } from "vitest";
import { integer, list, secret, text } from "../../../src/plugin-api/index.ts";
import { createPluginConfig } from "../../../src/plugin-host/plugin-config.ts";
import { createRedact } from "../../../src/plugin-host/redaction.ts";
import type { Secrets } from "../../../src/store/store.ts";

const secrets: Secrets = { seal: (plain) => `v1:${plain}`, open: (sealed) => sealed.slice(3) };
const config = createPluginConfig(
  {
    host: text("Host.", { required: true }),
    port: integer("Port.", { min: 1, max: 65_535, default: 80 }),
    names: list("Names.", text("Name.", { max: 5 }), { default: ["a"] }),
    password: secret("Password."),
    bound: secret("Password of the host.", { boundTo: ["host", "port"] }),
  },
  secrets,
);

function faultsOf(input: unknown, stored: unknown = {}): string[] {
  try {
    config.toStored(input, stored);
    return [];
  } catch (error) {
    return (error as { faults: { field: string; type: string }[] }).faults.map(
      ({ field, type }) => `${field}: ${type}`,
    );
  }
}

describe("a plugin's configuration", () => {
  it("stores given values with sealed secrets and fills in defaults at runtime", () => {
    const stored = config.toStored({ host: "a", password: "open sesame" }, {});
    expect(stored).toEqual({ host: "a", password: "v1:open sesame" });
    expect(config.toRuntime(stored).config).toEqual({
      host: "a",
      port: 80,
      names: ["a"],
      password: "open sesame",
      bound: null,
    });
  });

  it("never shows secrets", () => {
    expect(config.toPublic({ host: "a", password: "v1:x", left: "over" })).toEqual({ host: "a" });
    expect(config.toPublic(null)).toEqual({});
  });

  it("keeps omitted secrets, clears null ones and replaces everything else", () => {
    const stored = { host: "a", port: 8080, password: "v1:x" };
    expect(config.toStored({ host: "b" }, stored)).toEqual({ host: "b", password: "v1:x" });
    expect(config.toStored({ host: "b", password: null }, stored)).toEqual({ host: "b" });
    expect(config.toStored({ host: "b", password: "y" }, stored)).toEqual({ host: "b", password: "v1:y" });
  });

  it("asks for a secret again that would go to another host or port", () => {
    const stored = { host: "a", bound: "v1:x" };
    expect(faultsOf({ host: "b" }, stored)).toEqual(["config.bound: required"]);
    expect(faultsOf({ host: "a", port: 81 }, stored)).toEqual(["config.bound: required"]);
    // The default written out is no change.
    expect(config.toStored({ host: "a", port: 80 }, stored)).toEqual({ host: "a", port: 80, bound: "v1:x" });
    expect(config.toStored({ host: "b", bound: "y" }, stored)).toEqual({ host: "b", bound: "v1:y" });
    expect(config.toStored({ host: "b", bound: null }, stored)).toEqual({ host: "b" });
  });

  it.each([
    ["another setting", { host: "a", names: ["b"] }, { host: "a", names: ["b"], password: "v1:x", bound: "v1:y" }],
    ["another host", { host: "evil" }, { host: "evil", password: "v1:x" }],
    ["another port", { host: "a", port: 81 }, { host: "a", port: 81, password: "v1:x" }],
    ["nothing", {}, { password: "v1:x", bound: "v1:y" }],
    ["no object", null, { password: "v1:x", bound: "v1:y" }],
    [
      "a secret that the sender chose",
      { host: "a", password: "v1:evil", bound: "plain" },
      { host: "a", password: "v1:x", bound: "v1:y" },
    ],
    ["a secret to another host", { host: "evil", bound: "v1:evil" }, { host: "evil", password: "v1:x" }],
  ])(
    "keeps the secrets when %s arrives from elsewhere, unless they would go to another place",
    (_, received, stored) => {
      expect(config.toReplicated(received, { host: "a", password: "v1:x", bound: "v1:y" })).toEqual(stored);
    },
  );

  it("seals input that looks sealed already", () => {
    expect(config.toStored({ host: "a", password: "v1:x" }, {})).toEqual({ host: "a", password: "v1:v1:x" });
  });

  it.each<[unknown, string[]]>([
    [{}, ["config.host: required"]],
    [null, ["config.host: required"]],
    [{ host: "a", port: 0 }, ["config.port: invalid-value"]],
    [{ host: 1, names: ["long name"] }, ["config.host: invalid-value", "config.names[0]: invalid-value"]],
    [{ host: "a", prt: 1 }, ["config.prt: invalid-value"]],
    [["a"], ["config: invalid-value"]],
    ["a", ["config: invalid-value"]],
  ])("rejects %j", (input, faults) => {
    expect(faultsOf(input)).toEqual(faults);
  });

  it("refuses to run without required values", () => {
    expect(() => config.toRuntime({ port: 1 })).toThrow("Field config.host is required.");
  });
});

describe("redaction of secrets", () => {
  it("replaces secrets everywhere, longest first", () => {
    const redact = createRedact(["sesame", "open sesame", "abc"]);
    expect(redact("say open sesame or sesame, abc")).toBe("say [redacted] or [redacted], abc");
    expect(redact({ "sesame!": [1, null, { deep: "xsesamex" }] })).toEqual({
      "[redacted]!": [1, null, { deep: "x[redacted]x" }],
    });
  });

  it("changes nothing without secrets", () => {
    const values = { a: 1 };
    expect(createRedact([])(values)).toBe(values);
  });
});
