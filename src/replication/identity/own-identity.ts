import { createPrivateKey, sign, verify, X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { UpstreamError } from "../../base/errors.ts";
import { keepOwner } from "../../operations/ownership.ts";
import { type EndpointFacts, endpointFacts, isRenewalDue } from "./certificate-facts.ts";
import type { EnrolAnswer, EnrolRequest } from "./hub-enrolment.ts";

/** Who the appliance is to others: key, certificate, and authority of the organisation (PEM). */
export interface OwnIdentity {
  hub: string;
  token: string;
  key: string;
  certificate: string;
  authority: string;
  facts: EndpointFacts;
}

/** Asks the hub at `url`; rejects with UpstreamError in words. */
export type AskHub<A> = (asked: A) => Promise<EnrolAnswer>;

const WARN_MS = 14 * 86_400_000;

/** What the appliance was enrolled with; null for one that stands alone. Throws UpstreamError when it can't be read. */
export function readIdentity(dataDir: string): OwnIdentity | null {
  const path = pathIn(dataDir);
  if (!existsSync(path)) return null;
  try {
    const kept = JSON.parse(readFileSync(path, "utf8")) as Omit<OwnIdentity, "facts">;
    const facts = endpointFacts(kept.certificate);
    if (facts) return { ...kept, facts };
  } catch (error) {
    throw new UpstreamError("starting", `${path} can't be read.`, { dataDir }, error);
  }
  throw new UpstreamError("starting", `${path} holds no certificate of an appliance.`, { dataDir });
}

function pathIn(dataDir: string): string {
  return join(dataDir, "link", "identity.json");
}

/**
 * Enrols the appliance with a code: makes its key, which stays here, and keeps what it gets. Throws UpstreamError when the
 * hub refuses or gives what does not belong together; what was there before stays then.
 */
export async function enrol(
  dataDir: string,
  given: { hub: string; code: string; endpoint: string },
  ask: AskHub<EnrolRequest>,
): Promise<OwnIdentity> {
  const { requestCertificate } = await import("./endpoint-certificate.ts");
  const { request, key } = await requestCertificate();
  const answer = await ask({ code: given.code, endpoint: given.endpoint, request });
  return keep(dataDir, given.hub, key, checked(answer, key, given.endpoint));
}

/** Fetches the next certificate, for another key, once it is time to; null when it is not. Throws as `enrol`. */
export async function renewIfDue(
  dataDir: string,
  identity: OwnIdentity,
  now: number,
  ask: AskHub<{ request: string }>,
): Promise<OwnIdentity | null> {
  if (!isRenewalDue(identity.facts, now)) return null;
  const { requestCertificate } = await import("./endpoint-certificate.ts");
  const { request, key } = await requestCertificate();
  const answer = checked(await ask({ request }), key, identity.facts.endpoint);
  if (answer.authority !== identity.authority) throw refused("The hub has another authority than before.");
  return keep(dataDir, identity.hub, key, answer);
}

/** Forgets who the appliance is to others: it stands alone again. */
export function forgetIdentity(dataDir: string): void {
  rmSync(pathIn(dataDir), { force: true });
}

/** What is wrong with the certificate. */
export function identityFaults(
  facts: EndpointFacts | null,
  now: number,
): { level: "red" | "yellow"; code: string; reason: string }[] {
  if (!facts || facts.validTo - now > WARN_MS) return [];
  const day = new Date(facts.validTo).toISOString().slice(0, 10);
  const [level, what] = facts.validTo <= now ? (["red", "expired"] as const) : (["yellow", "expires"] as const);
  return [{ level, code: "link-certificate", reason: `The certificate for the link to the cloud ${what} on ${day}.` }];
}

/** Proves by signature of what the other side just made up that the key is at hand. Base64. */
export function proveKey(key: string, nonce: string): string {
  return sign("sha256", Buffer.from(nonce), createPrivateKey(key)).toString("base64");
}

/** True when the key whose public part (DER, base64) is given signed what this side made up. */
export function isProof(publicKey: string, nonce: string, proof: string): boolean {
  try {
    const key = { key: Buffer.from(publicKey, "base64"), format: "der", type: "spki" } as const;
    return verify("sha256", Buffer.from(nonce), key, Buffer.from(proof, "base64"));
  } catch {
    return false;
  }
}

function refused(words: string): UpstreamError {
  return new UpstreamError("upstream", words);
}

function checked(answer: EnrolAnswer, key: string, endpoint: string): EnrolAnswer {
  try {
    const certificate = new X509Certificate(answer.certificate);
    const authority = new X509Certificate(answer.authority);
    const isGood =
      certificate.checkPrivateKey(createPrivateKey(key)) &&
      authority.ca &&
      certificate.verify(authority.publicKey) &&
      endpointFacts(answer.certificate)?.endpoint === endpoint;
    if (isGood) return answer;
  } catch {
    throw refused("What the hub answered can't be read.");
  }
  throw refused("The certificate that the hub gave is not for this appliance.");
}

/** One file, so that key and certificate always belong together. */
function keep(dataDir: string, hub: string, key: string, answer: EnrolAnswer): OwnIdentity {
  const { certificate, authority, token } = answer;
  const path = pathIn(dataDir);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.new`, JSON.stringify({ hub, token, key, certificate, authority }), {
    mode: 0o600,
    flush: true,
  });
  renameSync(`${path}.new`, path);
  keepOwner(dirname(path), dataDir);
  return readIdentity(dataDir) as OwnIdentity;
}
