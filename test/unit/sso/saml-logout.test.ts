import { execFileSync } from "node:child_process";
import { createPrivateKey, createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { handleSamlRequest } from "../../../src/sso/saml-processor.ts";
import type { SamlConfig } from "../../../src/sso/saml-worker-messages.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
const OTHER = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const HERE = "https://here.example.org/logout";
let key: KeyObject;
let certificate: string;
beforeAll(() => {
  const folder = makeTempDir();
  const [keyFile, certificateFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const made = ["-keyout", keyFile, "-out", certificateFile, "-nodes", "-days", "2", "-subj", "/CN=idp"];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", ...made], { stdio: "pipe" });
  key = createPrivateKey(readFileSync(keyFile, "utf8"));
  certificate = readFileSync(certificateFile, "utf8");
});

function xmlOf(more: Partial<Record<"issuer" | "destination" | "issued" | "content", string>> = {}): string {
  const { issuer = "https://idp.example.org", destination = HERE, issued = new Date().toISOString() } = more;
  const { content = "<saml:NameID>ann-7</saml:NameID><samlp:SessionIndex>s1</samlp:SessionIndex>" } = more;
  return `<samlp:LogoutRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_r1" Version="2.0" IssueInstant="${issued}" Destination="${destination}"><saml:Issuer>${issuer}</saml:Issuer>${content}</samlp:LogoutRequest>`;
}

interface Sent {
  relay?: string | null;
  by?: KeyObject;
  algorithm?: string;
  /** Writes hexadecimal digits small, as some providers do. */
  isSmall?: boolean;
}

function messageOf(xml: string, { relay = "a b/c", by = key, algorithm = RSA_SHA256, isSmall = false }: Sent = {}) {
  const SAMLRequest = deflateRawSync(xml).toString("base64");
  const values = { SAMLRequest, ...(relay === null ? {} : { RelayState: relay }), SigAlg: algorithm };
  const pairs = Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const signed = pairs.map((pair) => (isSmall ? pair.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase()) : pair));
  const digest = algorithm.endsWith("sha1") ? "RSA-SHA1" : "RSA-SHA256";
  const Signature = createSign(digest).update(signed.join("&")).sign(by, "base64");
  return { SAMLRequest, RelayState: relay, SigAlg: algorithm, Signature };
}

async function read(message: ReturnType<typeof messageOf>, more: Partial<SamlConfig> = {}): Promise<string> {
  const parties: SamlConfig = {
    ...{ consumerUrl: "https://here.example.org/consume", issuer: "here", entryPoint: "https://idp.example.org/sso" },
    ...{ idpIssuer: "https://idp.example.org", logoutUrl: "https://idp.example.org/slo", logoutCallbackUrl: HERE },
    ...{ privateKey: null, certificate: null, idpCertificates: [certificate], clockToleranceMs: 60_000 },
    ...{ allowSha1: false, acceptSignedResponse: false, nameIdFormat: null, contexts: [], forceAuthentication: false },
    ...more,
  };
  const result = await handleSamlRequest({ what: "logout", parties, message, now: Date.now() });
  if ("error" in result) return result.error.code;
  if (!("logout" in result)) return "";
  const { id, nameId, sessionIndex, location } = result.logout;
  const { origin, pathname, searchParams } = new URL(location ?? "https://none.example.org/");
  return [id, nameId, sessionIndex, origin + pathname, searchParams.get("RelayState")].join(" ");
}

const GOOD = "_r1 ann-7 s1 https://idp.example.org/slo a b/c";

describe("a logout request of a SAML provider", () => {
  it("is answered at the provider", async () => {
    expect(await read(messageOf(xmlOf()))).toBe(GOOD);
    expect(await read(messageOf(xmlOf(), { isSmall: true }))).toBe(GOOD);
    expect(await read(messageOf(xmlOf(), { relay: null }))).toBe("_r1 ann-7 s1 https://idp.example.org/slo ");
    expect(await read(messageOf(xmlOf()), { logoutUrl: null })).toBe("_r1 ann-7 s1 https://none.example.org/ ");
  });

  it("is refused unless its signature covers all of it", async () => {
    const good = messageOf(xmlOf());
    const other = messageOf(xmlOf({ content: "<saml:NameID>bob</saml:NameID>" }));
    for (const wrong of [
      { ...good, Signature: "" },
      { ...good, SigAlg: "" },
      { ...good, SAMLRequest: other.SAMLRequest },
      { ...good, RelayState: "elsewhere" },
      { ...good, RelayState: null },
      messageOf(xmlOf(), { by: OTHER }),
      { ...good, SigAlg: "http://www.w3.org/2000/09/xmldsig#hmac-sha1" },
    ])
      expect(await read(wrong)).toBe("signature");
    const sha1 = messageOf(xmlOf(), { algorithm: "http://www.w3.org/2000/09/xmldsig#rsa-sha1" });
    expect([await read(sha1), await read(sha1, { allowSha1: true })]).toEqual(["signature", GOOD]);
  });

  it.each([
    ["of another provider", () => xmlOf({ issuer: "https://eve.example.org" }), "audience"],
    ["for another recipient", () => xmlOf({ destination: "https://other.example.org/logout" }), "audience"],
    ["that is old", () => xmlOf({ issued: new Date(Date.now() - 700_000).toISOString() }), "expired"],
    ["of the future", () => xmlOf({ issued: new Date(Date.now() + 700_000).toISOString() }), "expired"],
    ["without a time", () => xmlOf({ issued: "" }), "expired"],
    ["that names no user", () => xmlOf({ content: "" }), "answer"],
    ["with a DOCTYPE", () => `<!DOCTYPE a>${xmlOf()}`, "answer"],
    ["that inflates to very much", () => xmlOf({ content: " ".repeat(1_000_000) }), "answer"],
    ["that is none", () => "x", "answer"],
  ])("%s is refused", async (_what, xml, reason) => {
    expect(await read(messageOf(xml()))).toBe(reason);
  });
});
