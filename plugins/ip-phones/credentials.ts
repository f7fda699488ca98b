import { createHash, timingSafeEqual } from "node:crypto";

/** Who pushes. */
export interface Credentials {
  /** Value of the Authorization header. */
  header: string;
  /** True for this user and password; takes the same time wherever they differ. */
  match(user: string, password: string): boolean;
}

/** Makes the credentials of all pushes; throws when the user holds a colon, which Basic can't carry. */
export function createCredentials(user: string, password: string): Credentials {
  if (user.includes(":")) throw new Error("pushUser must not hold a colon");
  const expected = digest(user, password);
  return {
    header: `Basic ${Buffer.from(`${user}:${password}`, "utf8").toString("base64")}`,
    match: (givenUser, givenPassword) => timingSafeEqual(expected, digest(givenUser, givenPassword)),
  };
}

/** A colon can't stand in a user, so it parts the two without doubt. */
function digest(user: string, password: string): Buffer {
  return createHash("sha256").update(user.replaceAll(":", "\0")).update(":").update(password).digest();
}
