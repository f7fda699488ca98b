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

/** ECDSA keys on the curve P-256, signatures with SHA-256. */
export const CERTIFICATE_KEY_ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 86_400_000;
/** As long as an appliance may be in use. */
const AUTHORITY_LIFETIME_MS = 20 * 365 * DAY_MS;
/** The longest lifetime that browsers accept. @source CA/Browser Forum Baseline Requirements 6.3.2, as of 2020 */
const CERTIFICATE_LIFETIME_MS = 397 * DAY_MS;
/** Clocks of clients may be behind. */
export const CLOCK_SKEW_MARGIN_MS = DAY_MS;

/** Creates the appliance's own CA, which can sign server certificates only. */
export async function createCertificateAuthority(name: string, now: number): Promise<CertificateAndKey> {
  const keys = await generateKeyPair();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerialNumber(),
    name: [{ CN: [`Carillon ${name}`.slice(0, 64)] }],
    notBefore: new Date(now - CLOCK_SKEW_MARGIN_MS),
    notAfter: new Date(now + AUTHORITY_LIFETIME_MS),
    signingAlgorithm: CERTIFICATE_KEY_ALGORITHM,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: toPem(certificate), key: await exportPrivateKeyPem(keys.privateKey) };
}

/** Issues a server certificate for `names`: host names and addresses, at least one. */
export async function issueServerCertificate(
  authority: CertificateAndKey,
  names: readonly string[],
  now: number,
): Promise<CertificateAndKey> {
  const keys = await generateKeyPair();
  const issuer = new X509Certificate(authority.certificate);
  const alternatives = names.map((value) => ({ type: isIP(value) ? ("ip" as const) : ("dns" as const), value }));
  const extensions: Extension[] = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    new SubjectAlternativeNameExtension(alternatives),
  ];
  const certificate = await X509CertificateGenerator.create({
    serialNumber: newSerialNumber(),
    subject: [{ CN: [(names[0] ?? "carillon").slice(0, 64)] }],
    issuer: issuer.subject,
    notBefore: new Date(now - CLOCK_SKEW_MARGIN_MS),
    notAfter: new Date(now - CLOCK_SKEW_MARGIN_MS + CERTIFICATE_LIFETIME_MS),
    signingAlgorithm: CERTIFICATE_KEY_ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await importSigningKey(authority.key),
    extensions,
  });
  return {
    certificate: `${toPem(certificate)}${authority.certificate}`,
    key: await exportPrivateKeyPem(keys.privateKey),
  };
}

/** Generates an exportable key pair. */
export function generateKeyPair(): Promise<CryptoKeyPair> {
  return webcrypto.subtle.generateKey(CERTIFICATE_KEY_ALGORITHM, true, ["sign", "verify"]) as Promise<CryptoKeyPair>;
}

type CryptoKeyPair = webcrypto.CryptoKeyPair;

export async function exportPrivateKeyPem(key: webcrypto.CryptoKey): Promise<string> {
  const bytes = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", key)).toString("base64");
  return `-----BEGIN PRIVATE KEY-----\n${bytes.replace(/.{64}(?=.)/g, "$&\n")}\n-----END PRIVATE KEY-----\n`;
}

/** Imports a private key (PEM) for signing. */
export function importSigningKey(text: string): Promise<webcrypto.CryptoKey> {
  const bytes = Buffer.from(text.replace(/-----[^-]+-----/g, ""), "base64");
  return webcrypto.subtle.importKey("pkcs8", bytes, CERTIFICATE_KEY_ALGORITHM, false, ["sign"]);
}

/** A certificate, or a certificate request, as PEM. */
export function toPem(signed: { toString(format: "pem"): string }): string {
  return `${signed.toString("pem").trimEnd()}\n`;
}

/** A random serial number; positive, as required. @source RFC 5280 4.1.2.2 */
export function newSerialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40;
  return bytes.toString("hex");
}
