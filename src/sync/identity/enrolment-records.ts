import { createHash } from "node:crypto";
import { derivedId } from "../../lib/ids.ts";
import { ADOPTIONS, LINK_RECORDS } from "../hub/tables.ts";
import {
  type Collection,
  defineCollection,
  deleteRecord,
  getRecord,
  putRecord,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";

/** A code by which one appliance may join, kept as hash. */
export interface EnrolmentCode {
  hash: string;
  /** The appliance that it is for; null for whichever comes. */
  endpoint: string | null;
  until: number;
  /** The key that it was used for. */
  usedBy: string | null;
}

/** Codes that were handed out. */
const ENROLMENT_CODES: Collection<EnrolmentCode> = defineCollection<EnrolmentCode>(
  "hub_enrolment",
  ["hash"],
  { hash: "text", endpoint: "text", until: "integer", usedBy: "text" },
  { until: ["until"] },
);

/** A key that an appliance may show. */
export interface ApplianceIdentity {
  keyHash: string;
  endpoint: string;
  /** The public key, DER in base64: it proves who signs where TLS is broken up on the way. */
  publicKey: string;
  /** Hash of the token for that case. */
  tokenHash: string;
  /** Its certificates end by then; epoch ms. */
  until: number;
  /** When it was taken away; it is remembered until its certificates end. */
  revokedAt: number | null;
}

/** The appliances' keys, also those that were taken away and not yet forgotten. */
export const APPLIANCE_IDENTITIES: Collection<ApplianceIdentity> = defineCollection<ApplianceIdentity>(
  "hub_identity",
  ["keyHash"],
  {
    keyHash: "text",
    endpoint: "text",
    publicKey: "text",
    tokenHash: "text",
    until: "integer",
    revokedAt: "integer",
  },
  { endpoint: ["endpoint"], token: ["tokenHash"] },
);

/** What the cloud keeps to know appliances by. */
export const IDENTITY_COLLECTIONS = [ENROLMENT_CODES, APPLIANCE_IDENTITIES] as unknown as Collection<never>[];

/** What an appliance shows to be enrolled, with the end of the certificate that it is to get. */
export interface IdentityClaim {
  endpoint: string;
  publicKey: Buffer;
  keyHash: string;
  token: string;
  until: number;
}

/** Why a code was not taken. */
export type CodeRefusal = "unknown" | "used" | "expired" | "other-endpoint";

/** @source replication.md 6 */
const CODE_VALIDITY_MS = 15 * 60_000;
/** Letters and digits that nobody confuses. @source Crockford's Base32 */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Writes 12 random bytes as a code of 60 bits that people can read out: `7K3Q-F9XM-2TAB`. */
export function formatEnrolmentCode(random: Buffer): string {
  const letters = [...random.subarray(0, 12)].map((byte) => ALPHABET[byte & 31]).join("");
  return letters.replace(/^(.{4})(.{4})(.*)$/, "$1-$2-$3");
}

/** How a code or token is kept; of a code also as people may type it. */
function hashSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

function hashCode(code: string): string {
  const plain = code
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, "")
    .replace(/O/g, "0")
    .replace(/[IL]/g, "1");
  return hashSecret(plain);
}

/** Hands out a code, good once and for 15 minutes; those that are over are forgotten. */
export function* createEnrolmentCode(
  code: string,
  endpoint: string | null,
  now: number,
): TransactionProgram<{ until: number }> {
  for (const old of yield* scanRecords(ENROLMENT_CODES, { by: "until", upTo: now }))
    yield* deleteRecord(ENROLMENT_CODES, old.hash);
  const until = now + CODE_VALIDITY_MS;
  yield* putRecord(ENROLMENT_CODES, { hash: hashCode(code), endpoint, until, usedBy: null });
  return { until };
}

/** A code that can still be used, without what it says. */
export interface OpenEnrolmentCode {
  id: string;
  endpoint: string | null;
  until: number;
}

/** Codes that nobody has used and that are not over, the next to end first. */
export function* openEnrolmentCodes(now: number): TransactionProgram<OpenEnrolmentCode[]> {
  const codes = yield* scanRecords(ENROLMENT_CODES, { by: "until", after: now });
  return codes.flatMap(({ hash, endpoint, until, usedBy }) => (usedBy ? [] : [{ id: codeId(hash), endpoint, until }]));
}

/** Takes a code back; false where there is none by that id that could be used. */
export function* withdrawEnrolmentCode(id: string, now: number): TransactionProgram<boolean> {
  const codes = yield* scanRecords(ENROLMENT_CODES, { by: "until", after: now });
  const found = codes.find(({ hash, usedBy }) => usedBy === null && codeId(hash) === id);
  if (found) yield* deleteRecord(ENROLMENT_CODES, found.hash);
  return found !== undefined;
}

function codeId(hash: string): string {
  return derivedId("enrolment-code", hash);
}

/** Why a code is good for nobody who says to be this appliance; whether somebody used it is only known by the key. */
export function* checkEnrolmentCode(
  code: string,
  endpoint: string,
  now: number,
): TransactionProgram<CodeRefusal | null> {
  return codeRefusalOf(yield* getRecord(ENROLMENT_CODES, hashCode(code)), endpoint, now);
}

function codeRefusalOf(found: EnrolmentCode | null, endpoint: string, now: number): CodeRefusal | null {
  if (!found) return "unknown";
  if (found.until <= now) return "expired";
  return found.endpoint !== null && found.endpoint !== endpoint ? "other-endpoint" : null;
}

/**
 * Takes a code and remembers the key that comes with it. The same key may use it again, for an answer that got lost: its
 * token is then the new one. The organisation's first appliance may bring users and rights along. Nothing is changed where
 * it is refused.
 */
export function* redeemEnrolmentCode(
  code: string,
  asking: IdentityClaim,
  now: number,
): TransactionProgram<CodeRefusal | null> {
  const found = yield* getRecord(ENROLMENT_CODES, hashCode(code));
  const refusal = codeRefusalOf(found, asking.endpoint, now);
  if (!found || refusal) return refusal;
  if (found.usedBy !== null && found.usedBy !== asking.keyHash) return "used";
  yield* putRecord(ENROLMENT_CODES, { ...found, usedBy: asking.keyHash });
  // Whoever enrols anew has lost the old keys, or somebody else has them.
  yield* revokeIdentities(asking.endpoint, now, asking.keyHash);
  yield* putRecord(APPLIANCE_IDENTITIES, toIdentity(asking));
  if (yield* isFirstAppliance(asking.endpoint)) yield* putRecord(ADOPTIONS, { endpoint: asking.endpoint, upTo: null });
  return null;
}

/** Whether the organisation knows no other appliance, so that this one's rows may become its own. */
function* isFirstAppliance(endpoint: string): TransactionProgram<boolean> {
  const known = [...(yield* scanRecords(APPLIANCE_IDENTITIES)), ...(yield* scanRecords(LINK_RECORDS))];
  return known.every((other) => other.endpoint === endpoint);
}

/** Takes the next key of an appliance that showed a good one. The one before is good until the new one was seen. */
export function* renewIdentity(asking: IdentityClaim, shown: string, now: number): TransactionProgram<boolean> {
  if ((yield* findIdentityByKey(shown, now))?.endpoint !== asking.endpoint) return false;
  yield* putRecord(APPLIANCE_IDENTITIES, toIdentity(asking));
  return true;
}

/** Whose key this is; null for one that is unknown, taken away or too old. */
export function* findIdentityByKey(keyHash: string, now: number): TransactionProgram<ApplianceIdentity | null> {
  const found = yield* getRecord(APPLIANCE_IDENTITIES, keyHash);
  return found && found.revokedAt === null && found.until > now ? found : null;
}

/** The identity that a token belongs to; null for one that is not good. What signs with its key is the appliance. */
export function* findIdentityByToken(token: string, now: number): TransactionProgram<ApplianceIdentity | null> {
  const [found] = yield* scanRecords(APPLIANCE_IDENTITIES, { by: "token", where: [hashSecret(token)], limit: 1 });
  return found && found.revokedAt === null && found.until > now ? found : null;
}

/** A key was seen at work: the appliance's older ones are not needed any more. True when there were any. */
export function* confirmIdentity(keyHash: string, now: number): TransactionProgram<boolean> {
  const found = yield* getRecord(APPLIANCE_IDENTITIES, keyHash);
  return found !== null && found.revokedAt === null && (yield* revokeIdentities(found.endpoint, now, keyHash));
}

/**
 * Takes all keys of an appliance away, but one; they are on the list of revoked ones until their certificates end. True
 * when there were any.
 */
export function* revokeIdentities(
  endpoint: string,
  now: number,
  but: string | null = null,
): TransactionProgram<boolean> {
  let isAny = false;
  for (const identity of yield* scanRecords(APPLIANCE_IDENTITIES, { by: "endpoint", where: [endpoint] })) {
    if (identity.keyHash === but || identity.revokedAt !== null) continue;
    yield* putRecord(APPLIANCE_IDENTITIES, { ...identity, revokedAt: now });
    isAny = true;
  }
  return isAny;
}

/** Hashes of keys whose certificates would still be good and are not: neighbours must not trust them. */
export function* listRevokedKeys(now: number): TransactionProgram<string[]> {
  const revoked: string[] = [];
  for (const { keyHash, revokedAt, until } of yield* scanRecords(APPLIANCE_IDENTITIES)) {
    if (until <= now) yield* deleteRecord(APPLIANCE_IDENTITIES, keyHash);
    else if (revokedAt !== null) revoked.push(keyHash);
  }
  return revoked;
}

function toIdentity({ endpoint, publicKey, keyHash, token, until }: IdentityClaim): ApplianceIdentity {
  const shown = { keyHash, endpoint, publicKey: publicKey.toString("base64") };
  return { ...shown, tokenHash: hashSecret(token), until, revokedAt: null };
}
