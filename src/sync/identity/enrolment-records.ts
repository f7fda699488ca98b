import { createHash } from "node:crypto";
import { derivedId } from "../../lib/ids.ts";
import { ADOPTIONS, APPLIANCE_DOMAINS, LINK_RECORDS } from "../hub/tables.ts";
import {
  type Collection,
  defineCollection,
  deleteRecord,
  getRecord,
  putRecord,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";

/** A one-time enrolment code, stored as a hash. */
export interface EnrolmentCode {
  hash: string;
  /** The appliance that it is valid for; null for any. */
  endpoint: string | null;
  /** Ids of the topmost domains that the appliance is bound to; null: as before, or the whole organisation. */
  domainIds: readonly string[] | null;
  until: number;
  /** Hash of the key that redeemed it. */
  usedBy: string | null;
}

const ENROLMENT_CODES: Collection<EnrolmentCode> = defineCollection<EnrolmentCode>(
  "hub_enrolment",
  ["hash"],
  { hash: "text", endpoint: "text", domainIds: "json", until: "integer", usedBy: "text" },
  { until: ["until"] },
);

/** Whom a code is for. */
export type CodeBinding = Pick<EnrolmentCode, "endpoint" | "domainIds">;

/** A key that an appliance may authenticate with. */
export interface ApplianceIdentity {
  keyHash: string;
  endpoint: string;
  /** The public key, DER in base64; verifies the challenge where a proxy ends TLS. */
  publicKey: string;
  /** Hash of the bearer token for that case. */
  tokenHash: string;
  /** End of its certificate; epoch ms. */
  until: number;
  /** When it was revoked; the record is kept until its certificate ends. */
  revokedAt: number | null;
}

/** Keys of the appliances, including revoked ones whose certificates have not ended. */
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

/** Tables of appliance identities at the cloud. */
export const IDENTITY_COLLECTIONS = [ENROLMENT_CODES, APPLIANCE_IDENTITIES] as unknown as Collection<never>[];

/** A key and token that are to be accepted; `until` is the end of the certificate. */
export interface IdentityClaim {
  endpoint: string;
  publicKey: Buffer;
  keyHash: string;
  token: string;
  until: number;
}

/** Why a code was rejected. */
export type CodeRefusal = "unknown" | "used" | "expired" | "other-endpoint";

/** @source docs/decisions/0040-replication.md, Section 6 */
const CODE_VALIDITY_MS = 15 * 60_000;
/** Letters and digits that are hard to confuse. @source Crockford's Base32 */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Formats 12 random bytes as a code of 60 bits: `7K3Q-F9XM-2TAB`. */
export function formatEnrolmentCode(random: Buffer): string {
  const letters = [...random.subarray(0, 12)].map((byte) => ALPHABET[byte & 31]).join("");
  return letters.replace(/^(.{4})(.{4})(.*)$/, "$1-$2-$3");
}

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

/** Creates a code, valid once and for 15 minutes; expired ones are deleted. */
export function* createEnrolmentCode(
  code: string,
  { endpoint, domainIds }: CodeBinding,
  now: number,
): TransactionProgram<{ until: number }> {
  for (const old of yield* scanRecords(ENROLMENT_CODES, { by: "until", upTo: now }))
    yield* deleteRecord(ENROLMENT_CODES, old.hash);
  const until = now + CODE_VALIDITY_MS;
  yield* putRecord(ENROLMENT_CODES, { hash: hashCode(code), endpoint, domainIds, until, usedBy: null });
  return { until };
}

/** A redeemable code without its secret. */
export interface OpenEnrolmentCode extends CodeBinding {
  id: string;
  until: number;
}

/** Unused and unexpired codes, the next to expire first. */
export function* openEnrolmentCodes(now: number): TransactionProgram<OpenEnrolmentCode[]> {
  const codes = yield* scanRecords(ENROLMENT_CODES, { by: "until", after: now });
  return codes.flatMap(({ hash, endpoint, domainIds, until, usedBy }) =>
    usedBy ? [] : [{ id: codeId(hash), endpoint, domainIds, until }],
  );
}

/** Deletes a code; false if no redeemable code has this id. */
export function* withdrawEnrolmentCode(id: string, now: number): TransactionProgram<boolean> {
  const codes = yield* scanRecords(ENROLMENT_CODES, { by: "until", after: now });
  const found = codes.find(({ hash, usedBy }) => usedBy === null && codeId(hash) === id);
  if (found) yield* deleteRecord(ENROLMENT_CODES, found.hash);
  return found !== undefined;
}

function codeId(hash: string): string {
  return derivedId("enrolment-code", hash);
}

/** Why a code cannot be redeemed by this appliance; `used` is not checked, because that needs the key. */
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
 * Redeems a code and stores the key that comes with it. The same key may redeem it again, in case the response was
 * lost; its token is replaced then. The first appliance of an organisation may adopt it: bring its users and
 * permissions. Nothing changes if the code is rejected.
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
  // An appliance that enrols again has lost the old keys, or somebody else has them.
  yield* revokeIdentities(asking.endpoint, now, asking.keyHash);
  yield* putRecord(APPLIANCE_IDENTITIES, toIdentity(asking));
  if (found.domainIds) yield* putRecord(APPLIANCE_DOMAINS, { endpoint: asking.endpoint, domainIds: found.domainIds });
  if (yield* isFirstAppliance(asking.endpoint)) yield* putRecord(ADOPTIONS, { endpoint: asking.endpoint, upTo: null });
  return null;
}

/** Whether the appliance may adopt the organisation: it has begun to, or there is no other one. */
export function* mayAdopt(endpoint: string): TransactionProgram<boolean> {
  return (yield* getRecord(ADOPTIONS, endpoint)) !== null || (yield* isFirstAppliance(endpoint));
}

/** Whether the organisation has no other appliance, so that this one's rows may become its rows. */
function* isFirstAppliance(endpoint: string): TransactionProgram<boolean> {
  const known = [...(yield* scanRecords(APPLIANCE_IDENTITIES)), ...(yield* scanRecords(LINK_RECORDS))];
  return known.every((other) => other.endpoint === endpoint);
}

/**
 * Stores the next key of an appliance that authenticated with a valid one, which stays valid until the new one is used.
 */
export function* renewIdentity(asking: IdentityClaim, shown: string, now: number): TransactionProgram<boolean> {
  if ((yield* findIdentityByKey(shown, now))?.endpoint !== asking.endpoint) return false;
  yield* putRecord(APPLIANCE_IDENTITIES, toIdentity(asking));
  return true;
}

/** The identity of a key; null if it is unknown, revoked or expired. */
export function* findIdentityByKey(keyHash: string, now: number): TransactionProgram<ApplianceIdentity | null> {
  const found = yield* getRecord(APPLIANCE_IDENTITIES, keyHash);
  return found && found.revokedAt === null && found.until > now ? found : null;
}

/** The identity of a token; null if it is invalid. The caller still has to prove possession of the key. */
export function* findIdentityByToken(token: string, now: number): TransactionProgram<ApplianceIdentity | null> {
  const [found] = yield* scanRecords(APPLIANCE_IDENTITIES, { by: "token", where: [hashSecret(token)], limit: 1 });
  return found && found.revokedAt === null && found.until > now ? found : null;
}

/** Revokes the older keys of an appliance once the new one is used. True if there were any. */
export function* confirmIdentity(keyHash: string, now: number): TransactionProgram<boolean> {
  const found = yield* getRecord(APPLIANCE_IDENTITIES, keyHash);
  return found !== null && found.revokedAt === null && (yield* revokeIdentities(found.endpoint, now, keyHash));
}

/**
 * Revokes all keys of an appliance except `but`; they stay on the revocation list until their certificates end. True if
 * there were any.
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

/** Hashes of revoked keys whose certificates have not expired, for the peers of their appliances. */
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
