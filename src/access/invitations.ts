import { randomInt } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { By, Store, Transaction } from "../store/store.ts";
import { isLocked } from "./locks.ts";
import { OWN_THINGS } from "./oauth-scopes.ts";
import type { Access } from "./principal.ts";
import type { SignIn } from "./sign-in.ts";
import { hashToken, newToken } from "./tokens.ts";

/** Signs that nobody takes for another. @source Crockford's Base32 */
const SIGNS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** 80 bits; with the waits of log-in beyond any guessing, and short enough to be typed at a screen on the wall. own choice */
const CODE_LENGTH = 16;
const GROUP_LENGTH = 4;
/** How long an invitation can be accepted. own choice: a week */
const INVITED_MS = 7 * 86_400_000;
/** What a device stays logged in for; browsers keep a cookie no longer. @source RFC 6265bis §5.5 */
export const DEVICE_SESSION_MS = 400 * 86_400_000;
/** Devices of one user that are logged in at once; a new one ends the oldest. own choice */
const MOST_DEVICES = 20;

/** What accepting works with. */
export interface InvitationNeeds {
  store: Store;
  access: Pick<Access, "systemBy">;
  clock: Clock;
  /** Counts guesses together with those of log-in. */
  signIn: Pick<SignIn, "attemptFrom">;
}

/**
 * Invites a user to log a device in without a password: the code is told here and never again, and is good once. It lies
 * among the user's tokens, where it can be revoked. Throws as every creation does; not-found for a user out of sight.
 */
export async function invite(
  { store, clock }: Pick<InvitationNeeds, "store" | "clock">,
  userId: string,
  by: By,
): Promise<{ code: string; expires: number }> {
  const code = newCode();
  const expires = clock.now() + INVITED_MS;
  const system = { kind: "invitation", type: "code", tokenHash: hashCode(code), expires } as const;
  await store.create(userTokens, { userId, name: "Invitation" }, by, system);
  return { code, expires };
}

/**
 * Accepts an invitation: ends it, logs in the device that `name` names and returns the value of its cookie. Such a session
 * reaches its user's own messages and devices alone, whatever else that user may do. Throws CallerError `unauthorized` in
 * the same words whatever was wrong with the code, TooManyRequests after too many guesses.
 */
export async function acceptInvitation(
  { store, access, clock, signIn }: InvitationNeeds,
  { code, name }: { code: string; name: string | null },
  address: string | null,
): Promise<string> {
  const takeBack = signIn.attemptFrom(address);
  const { token, tokenHash } = newToken();
  const { scope } = access.systemBy("invitations");
  const isIn = await store.write((tx) => {
    const now = clock.now();
    const [found] = tx.find(userTokens, { tokenHash: hashCode(code), kind: "invitation" }, 1);
    const user = found ? tx.get(users, found.userId) : null;
    const { id: userId = null, name: userName = "unknown account" } = user ?? {};
    const by: By = { actor: { kind: "user", userId, name: userName, address }, scope };
    if (!found || !user || (found.expires ?? 0) <= now || isLocked(user.lock, now)) {
      tx.note({ op: "log-in-refused", resource: users.name, rowId: userId }, by);
      return false;
    }
    tx.remove(userTokens, found.id, by);
    endOldest(tx, user.id, by);
    tx.note({ op: "log-in", resource: users.name, rowId: user.id }, by);
    const system = { kind: "device", tokenHash, scope: OWN_THINGS, lastUsedAt: now } as const;
    tx.create(userTokens, { userId: user.id, name: name?.trim() || "Device" }, by, {
      ...system,
      expires: now + DEVICE_SESSION_MS,
    });
    return true;
  });
  if (!isIn) throw refused();
  takeBack();
  return token;
}

function endOldest(tx: Transaction, userId: string, by: By): void {
  const devices = tx.find(userTokens, { userId, kind: "device" });
  for (const { id } of devices.slice(0, Math.max(0, devices.length - MOST_DEVICES + 1))) tx.remove(userTokens, id, by);
}

function newCode(): string {
  const signs = Array.from({ length: CODE_LENGTH }, () => SIGNS[randomInt(SIGNS.length)]).join("");
  return signs.match(new RegExp(`.{${GROUP_LENGTH}}`, "g"))?.join("-") ?? signs;
}

/** Case, blanks and hyphens don't count, nor which of two like signs was typed. @source Crockford's Base32 */
function hashCode(code: string): string {
  const plain = code.toUpperCase().replace(/[\s-]/g, "").replaceAll("O", "0").replace(/[IL]/g, "1");
  return hashToken(`invitation ${plain}`);
}

function refused(): CallerError {
  return new CallerError("unauthorized", "The invitation is not right, was used, or is over.");
}
