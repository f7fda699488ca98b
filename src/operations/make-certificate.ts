import "reflect-metadata";
import { randomBytes, webcrypto } from "node:crypto";
import { isIP } from "node:net";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** A certificate and its private key, both PEM. */
export interface CertificateAndKey {
  certificate: string;
  key: string;
}

/** Keys are on the curve P-256 and sign with SHA-256. */
export const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 86_400_000;
/** own choice: as long as a box may stand somewhere */
const AUTHORITY_MS = 20 * 365 * DAY_MS;
/** The longest that browsers take. @source CA/Browser Forum Baseline Requirements 6.3.2, as of 2020 */
const LEAF_MS = 397 * DAY_MS;
/** Clocks of others may be behind. */
export const EARLIER_MS = DAY_MS;

/** Makes an authority of the appliance's own, which can sign nothing but servers. */
export async function makeAuthority(name: string, now: number): Promise<CertificateAndKey> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: [{ CN: [`Carillon ${name}`.slice(0, 64)] }],
    notBefore: new Date(now - EARLIER_MS),
    notAfter: new Date(now + AUTHORITY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: pem(certificate), key: await keyPem(keys.privateKey) };
}

/** Has `authority` sign a certificate of a server that is called by `names`: host names and addresses, at least one. */
export async function issueCertificate(
  authority: CertificateAndKey,
  names: readonly string[],
  now: number,
): Promise<CertificateAndKey> {
  const keys = await newKeys();
  const issuer = new X509Certificate(authority.certificate);
  const alternatives = names.map((value) => ({ type: isIP(value) ? ("ip" as const) : ("dns" as const), value }));
  const extensions: Extension[] = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    new SubjectAlternativeNameExtension(alternatives),
  ];
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: [{ CN: [(names[0] ?? "carillon").slice(0, 64)] }],
    issuer: issuer.subject,
    notBefore: new Date(now - EARLIER_MS),
    notAfter: new Date(now - EARLIER_MS + LEAF_MS),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await signingKey(authority.key),
    extensions,
  });
  return { certificate: `${pem(certificate)}${authority.certificate}`, key: await keyPem(keys.privateKey) };
}

/** Makes a pair of keys that may be taken out. */
export function newKeys(): Promise<CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]) as Promise<CryptoKeyPair>;
}

type CryptoKeyPair = webcrypto.CryptoKeyPair;

/** A private key as PEM. */
export async function keyPem(key: webcrypto.CryptoKey): Promise<string> {
  const bytes = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", key)).toString("base64");
  return `-----BEGIN PRIVATE KEY-----\n${bytes.replace(/.{64}(?=.)/g, "$&\n")}\n-----END PRIVATE KEY-----\n`;
}

/** A private key from PEM, to sign with. */
export function signingKey(text: string): Promise<webcrypto.CryptoKey> {
  const bytes = Buffer.from(text.replace(/-----[^-]+-----/g, ""), "base64");
  return webcrypto.subtle.importKey("pkcs8", bytes, ALGORITHM, false, ["sign"]);
}

/** A certificate, or the request for one, as PEM. */
export function pem(signed: { toString(format: "pem"): string }): string {
  return `${signed.toString("pem").trimEnd()}\n`;
}

/** Number of a new certificate. Positive, as it must be. @source RFC 5280 4.1.2.2 */
export function serial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40;
  return bytes.toString("hex");
}
