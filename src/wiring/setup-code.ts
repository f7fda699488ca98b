import { hash, randomInt } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** File in the data directory that contains the one-time setup code. */
const CODE_FILE = "setup-code";
/** Characters that can't be confused. @source Crockford's Base32 */
const CODE_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** 50 bits: can't be guessed, as login attempts are rate limited. */
const CODE_LENGTH = 10;

/** The setup code of an appliance without administrator; null once it has one. */
export function readSetupCode(dataDir: string): string | null {
  try {
    return readFileSync(join(dataDir, CODE_FILE), "utf8").trim() || null;
  } catch {
    return null;
  }
}

/** Creates the code. */
export function writeSetupCode(dataDir: string): void {
  const characters = Array.from({ length: CODE_LENGTH }, () => CODE_ALPHABET[randomInt(CODE_ALPHABET.length)]).join("");
  const code = `${characters.slice(0, CODE_LENGTH / 2)}-${characters.slice(CODE_LENGTH / 2)}`;
  writeFileSync(join(dataDir, CODE_FILE), `${code}\n`, { mode: 0o600 });
}

export function removeSetupCode(dataDir: string): void {
  rmSync(join(dataDir, CODE_FILE), { force: true });
}

/** Ignores case, blanks and hyphens. Digests are compared, so timing reveals nothing about the code. */
export function isSetupCodeCorrect(given: string, code: string | null): boolean {
  const digest = (text: string): string => hash("sha256", text.toUpperCase().replace(/[\s-]/g, ""), "hex");
  return code !== null && digest(given) === digest(code);
}
