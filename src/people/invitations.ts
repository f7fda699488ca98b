import { isAccountLocked } from "../auth/account-lock.ts";
import type { LoginService } from "../auth/login.ts";
import { generateOneTimeCode, hashOneTimeCode } from "../auth/one-time-codes.ts";
import type { AccessControl } from "../auth/principal.ts";
import { generateToken } from "../auth/tokens.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { DEVICE_SESSION_SCOPE } from "../permissions/token-scopes.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";

/** How long an invitation can be accepted: one week. */
const INVITATION_MS = 7 * 86_400_000;
/** Lifetime of a device session; browsers keep a cookie no longer. @source RFC 6265bis §5.5 */
export const DEVICE_SESSION_MS = 400 * 86_400_000;
/** Devices of one user logged in at once; a new one ends the oldest session. */
const MAX_DEVICES_PER_USER = 20;

export interface InvitationDeps {
  store: Store;
  access: Pick<AccessControl, "systemContext">;
  clock: Clock;
  /** Counts guesses together with failed logins. */
  signIn: Pick<LoginService, "registerAttempt">;
}

/**
 * Creates an invitation that logs in one device without a password. The code is returned here only, and works once. The
 * invitation is one of the user's tokens and can be revoked there. Throws as `create` does; not-found for a user who is
 * not visible.
 */
export async function createInvitation(
  { store, clock }: Pick<InvitationDeps, "store" | "clock">,
  userId: string,
  by: ActorContext,
): Promise<{ code: string; expires: number }> {
  const code = generateOneTimeCode(80);
  const expires = clock.now() + INVITATION_MS;
  const system = { kind: "invitation", type: "code", tokenHash: hashOneTimeCode("invitation", code), expires } as const;
  await store.create(userTokens, { userId, name: "Invitation" }, by, system);
  return { code, expires };
}

/**
 * Accepts an invitation: consumes it, logs in the device named `name` and returns the value of its session cookie. Such
 * a session reaches its user's own messages and devices only, whatever else that user may do. Throws CallerError
 * `unauthorized` with the same message whatever is wrong with the code, TooManyRequestsError after too many guesses.
 */
export async function acceptInvitation(
  { store, access, clock, signIn }: InvitationDeps,
  { code, name }: { code: string; name: string | null },
  address: string | null,
): Promise<string> {
  const takeBack = signIn.registerAttempt(address);
  const { token, tokenHash } = generateToken();
  const { scope } = access.systemContext("invitations");
  const isIn = await store.write((tx) => {
    const now = clock.now();
    const [found] = tx.find(userTokens, { tokenHash: hashOneTimeCode("invitation", code), kind: "invitation" }, 1);
    const user = found ? tx.get(users, found.userId) : null;
    const { id: userId = null, name: userName = "unknown account" } = user ?? {};
    const by: ActorContext = { actor: { kind: "user", userId, name: userName, address }, scope };
    if (!found || !user || (found.expires ?? 0) <= now || isAccountLocked(user.lock, now)) {
      tx.addAuditEvent({ op: "log-in-refused", resource: users.name, rowId: userId }, by);
      return false;
    }
    tx.remove(userTokens, found.id, by);
    revokeOldestDevices(tx, user.id, by);
    tx.addAuditEvent({ op: "log-in", resource: users.name, rowId: user.id }, by);
    const system = { kind: "device", tokenHash, scope: DEVICE_SESSION_SCOPE, lastUsedAt: now } as const;
    tx.create(userTokens, { userId: user.id, name: name?.trim() || "Device" }, by, {
      ...system,
      expires: now + DEVICE_SESSION_MS,
    });
    return true;
  });
  if (!isIn) throw invalidInvitation();
  takeBack();
  return token;
}

function revokeOldestDevices(tx: Transaction, userId: string, by: ActorContext): void {
  const devices = tx.find(userTokens, { userId, kind: "device" });
  for (const { id } of devices.slice(0, Math.max(0, devices.length - MAX_DEVICES_PER_USER + 1)))
    tx.remove(userTokens, id, by);
}

function invalidInvitation(): CallerError {
  return new CallerError("unauthorized", sentence("people.the-invitation-code-is-invalid-expired-or-already-used"));
}
