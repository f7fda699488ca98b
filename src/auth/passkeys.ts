import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import type { Clock } from "../lib/clock.ts";
import { ConflictError, invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import secondFactors from "../resources/people/second-factors.ts";
import type users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, StoreReader } from "../store/store.ts";
import { readBranding } from "./branding.ts";
import { findUserProvider } from "./identity-providers.ts";
import { CHALLENGE_MS, createPasskeyChallenges } from "./passkey-challenges.ts";
import type { RelyingParty } from "./relying-party.ts";
import { addFirstFactor } from "./second-factors.ts";

type User = RowOf<typeof users>;
type FactorRow = RowOf<typeof secondFactors>;

/** A signature by a passkey, as the browser returned it. */
export interface PasskeyProof {
  party: RelyingParty;
  response: unknown;
}

/** What a signature is for: it is worthless for anything else. */
export type PasskeyPurpose = { act: "log-in" } | { act: "second-factor" | "confirmation"; userId: string };

/** A new passkey of a user. */
export interface NewPasskey extends PasskeyProof {
  name: string;
}

/** Passkeys (WebAuthn) of users at this installation. @source docs/decisions/0469-passkeys.md */
export interface Passkeys {
  /** Options for the browser to create a passkey. Throws ConflictError for an account of another provider. */
  creationOptions(user: User, party: RelyingParty): Promise<PublicKeyCredentialCreationOptionsJSON>;
  /**
   * Stores the passkey that the browser created. Returns recovery codes in clear text with the first factor of the
   * user, whose other sessions end; `tokenId` stays. Throws `invalid-value` on `passkey`, ConflictError.
   */
  add(user: User, created: NewPasskey, tokenId: string, by: ActorContext): Promise<string[] | null>;
  /** Options for the browser to sign with a passkey of the user, or of any user for a log-in without a password. */
  requestOptions(purpose: PasskeyPurpose, party: RelyingParty): Promise<PublicKeyCredentialRequestOptionsJSON>;
  /**
   * Verifies a signature, which works once; null if it is not correct. A log-in without a password requires that the
   * authenticator verified the user, by PIN or biometrics. `by` is the actor of the user.
   */
  verify(
    purpose: PasskeyPurpose,
    proof: PasskeyProof,
    by: (userId: string) => ActorContext,
  ): Promise<{ userId: string } | null>;
}

const MAX_PASSKEYS = 20;

/** Creates the service; pending challenges end with the process. */
export function createPasskeys(store: Store, clock: Clock): Passkeys {
  const challenges = createPasskeyChallenges(clock);
  /** Loaded when passkeys are used: it takes a while, and most installations start without. */
  const load = () => import("@simplewebauthn/server");
  const passkeysOf = (userId: string): FactorRow[] => store.find(secondFactors, { userId, kind: "passkey" });
  const listed = (userId: string) =>
    passkeysOf(userId).flatMap(({ credentialId, transports }) =>
      credentialId === null ? [] : [{ id: credentialId, transports: transports?.split(" ") ?? [] }],
    );

  return {
    async creationOptions(user, party) {
      assertMayAdd(store, user, passkeysOf(user.id).length);
      const { generateRegistrationOptions } = await load();
      return generateRegistrationOptions({
        ...{ rpID: party.id, rpName: readBranding(store).companyName ?? "Carillon" },
        ...{ userID: new TextEncoder().encode(user.id), userName: user.email ?? user.name },
        ...{ userDisplayName: user.name, challenge: challenges.issue(`creation ${user.id}`), timeout: CHALLENGE_MS },
        // Which product it is does not matter, and no certificate of a maker has to be believed.
        attestationType: "none",
        excludeCredentials: listed(user.id),
        authenticatorSelection: { residentKey: "preferred", userVerification: "preferred" },
      });
    },
    async add(user, { party, response, name }, tokenId, by) {
      const refused = invalidValue(
        "passkey",
        sentence("field.must-be-the-browser-s-answer-to-the-options-at-most-five-minutes-old"),
      );
      const purpose = `creation ${user.id}`;
      const known = await verifyCreation(party, response, (challenge) => challenges.isValid(purpose, challenge));
      if (!known || !challenges.use(purpose, known.challenge)) throw refused;
      const { credential, isBackedUp } = known;
      return store.write((tx) => {
        assertMayAdd(tx, user, tx.count(secondFactors, { userId: user.id, kind: "passkey" }));
        if (tx.count(secondFactors, { credentialId: credential.id }) > 0) {
          throw new ConflictError(sentence("conflict.this-passkey-is-already-in-use"), "passkey");
        }
        tx.create(secondFactors, { userId: user.id }, by, {
          ...{ kind: "passkey", name, credentialId: credential.id, signatures: credential.counter, isBackedUp },
          publicKey: Buffer.from(credential.publicKey).toString("base64url"),
          transports: credential.transports?.join(" ").slice(0, 200) ?? null,
        });
        return addFirstFactor(tx, user.id, tokenId, by);
      });
    },
    async requestOptions(purpose, party) {
      const { generateAuthenticationOptions } = await load();
      return generateAuthenticationOptions({
        ...{ rpID: party.id, challenge: challenges.issue(textOf(purpose)), timeout: CHALLENGE_MS },
        // A log-in without a password names no account: strangers learn nothing of the passkeys of anybody.
        ...(purpose.act === "log-in" ? {} : { allowCredentials: listed(purpose.userId) }),
        userVerification: purpose.act === "log-in" ? "required" : "preferred",
      });
    },
    async verify(purpose, { party, response }, by) {
      const given = response as AuthenticationResponseJSON | null;
      if (typeof given?.id !== "string" || given.id.length > MAX_ID_LENGTH) return null;
      const [row] = store.find(secondFactors, { credentialId: given.id }, 1);
      if (!row || (purpose.act !== "log-in" && purpose.userId !== row.userId)) return null;
      const signed = await verifySignature(row, {
        ...{ party, response: given, requiresUser: purpose.act === "log-in" },
        isChallenge: (challenge) => challenges.isValid(textOf(purpose), challenge),
      });
      if (!signed || !challenges.use(textOf(purpose), signed.challenge)) return null;
      return store.write((tx) => {
        const now = tx.get(secondFactors, row.id);
        // Two authenticators with one key: a copy. Those that count nothing always say 0.
        if (!now || (signed.counter > 0 && signed.counter <= (now.signatures ?? 0))) return null;
        const system = { signatures: signed.counter, lastUsedAt: clock.now() };
        tx.update(secondFactors, row.id, {}, by(row.userId), system);
        return { userId: row.userId };
      });
    },
  };

  async function verifyCreation(party: RelyingParty, response: unknown, isChallenge: (challenge: string) => boolean) {
    const { verifyRegistrationResponse } = await load();
    const { decodeAttestationObject, isoBase64URL } = await import("@simplewebauthn/server/helpers");
    let challenge = "";
    try {
      const given = response as RegistrationResponseJSON;
      // Certificates of a maker are not asked for. To verify one could fetch the addresses in it.
      const attestation = decodeAttestationObject(isoBase64URL.toBuffer(given.response.attestationObject));
      if (attestation.get("attStmt").get("x5c") !== undefined) return null;
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        response: given,
        ...{ expectedOrigin: party.origins, expectedRPID: party.id, requireUserVerification: false },
        expectedChallenge(value) {
          challenge = value;
          return isChallenge(value);
        },
      });
      if (!verified || registrationInfo.credential.id.length > MAX_ID_LENGTH) return null;
      return { challenge, credential: registrationInfo.credential, isBackedUp: registrationInfo.credentialBackedUp };
    } catch {
      // The library has no other way to refuse.
      return null;
    }
  }

  async function verifySignature(row: FactorRow, asked: SignatureCheck) {
    const { verifyAuthenticationResponse } = await load();
    const { credentialId, publicKey, signatures } = row;
    if (credentialId === null || publicKey === null) return null;
    let challenge = "";
    try {
      const { userHandle } = asked.response.response;
      if (userHandle && Buffer.from(userHandle, "base64url").toString() !== row.userId) return null;
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: asked.response,
        ...{ expectedOrigin: asked.party.origins, expectedRPID: asked.party.id },
        requireUserVerification: asked.requiresUser,
        credential: {
          id: credentialId,
          publicKey: new Uint8Array(Buffer.from(publicKey, "base64url")),
          counter: signatures ?? 0,
        },
        expectedChallenge(value) {
          challenge = value;
          return asked.isChallenge(value);
        },
      });
      return verified ? { challenge, counter: authenticationInfo.newCounter } : null;
    } catch {
      // The library has no other way to refuse.
      return null;
    }
  }
}

interface SignatureCheck {
  party: RelyingParty;
  response: AuthenticationResponseJSON;
  requiresUser: boolean;
  isChallenge(challenge: string): boolean;
}

/** Base64url of 1,023 bytes, the longest id. @source W3C Web Authentication Level 3 §4, Credential ID */
const MAX_ID_LENGTH = 1_364;

function assertMayAdd(reader: StoreReader, user: User, count: number): void {
  const provider = findUserProvider(reader, user);
  if (provider)
    throw new ConflictError(
      sentence("conflict.this-account-logs-in-with-name-set-up-the-second", { name: provider.name }),
    );
  if (count >= MAX_PASSKEYS)
    throw new ConflictError(
      sentence("conflict.an-account-has-at-most-limit-passkeys-remove-one", { limit: MAX_PASSKEYS }),
    );
}

function textOf(purpose: PasskeyPurpose): string {
  return purpose.act === "log-in" ? purpose.act : `${purpose.act} ${purpose.userId}`;
}
