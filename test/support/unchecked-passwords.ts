import type { NewPasswords } from "../../src/auth/new-passwords.ts";
import { hashPassword } from "../../src/auth/passwords.ts";

/** Hashes any password: the check would start a thread and load its dictionaries for every test file. */
export const UNCHECKED_PASSWORDS: NewPasswords = {
  minLength: 1,
  hash: (password) => hashPassword(password),
  close: async () => undefined,
};
