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

/** @source replication.md 6 */
const VALIDITY_MS = 90 * 86_400_000;

/** A key that never leaves the appliance, and the request (both PEM) by which a certificate for it is asked for. */
export interface CertificateRequestWithKey {
  request: string;
  key: string;
}

/** Makes a key and asks for its certificate; who it is for, the authority decides. */
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
 * Has `authority` sign a certificate (PEM) of an appliance, good for 90 days in both roles of TLS: it calls the cloud, and
 * its neighbours call it. Throws CallerError for a request that can't be read or that its own key did not sign.
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
  const refused = (): CallerError => new CallerError("invalid-value", "The request for a certificate is not good.");
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

/** The public key (DER) that a request asks a certificate for. Throws what the library throws for one that can't be read. */
export function requestedPublicKey(request: string): Buffer {
  return Buffer.from(new Pkcs10CertificateRequest(request).publicKey.rawData);
}
