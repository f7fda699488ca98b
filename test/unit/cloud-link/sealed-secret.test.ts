import { describe, expect, it } from "vitest";
import {
  exchangeKeyFingerprint,
  generateExchangeKeys,
  openSealedSecret,
  publicExchangeKey,
  type SecretBinding,
  sealForAppliance,
} from "../../../src/cloud-link/secret-hand-over/sealed-secret.ts";

const binding: SecretBinding = {
  ...{ endpoint: "east", type: "callmgr-clusters", id: "campus", field: "axlPassword", mark: "0123456789abcdef" },
  target: ["publisher.example.org", "axl", null],
};
const keys = generateExchangeKeys();
const sealed = sealForAppliance("hunter2 äöü", keys.publicKey, binding);
const changedAt = (at: number): string => {
  const bytes = Buffer.from(sealed, "base64");
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  return bytes.toString("base64");
};

describe("a secret that is sealed for an appliance", () => {
  it("opens there, and its text shows nothing of it", () => {
    expect(openSealedSecret(sealed, keys.privateKey, binding)).toBe("hunter2 äöü");
    expect(Buffer.from(sealed, "base64").includes("hunter2")).toBe(false);
    expect(sealForAppliance("hunter2 äöü", keys.publicKey, binding)).not.toBe(sealed);
    expect(openSealedSecret(sealForAppliance("", keys.publicKey, binding), keys.privateKey, binding)).toBe("");
  });

  it.each<[string, Partial<SecretBinding>]>([
    ["another appliance", { endpoint: "west" }],
    ["another resource", { type: "callmgr-onprem-servers" }],
    ["another cluster", { id: "other" }],
    ["another field", { field: "snmpCommunity" }],
    ["an earlier secret", { mark: "fedcba9876543210" }],
    ["another host", { target: ["attacker.example.org", "axl", null] }],
    ["another user", { target: ["publisher.example.org", "root", null] }],
    ["a fingerprint that was removed", { target: ["publisher.example.org", "axl", "ab:cd"] }],
    ["fewer bound fields", { target: ["publisher.example.org", "axl"] }],
    ["values that only look equal when joined", { target: ["publisher.example.org,axl", null] }],
    ["a text instead of null", { target: ["publisher.example.org", "axl", "null"] }],
  ])("does not open as %s", (_, change) => {
    expect(openSealedSecret(sealed, keys.privateKey, { ...binding, ...change })).toBeNull();
  });

  it("does not open with the key of another appliance, or an earlier one", () => {
    expect(openSealedSecret(sealed, generateExchangeKeys().privateKey, binding)).toBeNull();
  });

  it.each([
    ["the ephemeral key", 0],
    ["the nonce", 32],
    ["the text", 44],
    ["the tag", Buffer.from(sealed, "base64").length - 1],
  ])("does not open with a changed bit in %s", (_, at) => {
    expect(openSealedSecret(changedAt(at), keys.privateKey, binding)).toBeNull();
  });

  it.each([
    ["nothing", ""],
    ["too little", Buffer.alloc(59).toString("base64")],
    ["half of it", sealed.slice(0, 60)],
    ["zeros", Buffer.alloc(80).toString("base64")],
    ["no base64", "%%%%"],
  ])("does not open as %s", (_, given) => {
    expect(openSealedSecret(given, keys.privateKey, binding)).toBeNull();
  });

  it.each([
    ["no key", ""],
    ["a short key", "AAAA"],
    ["a long key", Buffer.alloc(33).toString("base64")],
    ["another spelling", `${keys.publicKey.slice(0, -1)} `],
    // A point of low order: the shared secret would be known to all.
    ["zeros", Buffer.alloc(32).toString("base64")],
    ["one", Buffer.concat([Buffer.from([1]), Buffer.alloc(31)]).toString("base64")],
  ])("is not made for %s", (_, publicKey) => {
    expect(() => sealForAppliance("hunter2", publicKey, binding)).toThrow();
  });

  it("has a key with one fingerprint", () => {
    expect(publicExchangeKey(keys.privateKey)).toBe(keys.publicKey);
    expect(exchangeKeyFingerprint(keys.publicKey)).toMatch(/^([0-9a-f]{4} ){7}[0-9a-f]{4}$/);
  });
});
