import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { makeTempDir } from "./temp-dir.ts";

/** What an assertion says. Times are ms from now. */
export interface SamlAssertionClaims {
  nameId: string;
  attributes: Readonly<Record<string, readonly string[]>>;
  audience: string;
  issuer: string;
  recipient: string;
  inResponseTo: string;
  beginsIn: number;
  endsIn: number;
  id: string;
  /** Which algorithms are SHA-1. */
  sha1?: "digest" | "signature" | "both";
}

/** A SAML identity provider on loopback: it logs everybody in as whom the test says, and signs with xmlsec1. */
export interface SamlPeer {
  entryPoint: string;
  entityId: string;
  certificate: string;
  /** What the next assertion says beside what the request asks for. */
  nextAssertion: Partial<SamlAssertionClaims>;
  /** True: assertions are signed with a key that nobody knows. */
  hasOtherKey: boolean;
  /** A certificate in PEM form: assertions are encrypted for whoever has its key; null: they are not. */
  encryptsFor: string | null;
  /** An answer as the browser would post it, in Base64. */
  response(said: Partial<SamlAssertionClaims>, request: { id: string; consumer: string; issuer: string }): string;
  stop(): Promise<void>;
}

/** Starts one. */
export async function startSamlPeer(): Promise<SamlPeer> {
  const folder = makeTempDir();
  for (const name of ["own", "other"]) makeKey(folder, name);
  const server = createServer();
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let made = 0;
  const peer: SamlPeer = {
    entryPoint: `${origin}/sso`,
    entityId: `${origin}/entity`,
    certificate: readFileSync(join(folder, "own.crt"), "utf8"),
    nextAssertion: {},
    hasOtherKey: false,
    encryptsFor: null,
    response(said, request) {
      made += 1;
      const full = {
        ...{ nameId: "ann", attributes: {}, audience: request.issuer, issuer: peer.entityId },
        ...{
          recipient: request.consumer,
          inResponseTo: request.id,
          beginsIn: -1_000,
          endsIn: 120_000,
          id: `_a${made}`,
        },
        ...said,
      };
      const file = join(folder, `${made}.xml`);
      writeFileSync(file, responseOf(full, request));
      const key = join(folder, peer.hasOtherKey ? "other.key" : "own.key");
      const idOf = ["--id-attr:ID", "urn:oasis:names:tc:SAML:2.0:assertion:Assertion"];
      const signed = execFileSync("xmlsec1", ["--sign", "--privkey-pem", key, ...idOf, file]);
      const told = peer.encryptsFor === null ? signed : encrypted(folder, signed, peer.encryptsFor);
      return told.toString("base64");
    },
    stop() {
      server.closeAllConnections();
      return new Promise((done) => void server.close(() => done()));
    },
  };
  server.on("request", (request, response) => {
    const { searchParams } = new URL(request.url ?? "/", origin);
    const xml = inflateRawSync(Buffer.from(searchParams.get("SAMLRequest") ?? "", "base64")).toString();
    const attribute = (name: string): string => new RegExp(` ${name}="([^"]*)"`).exec(xml)?.[1] ?? "";
    const issuer = /Issuer[^>]*>([^<]*)</.exec(xml)?.[1] ?? "";
    const consumer = attribute("AssertionConsumerServiceURL");
    const answer = peer.response(peer.nextAssertion, { id: attribute("ID"), consumer, issuer });
    const relay = searchParams.get("RelayState") ?? "";
    const fields = `<input type="hidden" name="SAMLResponse" value="${answer}"><input type="hidden" name="RelayState" value="${relay}">`;
    response.setHeader("content-type", "text/html");
    response.end(
      `<!doctype html><title>IdP</title><form method="post" action="${consumer}">${fields}<button>Enter</button></form>`,
    );
  });
  return peer;
}

function responseOf(said: SamlAssertionClaims, request: { id: string; consumer: string }): string {
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const attributes = Object.entries(said.attributes).map(
    ([name, values]) =>
      `<saml:Attribute Name="${name}">${values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`).join("")}</saml:Attribute>`,
  );
  const issuer = `<saml:Issuer>${said.issuer}</saml:Issuer>`;
  const data = `NotOnOrAfter="${at(said.endsIn)}" Recipient="${said.recipient}" InResponseTo="${said.inResponseTo}"`;
  const algorithms = "http://www.w3.org/2001/10/xml-exc-c14n#";
  const signatureMethod = ["signature", "both"].includes(said.sha1 ?? "")
    ? "http://www.w3.org/2000/09/xmldsig#rsa-sha1"
    : "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
  const digestMethod = ["digest", "both"].includes(said.sha1 ?? "")
    ? "http://www.w3.org/2000/09/xmldsig#sha1"
    : "http://www.w3.org/2001/04/xmlenc#sha256";
  const signature = `<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="${algorithms}"/><ds:SignatureMethod Algorithm="${signatureMethod}"/><ds:Reference URI="#${said.id}"><ds:Transforms><ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/><ds:Transform Algorithm="${algorithms}"/></ds:Transforms><ds:DigestMethod Algorithm="${digestMethod}"/><ds:DigestValue/></ds:Reference></ds:SignedInfo><ds:SignatureValue/></ds:Signature>`;
  const assertion = `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${said.id}" Version="2.0" IssueInstant="${at(0)}">${issuer}${signature}<saml:Subject><saml:NameID>${said.nameId}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData ${data}/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="${at(said.beginsIn)}" NotOnOrAfter="${at(said.endsIn)}"><saml:AudienceRestriction><saml:Audience>${said.audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant="${at(0)}" SessionIndex="s1"/>${attributes.length > 0 ? `<saml:AttributeStatement>${attributes.join("")}</saml:AttributeStatement>` : ""}</saml:Assertion>`;
  return `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_r${said.id}" Version="2.0" IssueInstant="${at(0)}" Destination="${request.consumer}" InResponseTo="${request.id}">${issuer}<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>${assertion}</samlp:Response>`;
}

/** The assertion of a response encrypted for the holder of a certificate. */
function encrypted(folder: string, response: Buffer, certificate: string): Buffer {
  const [data, form, own] = ["plain.xml", "form.xml", "reader.crt"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const xenc = "http://www.w3.org/2001/04/xmlenc#";
  const cipher = "<xenc:CipherData><xenc:CipherValue/></xenc:CipherData>";
  const key = `<ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><xenc:EncryptedKey><xenc:EncryptionMethod Algorithm="${xenc}rsa-oaep-mgf1p"/>${cipher}</xenc:EncryptedKey></ds:KeyInfo>`;
  writeFileSync(data, response);
  writeFileSync(own, certificate);
  writeFileSync(
    form,
    `<xenc:EncryptedData xmlns:xenc="${xenc}" Type="${xenc}Element"><xenc:EncryptionMethod Algorithm="${xenc}aes256-cbc"/>${key}${cipher}</xenc:EncryptedData>`,
  );
  const what = ["--xml-data", data, "--node-name", "urn:oasis:names:tc:SAML:2.0:assertion:Assertion"];
  const how = ["--encrypt", "--pubkey-cert-pem", own, "--session-key", "aes-256", ...what, form];
  const xml = execFileSync("xmlsec1", how).toString();
  return Buffer.from(
    xml.replace(
      /<xenc:EncryptedData[\s\S]*<\/xenc:EncryptedData>/,
      (all) => `<saml:EncryptedAssertion>${all}</saml:EncryptedAssertion>`,
    ),
  );
}

/** Makes a key and its certificate, `name`.key and `name`.crt. */
export function makeKey(folder: string, name: string): void {
  const files = ["-keyout", join(folder, `${name}.key`), "-out", join(folder, `${name}.crt`)];
  const kind = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", `/CN=${name}`];
  execFileSync("openssl", ["req", "-x509", ...kind, ...files], { stdio: "pipe" });
}
