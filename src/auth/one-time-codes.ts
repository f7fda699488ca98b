import { randomInt } from "node:crypto";
import { hashToken } from "./tokens.ts";

/** Characters that cannot be mistaken for one another. @source Crockford's Base32 */
const CODE_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** 80 bits: beyond guessing, also with the stored hash, and short enough to type. */
const CODE_LENGTH = 16;
const GROUP_LENGTH = 4;

/** Generates a code that works once, in groups of four characters. */
export function generateOneTimeCode(): string {
  const signs = Array.from({ length: CODE_LENGTH }, () => CODE_ALPHABET[randomInt(CODE_ALPHABET.length)]).join("");
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
