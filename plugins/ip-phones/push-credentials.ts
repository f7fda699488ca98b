import { createHash, timingSafeEqual } from "node:crypto";

/** Who pushes. */
export interface PushCredentials {
  /** Value of the Authorization header. */
  authorization: string;
  /** True for this user and password; takes the same time wherever they differ. */
  matches(user: string, password: string): boolean;
}

/** Makes the credentials of all pushes; throws when the user holds a colon, which Basic can't carry. */
export function createPushCredentials(user: string, password: string): PushCredentials {
  if (user.includes(":")) throw new Error("pushUser must not hold a colon");
  const expected = credentialsDigest(user, password);
  return {
    authorization: `Basic ${Buffer.from(`${user}:${password}`, "utf8").toString("base64")}`,
    matches: (givenUser, givenPassword) => timingSafeEqual(expected, credentialsDigest(givenUser, givenPassword)),
  };
}

/** A colon can't stand in a user, so it parts the two without doubt. */
function credentialsDigest(user: string, password: string): Buffer {
  return createHash("sha256").update(user.replaceAll(":", "\0")).update(":").update(password).digest();
}
