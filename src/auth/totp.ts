import { Secret, TOTP } from "otpauth";

/** Seconds for which a code is valid. @source RFC 6238 §4.1 */
const PERIOD_S = 30;
/** Steps before and after the present one that are accepted, for clocks that differ. @source RFC 6238 §5.2 */
const WINDOW_STEPS = 1;
/** Bytes of a key. @source RFC 4226 §4, R6 */
const SECRET_BYTES = 20;

/** Key of an authenticator app, Base32. */
export function generateTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32;
}

/**
 * Address that authenticator apps read as a QR code. All of them know the default algorithm, length and period.
 * @source https://github.com/google/google-authenticator/wiki/Key-Uri-Format
 */
export function buildTotpUri(secret: string, issuer: string, label: string): string {
  // The colon separates issuer and label.
  return new TOTP({ issuer: issuer.replaceAll(":", " "), label: label.replaceAll(":", " "), secret }).toString();
}

/**
 * The time step that `code` belongs to, if it is after `lastStep`; otherwise null. A code is thus accepted once. A
 * `lastStep` in the future was recorded by a clock that was wrong, and does not count.
 */
export function verifyTotpCode(secret: string, code: string, now: number, lastStep: number | null): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const delta = new TOTP({ secret, period: PERIOD_S }).validate({ token: code, timestamp: now, window: WINDOW_STEPS });
  if (delta === null) return null;
  const present = Math.floor(now / (PERIOD_S * 1_000));
  const last = lastStep !== null && lastStep <= present + WINDOW_STEPS ? lastStep : null;
  return last === null || present + delta > last ? present + delta : null;
}
