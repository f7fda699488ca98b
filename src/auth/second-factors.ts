import { setBounded } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { ConflictError, invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import secondFactors from "../resources/people/second-factors.ts";
import userTokens from "../resources/people/user-tokens.ts";
import type users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, StoreReader, Transaction } from "../store/store.ts";
import { readBranding } from "./branding.ts";
import { findUserProvider } from "./identity-providers.ts";
import { generateOneTimeCode, hashOneTimeCode } from "./one-time-codes.ts";
import { ALL_TOKENS_LIMIT } from "./tokens.ts";
import { buildTotpUri, generateTotpSecret, verifyTotpCode } from "./totp.ts";

/** Kind of a second factor. */
export type SecondFactorKind = NonNullable<RowOf<typeof secondFactors>["kind"]>;

type User = RowOf<typeof users>;

/** A new key of an authenticator app; it counts once a code of it was confirmed. */
export interface TotpEnrolment {
  /** Base32. */
  secret: string;
  /** For a QR code. */
  uri: string;
  /** Epoch ms. */
  expires: number;
}

/** Second factors of users at this installation. @source docs/decisions/0483-second-factors.md */
export interface SecondFactors {
  /**
   * Creates a key for an authenticator app, which shows it with the name of the organisation and `host`. It replaces an
   * earlier key that was not confirmed. Throws ConflictError for an account of another identity provider.
   */
  beginTotp(user: User, host: string | null): TotpEnrolment;
  /**
   * Confirms the key by a code of it, replaces the former authenticator app, and ends the other sessions of the user;
   * `tokenId` stays. Returns new recovery codes in clear text. Throws `invalid-value` on `code`, and ConflictError
   * without a key to confirm.
   */
  confirmTotp(user: User, code: string, tokenId: string, by: ActorContext): Promise<string[]>;
}

/** How long a key can be confirmed. */
const ENROLMENT_MS = 600_000;
/** Keys to be confirmed; the oldest has to be created again. */
const MAX_ENROLMENTS = 1_000;
const RECOVERY_CODES = 10;

/** Creates the service; keys that are not confirmed yet are kept in memory. */
export function createSecondFactors(store: Store, clock: Clock): SecondFactors {
  const enrolments = new Map<string, TotpEnrolment>();
  return {
    beginTotp(user, host) {
      const provider = findUserProvider(store, user);
      if (provider) {
        throw new ConflictError(
          sentence("conflict.this-account-logs-in-with-name-set-up-the-second", { name: provider.name }),
        );
      }
      const secret = generateTotpSecret();
      // Factors belong to one installation: an account of a cloud and of its appliances has several.
      const issuer = [readBranding(store).companyName ?? "Carillon", ...(host === null ? [] : [`(${host})`])].join(" ");
      const uri = buildTotpUri(secret, issuer, user.email ?? user.name);
      const enrolment = { secret, uri, expires: clock.now() + ENROLMENT_MS };
      setBounded(enrolments, user.id, enrolment, MAX_ENROLMENTS);
      return enrolment;
    },
    async confirmTotp(user, code, tokenId, by) {
      const enrolment = enrolments.get(user.id);
      if (!enrolment || enrolment.expires <= clock.now()) {
        enrolments.delete(user.id);
        throw new ConflictError(sentence("conflict.there-is-no-key-to-confirm-start-again-a-key"));
      }
      const { secret } = enrolment;
      const lastStep = verifyTotpCode(secret, code.replace(/\s/g, ""), clock.now(), null);
      if (lastStep === null) {
        throw invalidValue(
          "code",
          sentence("field.must-be-the-current-code-of-the-authenticator-app-check-the-clock-of-the"),
        );
      }
      // Deleted first, so that a second request with the same code finds nothing.
      enrolments.delete(user.id);
      return store.write((tx) => {
        for (const { id } of tx.find(secondFactors, { userId: user.id, kind: "totp" }))
          tx.remove(secondFactors, id, by);
        const sealed = store.secrets.seal(secret);
        tx.create(secondFactors, { userId: user.id }, by, { kind: "totp", secret: sealed, lastStep });
        admitAfterSetup(tx, user.id, tokenId, by);
        return replaceRecoveryCodes(tx, user.id, by);
      });
    },
  };
}

/** Kinds of second factors that a user has here; empty if the password is enough. */
export function secondFactorsOf(reader: StoreReader, userId: string): SecondFactorKind[] {
  const kinds = reader.find(secondFactors, { userId }).flatMap(({ kind }) => (kind === null ? [] : [kind]));
  // Recovery codes are for a lost factor: without one they protect nothing.
  return kinds.some((kind) => kind !== "recovery-codes") ? [...new Set(kinds)] : [];
}

/** Verifies a code of any kind and makes it worthless; null if it is not correct. Call it inside a transaction. */
export function redeemSecondFactorCode(
  tx: Transaction,
  userId: string,
  code: string,
  by: ActorContext,
  { secrets, now }: { secrets: Store["secrets"]; now: number },
): SecondFactorKind | null {
  const hash = hashOneTimeCode(`recovery ${userId}`, code);
  for (const { id, kind, secret, lastStep, codeHashes } of tx.find(secondFactors, { userId })) {
    if (kind === "totp" && secret !== null) {
      const step = verifyTotpCode(secrets.open(secret), code.replace(/\s/g, ""), now, lastStep);
      if (step === null) continue;
      tx.update(secondFactors, id, {}, by, { lastStep: step, lastUsedAt: now });
      return kind;
    }
    const left = (codeHashes ?? "").split(" ");
    if (kind !== "recovery-codes" || !left.includes(hash)) continue;
    const others = left.filter((each) => each !== hash);
    tx.update(secondFactors, id, {}, by, {
      ...{ codeHashes: others.join(" "), codesLeft: others.length, lastUsedAt: now },
    });
    return kind;
  }
  return null;
}

/** Replaces the recovery codes of a user; returns the new ones in clear text, which are not stored. */
export function replaceRecoveryCodes(tx: Transaction, userId: string, by: ActorContext): string[] {
  for (const { id } of tx.find(secondFactors, { userId, kind: "recovery-codes" })) tx.remove(secondFactors, id, by);
  const codes = Array.from({ length: RECOVERY_CODES }, () => generateOneTimeCode(120));
  const codeHashes = codes.map((code) => hashOneTimeCode(`recovery ${userId}`, code)).join(" ");
  tx.create(secondFactors, { userId }, by, { kind: "recovery-codes", codeHashes, codesLeft: codes.length });
  return codes;
}

/**
 * Recovery codes for the first factor of a user, whose other sessions end; null if there are recovery codes. Call it after a
 * factor was added.
 */
export function addFirstFactor(tx: Transaction, userId: string, tokenId: string, by: ActorContext): string[] | null {
  if (tx.count(secondFactors, { userId, kind: "recovery-codes" }) > 0) return null;
  admitAfterSetup(tx, userId, tokenId, by);
  return replaceRecoveryCodes(tx, userId, by);
}

/** Ends the other sessions of the user; the session that set up the factor may do everything from now on. */
function admitAfterSetup(tx: Transaction, userId: string, tokenId: string, by: ActorContext): void {
  for (const { id, scope } of tx.find(userTokens, { userId, kind: "session" }, ALL_TOKENS_LIMIT)) {
    if (id !== tokenId) tx.remove(userTokens, id, by);
    else if (scope !== null) tx.update(userTokens, id, {}, by, { scope: null });
  }
}

/**
 * Removes all second factors of a user, or only the one of the id, and with the last one the recovery codes. Returns how
 * many were removed.
 */
export function removeSecondFactors(
  tx: Transaction,
  userId: string,
  by: ActorContext,
  onlyId: string | null = null,
): number {
  const rows = tx.find(secondFactors, { userId });
  const isRemoved = ({ id }: { id: string }): boolean => onlyId === null || id === onlyId;
  const removed = rows.filter(isRemoved);
  if (removed.length === 0) return 0;
  const keeps = rows.some((row) => !isRemoved(row) && row.kind !== "recovery-codes");
  for (const { id } of keeps ? removed : rows) tx.remove(secondFactors, id, by);
  return removed.length;
}
