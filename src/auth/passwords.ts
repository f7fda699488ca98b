import { invalidValue, requiredValue } from "../lib/errors.ts";
import { hashWithArgon2, verifyArgon2 } from "../lib/password-hash.ts";

/**
 * Hashes a password with argon2id (PHC string), off the main thread. Throws `required` or `invalid-value` on `field`
 * for less than 8 or more than 1,024 characters.
 * @source OWASP Password Storage Cheat Sheet; NIST SP 800-63B §3.1.1.2 (length only)
 */
export async function hashPassword(password: string, field = "password"): Promise<string> {
  if (password === "") throw requiredValue(field);
  const length = [...password].length;
  if (length < 8 || length > 1_024) throw invalidValue(field, "Must have between 8 and 1024 characters.");
  return hashWithArgon2(password);
}

/** Verifies a password. Takes about the same time without a hash, so that timing reveals nothing. */
export function verifyPassword(password: string, passwordHash: string | null): Promise<boolean> {
  return verifyArgon2(password, passwordHash);
}
