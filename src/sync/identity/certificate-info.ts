import { createHash, createPublicKey, X509Certificate } from "node:crypto";

/** URN prefix of an appliance's name in its certificate. @source docs/decisions/0040-replication.md, Section 6 */
export const ENDPOINT_URN_PREFIX = "urn:endpoint:";

/** A certificate is renewed after two thirds of its validity, 60 of 90 days. @source docs/decisions/0040-replication.md, Section 6 */
const RENEWAL_FRACTION = 2 / 3;

/** Fields of an appliance's certificate. */
export interface EndpointCertificateInfo {
  endpoint: string;
  keyHash: string;
  /** Epoch ms. */
  validFrom: number;
  validTo: number;
}

/** Reads a certificate (PEM or DER); null if it cannot be read or is not an appliance's. */
export function readEndpointCertificate(certificate: string | Buffer): EndpointCertificateInfo | null {
  try {
    const read = new X509Certificate(certificate);
    const [, endpoint] =
      new RegExp(`(?:^|, )URI:${ENDPOINT_URN_PREFIX}([0-9a-f-]{36})(?:,|$)`).exec(read.subjectAltName ?? "") ?? [];
    if (endpoint === undefined) return null;
    const times = { validFrom: Date.parse(read.validFrom), validTo: Date.parse(read.validTo) };
    return { endpoint, keyHash: keyHashOf(read.publicKey.export({ type: "spki", format: "der" })), ...times };
  } catch {
    return null;
  }
}

/** Id of a public key: SHA-256 of its DER form, hex. */
function keyHashOf(spki: Buffer): string {
  return createHash("sha256").update(spki).digest("hex");
}

/** The public key (DER) of a private one (PEM). */
export function publicKeyOf(key: string): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

export function isRenewalDue({ validFrom, validTo }: EndpointCertificateInfo, now: number): boolean {
  return now >= validFrom + (validTo - validFrom) * RENEWAL_FRACTION;
}
