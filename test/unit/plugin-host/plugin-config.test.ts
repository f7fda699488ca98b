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
  it("stores what is given, its secrets sealed, and fills defaults in only to run", () => {
    const stored = config.toStored({ host: "a", password: "open sesame" }, {});
    expect(stored).toEqual({ host: "a", password: "v1:open sesame" });
    expect(config.toRuntime(stored).config).toEqual({ host: "a", port: 80, names: ["a"], password: "open sesame" });
  });

  it("never shows a secret", () => {
    expect(config.toPublic({ host: "a", password: "v1:x", left: "over" })).toEqual({ host: "a" });
    expect(config.toPublic(null)).toEqual({});
  });

  it("keeps a secret that is not given, clears one that is null, and replaces all else", () => {
    const stored = { host: "a", port: 8080, password: "v1:x" };
    expect(config.toStored({ host: "b" }, stored)).toEqual({ host: "b", password: "v1:x" });
    expect(config.toStored({ host: "b", password: null }, stored)).toEqual({ host: "b" });
    expect(config.toStored({ host: "b", password: "y" }, stored)).toEqual({ host: "b", password: "v1:y" });
  });

  it("seals what looks sealed already: it came from outside", () => {
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
  ])("refuses %j", (input, faults) => {
    expect(faultsOf(input)).toEqual(faults);
  });

  it("does not run without what it requires", () => {
    expect(() => config.toRuntime({ port: 1 })).toThrow("Field config.host is required.");
  });
});

describe("secrets in what a plugin says", () => {
  it("are struck out, longest first, wherever texts stand", () => {
    const redact = createRedact(["sesame", "open sesame", "abc"]);
    expect(redact("say open sesame or sesame, abc")).toBe("say [redacted] or [redacted], abc");
    expect(redact({ "sesame!": [1, null, { deep: "xsesamex" }] })).toEqual({
      "[redacted]!": [1, null, { deep: "x[redacted]x" }],
    });
  });

  it("are none when there are none", () => {
    const values = { a: 1 };
    expect(createRedact([])(values)).toBe(values);
  });
});
