import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../lib/clock.ts";

/** CSRF tokens of forms. They expire, and become invalid when the process ends. */
export interface CsrfTokens {
  /** Issues a token for a form; `subject` identifies the form's content and the session that shows it. */
  issue(subject: string): string;
  /** False for a token of another subject, a forged one or an expired one. */
  verify(token: string, subject: string): boolean;
}

/** Lifetime of a token: 30 minutes. */
const VALIDITY_MS = 1_800_000;

/**
 * Creates CSRF tokens, signed with a random key of this process. @source OWASP CSRF Prevention Cheat Sheet (HMAC based
 * token)
 */
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
      const expected = sign(until, subject);
      return given.length === expected.length && timingSafeEqual(given, expected) && Number(until) > clock.now();
    },
  };
}
