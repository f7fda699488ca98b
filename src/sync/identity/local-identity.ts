import { createPrivateKey, sign, verify, X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { replaceFile } from "../../lib/durable-file.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { copyOwner } from "../../lib/file-ownership.ts";
import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import { type EndpointCertificateInfo, isRenewalDue, readEndpointCertificate } from "./certificate-info.ts";
import type { EnrolmentRequest, IssuedIdentity } from "./enrolment-service.ts";

/** Identity of the enrolled appliance: key, certificate and the organisation's CA certificate (PEM). */
export interface LocalIdentity {
  hub: string;
  token: string;
  key: string;
  certificate: string;
  authority: string;
  facts: EndpointCertificateInfo;
}

/** Sends a request to the hub; rejects with UpstreamError. */
export type IdentityRequester<A> = (asked: A) => Promise<IssuedIdentity>;

const EXPIRY_WARNING_MS = 14 * 86_400_000;

/** The identity of the appliance; null if it is standalone. Throws UpstreamError if the file cannot be read. */
export function readLocalIdentity(dataDir: string): LocalIdentity | null {
  const path = pathIn(dataDir);
  if (!existsSync(path)) return null;
  try {
    const kept = JSON.parse(readFileSync(path, "utf8")) as Omit<LocalIdentity, "facts">;
    const facts = readEndpointCertificate(kept.certificate);
    if (facts) return { ...kept, facts };
  } catch (error) {
    throw new UpstreamError("starting", sentence("error.path-cannot-be-read", { path }), { dataDir }, error);
  }
  throw new UpstreamError("starting", sentence("error.path-must-contain-an-appliance-certificate", { path }), {
    dataDir,
  });
}

function pathIn(dataDir: string): string {
  return join(dataDir, "link", "identity.json");
}

/**
 * Enrols the appliance with a code: generates its key, which stays here, and stores the issued identity. Throws
 * UpstreamError if the hub refuses or its response is inconsistent; the previous identity is kept then.
 */
export async function enrolAppliance(
  dataDir: string,
  given: { hub: string; code: string; endpoint: string },
  ask: IdentityRequester<EnrolmentRequest>,
): Promise<LocalIdentity> {
  const { createCertificateRequest } = await import("./endpoint-certificate.ts");
  const { request, key } = await createCertificateRequest();
  const answer = await ask({ code: given.code, endpoint: given.endpoint, request });
  return saveIdentity(dataDir, given.hub, key, verifyIssuedIdentity(answer, key, given.endpoint));
}

/** Renews the certificate, with a new key, when it is due; null if it is not. Throws as `enrolAppliance`. */
export async function renewIdentityIfDue(
  dataDir: string,
  identity: LocalIdentity,
  now: number,
  ask: IdentityRequester<{ request: string }>,
): Promise<LocalIdentity | null> {
  if (!isRenewalDue(identity.facts, now)) return null;
  const { createCertificateRequest } = await import("./endpoint-certificate.ts");
  const { request, key } = await createCertificateRequest();
  const answer = verifyIssuedIdentity(await ask({ request }), key, identity.facts.endpoint);
  if (answer.authority !== identity.authority)
    throw refused(sentence("error.the-hub-s-certificate-authority-has-changed"));
  return saveIdentity(dataDir, identity.hub, key, answer);
}

/** Deletes the identity: the appliance is standalone again. */
export function deleteLocalIdentity(dataDir: string): void {
  rmSync(pathIn(dataDir), { force: true });
}

/** Health reasons of the certificate: yellow 14 days before it expires, red afterwards. */
export function linkCertificateHealthReasons(
  facts: EndpointCertificateInfo | null,
  now: number,
): { level: "red" | "yellow"; code: string; reason: Sentence }[] {
  if (!facts || facts.validTo - now > EXPIRY_WARNING_MS) return [];
  const day = new Date(facts.validTo).toISOString().slice(0, 10);
  const [level, reason] =
    facts.validTo <= now
      ? (["red", sentence("health.link-certificate-expired", { date: day })] as const)
      : (["yellow", sentence("health.link-certificate-expires", { date: day })] as const);
  return [{ level, code: "link-certificate", reason }];
}

/** Proves possession of the key by signing the challenge. Base64. */
export function signChallenge(key: string, nonce: string): string {
  return sign("sha256", Buffer.from(nonce), createPrivateKey(key)).toString("base64");
}

/** Whether the key with this public part (DER, base64) signed the challenge. */
export function verifyChallenge(publicKey: string, nonce: string, proof: string): boolean {
  try {
    const key = { key: Buffer.from(publicKey, "base64"), format: "der", type: "spki" } as const;
    return verify("sha256", Buffer.from(nonce), key, Buffer.from(proof, "base64"));
  } catch {
    return false;
  }
}

function refused(message: string): UpstreamError {
  return new UpstreamError("upstream", message);
}

function verifyIssuedIdentity(answer: IssuedIdentity, key: string, endpoint: string): IssuedIdentity {
  try {
    const certificate = new X509Certificate(answer.certificate);
    const authority = new X509Certificate(answer.authority);
    const isValid =
      certificate.checkPrivateKey(createPrivateKey(key)) &&
      authority.ca &&
      certificate.verify(authority.publicKey) &&
      readEndpointCertificate(answer.certificate)?.endpoint === endpoint;
    if (isValid) return answer;
  } catch {
    throw refused(sentence("error.the-hub-s-response-cannot-be-read"));
  }
  throw refused(sentence("error.the-certificate-issued-by-the-hub-is-not-for-this-appliance"));
}

/** Key and certificate are one file, so that they always belong together. */
function saveIdentity(dataDir: string, hub: string, key: string, answer: IssuedIdentity): LocalIdentity {
  const { certificate, authority, token } = answer;
  const path = pathIn(dataDir);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  replaceFile(path, JSON.stringify({ hub, token, key, certificate, authority }));
  copyOwner(dirname(path), dataDir);
  return readLocalIdentity(dataDir) as LocalIdentity;
}
