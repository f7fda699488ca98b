import type { LoginCredentials } from "../auth/login.ts";
import type { Principal } from "../auth/principal.ts";
import { setBounded } from "../lib/bounded-map.ts";
import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { CloudCredential } from "../sync/protocol/control-messages.ts";

export interface CloudCredentialDeps {
  /** Asks the cloud to verify a password; resolves to a proof, or to null if it refused or cannot be reached. */
  prove(credentials: Pick<LoginCredentials, "email" | "password">): Promise<string | null>;
  /** Whether a token was created in the cloud. */
  isFromCloud(tokenId: string): boolean;
  /** Base URL of the cloud, for error messages. */
  hub(): string;
}

/** The caller of a forwarded request. */
export type CloudCaller = Pick<Principal, "tokenId" | "accessToken">;

/**
 * What shows the cloud who asks for a forwarded request: the caller's own token if it was created there, or the proof of a
 * log-in that the cloud verified. Proofs are kept in memory only. @source docs/decisions/0491-trust-in-appliances.md
 */
export interface CloudCredentials {
  /** Has the cloud verify a log-in here; does not delay it. */
  logIn(tokenId: string, credentials: Pick<LoginCredentials, "email" | "password">): void;
  /** Throws CallerError `forbidden` for a caller whom the cloud does not know. */
  of(caller: CloudCaller): Promise<CloudCredential>;
  /** Replaces the proof of a session by a newer one. */
  renew(caller: CloudCaller, proof: string): void;
}

/** The oldest session has to log in again. */
const MAX_PROOFS = 10_000;

export function createCloudCredentials({ prove, isFromCloud, hub }: CloudCredentialDeps): CloudCredentials {
  const proofs = new Map<string, Promise<string | null>>();

  return {
    logIn: (tokenId, credentials) => setBounded(proofs, tokenId, prove(credentials), MAX_PROOFS),
    async of({ tokenId, accessToken }) {
      if (accessToken !== null && isFromCloud(tokenId)) return { token: accessToken };
      const proof = await proofs.get(tokenId);
      if (proof) return { proof };
      throw new CallerError(
        "forbidden",
        accessToken === null
          ? sentence("error.this-change-is-made-in-the-cloud-which-does-not-know-this-log-in", { hub: hub() })
          : sentence("error.this-change-is-made-in-the-cloud-which-does-not-know-this-token", { hub: hub() }),
      );
    },
    renew({ tokenId }, proof) {
      if (proofs.has(tokenId)) proofs.set(tokenId, Promise.resolve(proof));
    },
  };
}
