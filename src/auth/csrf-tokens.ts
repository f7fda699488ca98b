import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../lib/clock.ts";

/** Proofs that a form was shown by us, for what it says. They are good until the process ends at most. */
export interface CsrfTokens {
  /** A proof that goes into the form; `subject` is what the form is about and whose session shows it. */
  issue(subject: string): string;
  /** False for a proof of something else, of somebody else, or one that is too old. */
  verify(token: string, subject: string): boolean;
}

/** How long a form may stand open. own choice */
const VALIDITY_MS = 1_800_000;

/** Makes the proofs with a key of this process alone. @source OWASP CSRF Prevention Cheat Sheet (HMAC based token) */
export function createCsrfTokens(clock: Clock): CsrfTokens {
  const key = randomBytes(32);
  const sign = (until: string, subject: string): Buffer =>
    createHmac("sha256", key).update(`${until}.${subject}`).digest();
  return {
    issue(subject) {
      const until = String(clock.now() + VALIDITY_MS);
      return `${until}.${sign(until, subject).toString("base64url")}`;
    },
    verify(token, subject) {
      const [until = "", signature = ""] = token.split(".");
      const given = Buffer.from(signature, "base64url");
      const right = sign(until, subject);
      return given.length === right.length && timingSafeEqual(given, right) && Number(until) > clock.now();
    },
  };
}
