import { createHash, createPublicKey, X509Certificate } from "node:crypto";

/** What the name of an appliance begins with in its certificate. @source replication.md 6 */
export const ENDPOINT_URN_PREFIX = "urn:endpoint:";

/** A certificate's second third is over: time for another one. @source replication.md 6: 60 of 90 days */
const RENEWAL_FRACTION = 2 / 3;

/** What an appliance's certificate says. */
export interface EndpointCertificateInfo {
  endpoint: string;
  keyHash: string;
  /** Epoch ms. */
  validFrom: number;
  validTo: number;
}

/** What a certificate (PEM or DER) says; null for one that is not an appliance's or can't be read. */
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

/** Name of a public key: SHA-256 of its DER form, hex. */
function keyHashOf(spki: Buffer): string {
  return createHash("sha256").update(spki).digest("hex");
}

/** The public key (DER) of a private one (PEM). */
export function publicKeyOf(key: string): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

/** True once another certificate is to be fetched. */
export function isRenewalDue({ validFrom, validTo }: EndpointCertificateInfo, now: number): boolean {
  return now >= validFrom + (validTo - validFrom) * RENEWAL_FRACTION;
}
