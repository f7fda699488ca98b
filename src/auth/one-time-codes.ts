import { randomInt } from "node:crypto";
import { hashToken } from "./tokens.ts";

const BITS_PER_CHARACTER = 5;
/** Characters that cannot be mistaken for one another. @source Crockford's Base32 */
const CODE_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const GROUP_LENGTH = 4;

/** Generates a code of `bits` that works once, in groups of four characters. */
export function generateOneTimeCode(bits: 80 | 120): string {
  const signs = Array.from(
    { length: bits / BITS_PER_CHARACTER },
    () => CODE_ALPHABET[randomInt(CODE_ALPHABET.length)],
  ).join("");
  return signs.match(new RegExp(`.{${GROUP_LENGTH}}`, "g"))?.join("-") ?? signs;
}

/**
 * The stored hash of a code for `purpose`. Ignores case, blanks, hyphens, and which of two similar characters was typed.
 * @source Crockford's Base32
 */
export function hashOneTimeCode(purpose: "invitation" | `recovery ${string}`, code: string): string {
  const plain = code.toUpperCase().replace(/[\s-]/g, "").replaceAll("O", "0").replace(/[IL]/g, "1");
  return hashToken(`${purpose} ${plain}`);
}
