import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { sentence } from "../sentences.ts";
import { parseParameters, parseSipUri, splitUnquoted } from "./sip-uri.ts";

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

/**
 * Result of verification: the account `user`, or challenges to send, in order of preference. `problem`: why the given
 * credentials were refused, with the name in them; null without any, or if only their nonce is out of date. `isGuess`: the
 * name or the password was wrong.
 */
export type DigestAuthResult =
  | { user: string; ask?: never; problem?: never }
  | { ask: string[]; problem: DigestProblem | null; user?: never };

/** Why credentials were refused. */
export interface DigestProblem {
  user: string;
  reason: string;
  isGuess: boolean;
}

/** A request to verify. */
export interface DigestVerification {
  method: string;
  uri: string;
  /** Other URIs that name the same resource, such as the address of record. */
  aliases?: readonly string[];
  /** Address of the sender; a nonce is only valid for the address that got it. */
  host?: string;
}

/** Verifies requests. */
export interface DigestVerifier {
  /** `given` are the request's Authorization values. */
  verify(given: readonly string[], request: DigestVerification): DigestAuthResult;
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
  /** Accepts responses without `qop`, each nonce once. @source RFC 7616 §3.4.3, RFC 2069 */
  isQopOptional?: boolean;
  now(): number;
  /** Null for an unknown user. */
  passwordOf(user: string): string | null;
  /** False if this address gave too many wrong passwords for this name. */
  mayTry?(user: string, host: string): boolean;
}): DigestVerifier {
  const { realm, key, algorithms, isQopOptional = false, now, passwordOf, mayTry = () => true } = deps;
  /** Highest nonce count by nonce, oldest first. */
  const counts = new Map<string, number>();
  let made = 0;

  const sign = (issuedAt: string, host: string): string =>
    createHmac("sha256", key).update(`${issuedAt} ${host}`).digest("base64url").slice(0, 22);
  const challenges = (host: string, stale: boolean): string[] => {
    const issuedAt = `${now().toString(36)}.${(made++).toString(36)}`;
    const nonce = `${issuedAt}.${sign(issuedAt, host)}`;
    const tail = stale ? ", stale=true" : "";
    return algorithms.map(
      (algorithm) => `Digest realm="${realm}", nonce="${nonce}", algorithm=${algorithm}, qop="auth"${tail}`,
    );
  };
  const isCurrent = (nonce: string, host: string): boolean => {
    const at = nonce.lastIndexOf(".");
    const age = now() - Number.parseInt(nonce, 36);
    const isOurs = at > 0 && isEqualSecret(nonce.slice(at + 1), sign(nonce.slice(0, at), host));
    return isOurs && age >= 0 && age <= NONCE_LIFETIME_MS;
  };
  const isUnused = (nonce: string, count: number): boolean => {
    if (count <= (counts.get(nonce) ?? 0)) return false;
    counts.set(nonce, count);
    for (const oldest of counts.keys()) {
      if (counts.size <= MAX_NONCES) break;
      counts.delete(oldest);
    }
    return true;
  };

  const verifyOne = (text: string, request: DigestVerification): DigestCheck => {
    const { method, uri, aliases = [], host = "" } = request;
    const params = digestParams(text);
    if (!params) return { reason: "does not use Digest authentication" };
    const user = params.get("username") ?? "";
    const refuse = (reason: string, isGuess = false): DigestCheck => ({ user, reason, isGuess });
    if (params.get("realm") !== realm) return refuse(`answers the realm ${quote(params.get("realm"))}, not ${realm}`);
    const algorithm = algorithmOf(params.get("algorithm"));
    if (!algorithm || !algorithms.includes(algorithm))
      return refuse(`uses ${quote(params.get("algorithm") ?? "MD5")}, but only ${algorithms.join(", ")} is accepted`);
    const [nc = "", cnonce = ""] = [params.get("nc"), params.get("cnonce")];
    const qop = params.get("qop")?.toLowerCase();
    if (qop === undefined && !isQopOptional)
      return refuse("answers without qop, which the setting digestWithoutQop allows");
    if (qop !== undefined && (qop !== "auth" || !/^[0-9a-f]{1,8}$/i.test(nc) || cnonce === ""))
      return refuse("does not answer qop=auth completely");
    const digestUri = params.get("uri") ?? "";
    if (![uri, ...aliases].some((known) => namesSameServer(digestUri, known)))
      return refuse(`authenticates for ${quote(digestUri)}, not for ${quote(uri)}`);
    const nonce = params.get("nonce") ?? "";
    // The password is only checked for a nonce that its sender got: no address can be blamed for the guesses of another.
    if (!isCurrent(nonce, host)) return { isStale: true };
    const account = accountOf(user, passwordOf);
    if (!mayTry(account?.user ?? user, host)) return refuse(TOO_MANY_FAILURES);
    if (account === null) return refuse(sentence("unknown-account"), true);
    const proof = digestResponse({
      ...{ method, uri: digestUri, algorithm, realm, nonce, user, password: account.password },
      qop: qop === undefined ? null : { cnonce, nc },
    });
    if (!isEqualSecret((params.get("response") ?? "").toLowerCase(), proof))
      return refuse(sentence("wrong-password"), true);
    return isUnused(nonce, qop === undefined ? 1 : Number.parseInt(nc, 16))
      ? { account: account.user }
      : { isStale: true };
  };

  return {
    verify(given, request) {
      const host = request.host ?? "";
      let problem: DigestProblem | null = null;
      for (const text of given.slice(0, MAX_CREDENTIALS)) {
        const { account, isStale, user = "", reason = "", isGuess = false } = verifyOne(text, request);
        if (account !== undefined) return { user: account };
        if (isStale) return { ask: challenges(host, true), problem: null };
        // Of several, the one that got furthest says most.
        if (problem === null || isGuess) problem = { user, reason, isGuess };
      }
      return { ask: challenges(host, false), problem };
    },
  };
}

/** Reason of a refusal without a look at the password. */
export const TOO_MANY_FAILURES = "too many wrong passwords from this address";

/** Credentials that are looked at per request: devices answer for a few realms at most. */
const MAX_CREDENTIALS = 4;

interface DigestCheck {
  /** The account whose password was proven. */
  account?: string;
  isStale?: boolean;
  user?: string;
  reason?: string;
  isGuess?: boolean;
}

/** The account of a user name, which devices give with or without a domain. */
function accountOf(
  name: string,
  passwordOf: (user: string) => string | null,
): { user: string; password: string } | null {
  for (const user of [name, name.replace(/@[^@]*$/, "")]) {
    const password = passwordOf(user);
    if (password !== null) return { user, password };
  }
  return null;
}

/**
 * True if both URIs name the same server. Proxies and devices write ports, parameters and the user differently, so a
 * server may decide what is equivalent. @source RFC 7616 §3.4.6
 */
function namesSameServer(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [parseSipUri(one), parseSipUri(other)];
  if (!a || !b || a.host !== b.host) return false;
  return a.port === null || b.port === null || a.port === b.port || isDefaultPort(a.port, b.port);
}

/** Ports that devices write for the server's default. */
function isDefaultPort(...ports: number[]): boolean {
  return ports.every((port) => port === 5_060 || port === 5_061);
}

/** A text of a peer in a message for people. */
function quote(text: string | undefined): string {
  return JSON.stringify((text ?? "").replace(/\p{Cc}/gu, "").slice(0, 60));
}

function isEqualSecret(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
