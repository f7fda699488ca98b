import { hashWithArgon2, verifyArgon2 } from "../lib/password-hash.ts";

/**
 * Hashes a password with argon2id (PHC string), off the main thread. New passwords are checked before, by `NewPasswords`.
 * @source OWASP Password Storage Cheat Sheet (19 MiB, 2 passes, 1 lane)
 */
export function hashPassword(password: string): Promise<string> {
  return hashWithArgon2(password);
}

/** Verifies a password. Takes about the same time without a hash, so that timing reveals nothing. */
export function verifyPassword(password: string, passwordHash: string | null): Promise<boolean> {
  return verifyArgon2(password, passwordHash);
}
