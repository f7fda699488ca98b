import type { Algorithm } from "@node-rs/argon2";

/** Algorithm.Argon2id; the package declares it as an ambient const enum, which isolated modules cannot import. */
const ARGON2ID = 2 as Algorithm;
/** @source OWASP Password Storage Cheat Sheet (19 MiB, 2 passes, 1 lane) */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** A salt of 16 bytes and a hash of 32 bytes. Other costs are not verified: a received hash could ask for any. */
const HASH = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/;
/** A hash of the same cost that matches nothing. */
const DUMMY_HASH = `$argon2id$v=19$m=19456,t=2,p=1$${"A".repeat(22)}$${"A".repeat(43)}`;

/** Hashes a text with argon2id and a random salt (PHC string), off the main thread. */
export async function hashWithArgon2(text: string): Promise<string> {
  // Native code that is loaded only when needed.
  const { hash } = await import("@node-rs/argon2");
  return hash(text.normalize("NFC"), { algorithm: ARGON2ID, ...COST });
}

/** Whether a text is a hash of `hashWithArgon2`. */
export function isArgon2Hash(text: string): boolean {
  return HASH.test(text);
}

/** Verifies a text. Takes about the same time without a hash, so that timing reveals nothing. */
export async function verifyArgon2(text: string, hash: string | null): Promise<boolean> {
  const { verify } = await import("@node-rs/argon2");
  const isUsable = hash !== null && isArgon2Hash(hash);
  const matches = await verify(isUsable ? hash : DUMMY_HASH, text.normalize("NFC"));
  return isUsable && matches;
}
