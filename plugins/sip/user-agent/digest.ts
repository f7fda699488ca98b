import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { parseParameters, splitUnquoted } from "./sip-uri.ts";

export interface SipCredentials {
  user: string;
  password: string;
}

/** Selects the strongest supported challenge; null if none is supported. @source RFC 8760 §2.4 */
export function selectChallenge(challenges: readonly string[]): DigestChallenge | null {
  const known = challenges.flatMap((text) => parseChallenge(text) ?? []);
  return known.find(({ algorithm }) => algorithm === "SHA-256") ?? known[0] ?? null;
}

/** Formats the Authorization value for a challenge, with nonce count `count`. @source RFC 7616 §3.4 */
export function answerChallenge(
  { realm, nonce, algorithm, opaque, hasQop, namesAlgorithm }: DigestChallenge,
  request: { method: string; uri: string },
  { user, password }: SipCredentials,
  cnonce: string,
  count = 1,
): string {
  const nc = count.toString(16).padStart(8, "0");
  const proof = digestResponse({
    ...request,
    algorithm,
    realm,
    nonce,
    user,
    password,
    qop: hasQop ? { cnonce, nc } : null,
  });
  const fields = [
    ...[`username="${escapeQuoted(user)}"`, `realm="${escapeQuoted(realm)}"`, `nonce="${escapeQuoted(nonce)}"`],
    ...[`uri="${request.uri}"`, `response="${proof}"`],
    ...(namesAlgorithm ? [`algorithm=${algorithm}`] : []),
    ...(hasQop ? ["qop=auth", `nc=${nc}`, `cnonce="${cnonce}"`] : []),
    ...(opaque === null ? [] : [`opaque="${escapeQuoted(opaque)}"`]),
  ];
  return `Digest ${fields.join(", ")}`;
}

/** Supported digest algorithms. */
export type DigestAlgorithm = "MD5" | "SHA-256";
const HASHES: Readonly<Record<DigestAlgorithm, string>> = { MD5: "md5", "SHA-256": "sha256" };

/** A parsed challenge. */
export interface DigestChallenge {
  realm: string;
  nonce: string;
  algorithm: DigestAlgorithm;
  namesAlgorithm: boolean;
  opaque: string | null;
  hasQop: boolean;
  /** The previous response was correct but its nonce was stale. */
  isStale: boolean;
}

function parseChallenge(text: string): DigestChallenge | null {
  const params = digestParams(text);
  const algorithm = params && algorithmOf(params.get("algorithm"));
  const [realm, nonce] = [params?.get("realm"), params?.get("nonce")];
  if (!params || !algorithm || realm === undefined || nonce === undefined) return null;
  const qop = params.get("qop");
  // Only qop `auth` is supported.
  if (qop !== undefined && !splitUnquoted(qop, ",").includes("auth")) return null;
  const opaque = params.get("opaque") ?? null;
  const isStale = params.get("stale")?.toLowerCase() === "true";
  return {
    realm,
    nonce,
    algorithm,
    opaque,
    hasQop: qop !== undefined,
    namesAlgorithm: params.has("algorithm"),
    isStale,
  };
}

function digestParams(text: string): Map<string, string> | null {
  const found = /^Digest\s+(.{1,4096})$/is.exec(text.trim());
  return found ? parseParameters(splitUnquoted(found[1] ?? "", ",").join(";")) : null;
}

function algorithmOf(name: string | undefined): DigestAlgorithm | null {
  if (name === undefined) return "MD5";
  return (["MD5", "SHA-256"] as const).find((known) => known.toLowerCase() === name.toLowerCase()) ?? null;
}

interface DigestInput {
  method: string;
  uri: string;
  algorithm: DigestAlgorithm;
  realm: string;
  nonce: string;
  user: string;
  password: string;
  qop: { cnonce: string; nc: string } | null;
}

function digestResponse({ method, uri, algorithm, realm, nonce, user, password, qop }: DigestInput): string {
  const hashed = (text: string): string => createHash(HASHES[algorithm]).update(text).digest("hex");
  const ha1 = hashed(`${user}:${realm}:${password}`);
  const ha2 = hashed(`${method}:${uri}`);
  return hashed(qop ? `${ha1}:${nonce}:${qop.nc}:${qop.cnonce}:auth:${ha2}` : `${ha1}:${nonce}:${ha2}`);
}

function escapeQuoted(text: string): string {
  return text.replace(/["\\]/g, "\\$&");
}

/** Result of verification; `ask`: challenges to send, in order of preference. */
export type DigestAuthResult = { user: string; ask?: never } | { ask: string[]; user?: never };

/** Verifies requests. */
export interface DigestVerifier {
  /** `given` are the request's Authorization values. */
  verify(given: readonly string[], request: { method: string; uri: string }): DigestAuthResult;
}

/** Lifetime of a challenge. */
const NONCE_LIFETIME_MS = 300_000;
const MAX_NONCES = 20_000;

/**
 * Creates a verifier. Challenges are signed with `key` instead of stored; the nonce count of an answered challenge must
 * increase, which prevents replay.
 */
export function createDigestVerifier(deps: {
  realm: string;
  key: Uint8Array;
  /** Accepted algorithms in order of preference. */
  algorithms: readonly DigestAlgorithm[];
  now(): number;
  /** Null for an unknown user. */
  passwordOf(user: string): string | null;
}): DigestVerifier {
  const { realm, key, algorithms, now, passwordOf } = deps;
  /** Highest nonce count by nonce, oldest first. */
  const counts = new Map<string, number>();
  let made = 0;

  const sign = (issuedAt: string): string =>
    createHmac("sha256", key).update(issuedAt).digest("base64url").slice(0, 22);
  const challenges = (stale: boolean): string[] => {
    const issuedAt = `${now().toString(36)}.${(made++).toString(36)}`;
    const nonce = `${issuedAt}.${sign(issuedAt)}`;
    const tail = stale ? ", stale=true" : "";
    return algorithms.map(
      (algorithm) => `Digest realm="${realm}", nonce="${nonce}", algorithm=${algorithm}, qop="auth"${tail}`,
    );
  };
  const isOurs = (nonce: string): boolean => {
    const at = nonce.lastIndexOf(".");
    return at > 0 && isEqualSecret(nonce.slice(at + 1), sign(nonce.slice(0, at)));
  };
  const isFresh = (nonce: string, count: number): boolean => {
    const age = now() - Number.parseInt(nonce, 36);
    if (!(age >= 0 && age <= NONCE_LIFETIME_MS) || count <= (counts.get(nonce) ?? 0)) return false;
    counts.set(nonce, count);
    for (const oldest of counts.keys()) {
      if (counts.size <= MAX_NONCES) break;
      counts.delete(oldest);
    }
    return true;
  };

  return {
    verify(given, { method, uri }) {
      for (const text of given) {
        const params = digestParams(text);
        const algorithm = algorithmOf(params?.get("algorithm"));
        if (!params || !algorithm || !algorithms.includes(algorithm) || params.get("realm") !== realm) continue;
        const [user = "", nonce = ""] = [params.get("username"), params.get("nonce")];
        const [nc = "", cnonce = ""] = [params.get("nc"), params.get("cnonce")];
        const password = passwordOf(user);
        const isComplete = params.get("qop") === "auth" && /^[0-9a-f]{8}$/i.test(nc) && cnonce !== "";
        if (password === null || !isComplete || !isOurs(nonce) || params.get("uri") !== uri) continue;
        const expected = digestResponse({ method, uri, algorithm, realm, nonce, user, password, qop: { cnonce, nc } });
        if (!isEqualSecret(params.get("response") ?? "", expected)) continue;
        return isFresh(nonce, Number.parseInt(nc, 16)) ? { user } : { ask: challenges(true) };
      }
      return { ask: challenges(false) };
    },
  };
}

function isEqualSecret(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
