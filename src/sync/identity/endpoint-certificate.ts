import { sentence } from "../../lib/sentences/sentences.ts";
import "reflect-metadata";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequest,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { CallerError } from "../../lib/errors.ts";
import {
  CERTIFICATE_KEY_ALGORITHM,
  type CertificateAndKey,
  CLOCK_SKEW_MARGIN_MS,
  exportPrivateKeyPem,
  generateKeyPair,
  importSigningKey,
  newSerialNumber,
  toPem,
} from "../../ops/tls/certificate-authority.ts";
import { ENDPOINT_URN_PREFIX } from "./certificate-info.ts";

/** @source docs/decisions/0040-replication.md, Section 6 */
const VALIDITY_MS = 90 * 86_400_000;

/** A new key, which never leaves the appliance, and the certificate request for it; both PEM. */
export interface CertificateRequestWithKey {
  request: string;
  key: string;
}

/** Generates a key and its certificate request; the authority decides on the subject. */
export async function createCertificateRequest(): Promise<CertificateRequestWithKey> {
  const keys = await generateKeyPair();
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: ["endpoint"] }],
    signingAlgorithm: CERTIFICATE_KEY_ALGORITHM,
    keys,
  });
  return { request: toPem(request), key: await exportPrivateKeyPem(keys.privateKey) };
}

/**
 * Issues a certificate (PEM) for an appliance, valid for 90 days as TLS client (to the cloud) and server (for its
 * peers). Throws CallerError if the request cannot be read or is not signed by its own key.
 */
export async function issueEndpointCertificate(
  authority: CertificateAndKey,
  request: string,
  endpoint: string,
  now: number,
): Promise<string> {
  const asked = await parseCertificateRequest(request);
  const certificate = await X509CertificateGenerator.create({
    serialNumber: newSerialNumber(),
    subject: [{ CN: [endpoint] }],
    issuer: new X509Certificate(authority.certificate).subject,
    notBefore: new Date(now - CLOCK_SKEW_MARGIN_MS),
    notAfter: new Date(now + VALIDITY_MS),
    signingAlgorithm: CERTIFICATE_KEY_ALGORITHM,
    publicKey: asked.publicKey,
    signingKey: await importSigningKey(authority.key),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth, ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([{ type: "url", value: `${ENDPOINT_URN_PREFIX}${endpoint}` }]),
    ],
  });
  return toPem(certificate);
}

async function parseCertificateRequest(text: string): Promise<Pkcs10CertificateRequest> {
  const refused = (): CallerError =>
    new CallerError("invalid-value", sentence("error.request-must-be-a-valid-pkcs-10-certificate-request"));
  try {
    const asked = new Pkcs10CertificateRequest(text);
    const { name, namedCurve } = asked.publicKey.algorithm as { name: string; namedCurve?: string };
    if (
      name === CERTIFICATE_KEY_ALGORITHM.name &&
      namedCurve === CERTIFICATE_KEY_ALGORITHM.namedCurve &&
      (await asked.verify())
    )
      return asked;
  } catch {
    throw refused();
  }
  throw refused();
}

/** The public key (DER) of a certificate request. Throws the library's error if it cannot be read. */
export function requestedPublicKey(request: string): Buffer {
  return Buffer.from(new Pkcs10CertificateRequest(request).publicKey.rawData);
}
