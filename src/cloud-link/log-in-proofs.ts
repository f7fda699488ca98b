import { isAccountLocked } from "../auth/account-lock.ts";
import type { Principal } from "../auth/principal.ts";
import { MAX_SESSION_MS } from "../auth/sessions.ts";
import { signLink, verifyLink } from "../auth/signed-links.ts";
import type { Clock } from "../lib/clock.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Store } from "../store/store.ts";

/** What a proof says. */
export interface ProvenLogIn extends Pick<Principal, "userId" | "scopes"> {
  /** When the password was verified, epoch ms. */
  loggedInAt: number;
}

/**
 * Proofs that a user logged in at an appliance with a password that the cloud verified. A proof is issued by the cloud, for
 * one appliance, and short-lived; each use may renew it. @source docs/decisions/0491-trust-in-appliances.md
 */
export interface LogInProofs {
  issue(userId: string, endpoint: string, loggedInAt?: number): string;
  /** Null for a proof that is forged, expired or another appliance's, or whose user is locked or changed the password. */
  verify(proof: string, endpoint: string): ProvenLogIn | null;
}

/** Longer than a user waits between two changes; within it, a lock or a new password ends a proof at once. */
const VALIDITY_MS = 3_600_000;

export function createLogInProofs(store: Store, clock: Pick<Clock, "now">): LogInProofs {
  return {
    issue(userId, endpoint, loggedInAt = clock.now()) {
      const until = Math.min(clock.now() + VALIDITY_MS, loggedInAt + MAX_SESSION_MS);
      const version = passwordVersionOf(store.get(users, userId));
      return signLink("appliance", [userId, endpoint, loggedInAt, until, version].join(" "), store);
    },
    verify(proof, endpoint) {
      const [userId = "", audience, loggedInAt, until, version] =
        verifyLink("appliance", proof, store)?.split(" ") ?? [];
      const user = audience === endpoint && Number(until) > clock.now() ? store.get(users, userId) : null;
      if (!user || isAccountLocked(user.lock, clock.now()) || String(passwordVersionOf(user)) !== version) return null;
      return { userId, scopes: null, loggedInAt: Number(loggedInAt) };
    },
  };
}

function passwordVersionOf(user: RowOf<typeof users> | null): number {
  return user?.passwordChangedAt ?? 0;
}
