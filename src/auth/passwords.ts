import type { Algorithm } from "@node-rs/argon2";

/** Algorithm.Argon2id; the package declares it as an ambient const enum, which isolated modules cannot import. */
const ARGON2ID = 2 as Algorithm;

/**
 * Hashes a password with argon2id (PHC string), off the main thread. New passwords are checked before, by `NewPasswords`.
 * @source OWASP Password Storage Cheat Sheet (19 MiB, 2 passes, 1 lane)
 */
export async function hashPassword(password: string): Promise<string> {
  // Native code that is loaded only when needed.
  const { hash } = await import("@node-rs/argon2");
  return hash(password.normalize("NFC"), { algorithm: ARGON2ID, memoryCost: 19_456, timeCost: 2, parallelism: 1 });
}

/** A hash of the same cost that matches no password. */
const DUMMY_HASH = `$argon2id$v=19$m=19456,t=2,p=1$${"A".repeat(22)}$${"A".repeat(43)}`;

/** Verifies a password. Takes about the same time without a hash, so that timing reveals nothing. */
export async function verifyPassword(password: string, passwordHash: string | null): Promise<boolean> {
  const { verify } = await import("@node-rs/argon2");
  const matches = await verify(passwordHash ?? DUMMY_HASH, password.normalize("NFC"));
  return passwordHash !== null && matches;
}
