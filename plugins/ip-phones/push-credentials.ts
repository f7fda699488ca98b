import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { sentence } from "./sentences.ts";

/** Credentials of pushes. */
export interface PushCredentials {
  /** Each phone has another password, which is worth nothing unless a push to that phone is under way. */
  isPerPhone: boolean;
  /** Value of the Authorization header of a push to the phone. */
  authorizationFor(phone: string): string;
  /** Compares in constant time. */
  matches(phone: string, user: string, password: string): boolean;
}

/**
 * Creates the credentials, with the given password or with passwords per phone, derived from a key by HMAC. Phones
 * send passwords in the clear: one that is overheard opens no other phone. Throws if the user contains a colon, which
 * HTTP Basic does not allow. @source docs/decisions/0471-push-passwords-per-phone.md
 */
export function createPushCredentials(user: string, secret: { password: string } | { key: Buffer }): PushCredentials {
  if (user.includes(":")) throw new Error(sentence("user-colon"));
  const passwordFor = (phone: string): string =>
    "password" in secret
      ? secret.password
      : createHmac("sha256", secret.key)
          .update(phoneKey(phone))
          .digest()
          .subarray(0, PASSWORD_BYTES)
          .toString("base64url");
  return {
    isPerPhone: "key" in secret,
    authorizationFor: (phone) => `Basic ${Buffer.from(`${user}:${passwordFor(phone)}`, "utf8").toString("base64")}`,
    matches: (phone, givenUser, givenPassword) =>
      timingSafeEqual(credentialsDigest(user, passwordFor(phone)), credentialsDigest(givenUser, givenPassword)),
  };
}

/** 32 characters, as many as phones are known to accept. */
const PASSWORD_BYTES = 24;

/** Phones and call managers write device names in either case. */
export function phoneKey(phone: string): string {
  return phone.toUpperCase();
}

/** A user contains no colon, so the separator is unambiguous. */
function credentialsDigest(user: string, password: string): Buffer {
  return createHash("sha256").update(user.replaceAll(":", "\0")).update(":").update(password).digest();
}
