import { createHash, timingSafeEqual } from "node:crypto";

/** Credentials of pushes. */
export interface PushCredentials {
  /** Value of the Authorization header. */
  authorization: string;
  /** Compares in constant time. */
  matches(user: string, password: string): boolean;
}

/** Creates the credentials; throws if the user contains a colon, which HTTP Basic does not allow. */
export function createPushCredentials(user: string, password: string): PushCredentials {
  if (user.includes(":")) throw new Error("pushUser must not contain a colon");
  const expected = credentialsDigest(user, password);
  return {
    authorization: `Basic ${Buffer.from(`${user}:${password}`, "utf8").toString("base64")}`,
    matches: (givenUser, givenPassword) => timingSafeEqual(expected, credentialsDigest(givenUser, givenPassword)),
  };
}

/** A user contains no colon, so the separator is unambiguous. */
function credentialsDigest(user: string, password: string): Buffer {
  return createHash("sha256").update(user.replaceAll(":", "\0")).update(":").update(password).digest();
}
