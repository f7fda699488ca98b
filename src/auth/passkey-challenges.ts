import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { setBounded } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";

/**
 * Challenges of passkeys: each expires soon, serves one purpose and can be used once. Issued challenges are not stored, so
 * anonymous requests use no memory: a challenge carries its expiry and a MAC with a key that lives as long as the process.
 * @source docs/decisions/0469-passkeys.md; W3C Web Authentication Level 3 §13.4.3
 */
export interface PasskeyChallenges {
  /** `purpose` names the act and whom it is for. */
  issue(purpose: string): Uint8Array<ArrayBuffer>;
  /** True for a challenge (base64url) of this purpose that has neither expired nor been used. */
  isValid(purpose: string, challenge: string): boolean;
  /** Makes a challenge worthless; false if it was not valid any more. */
  use(purpose: string, challenge: string): boolean;
}

/** Time to find the security key or the phone. */
export const CHALLENGE_MS = 300_000;
const RANDOM_BYTES = 16;
const EXPIRY_BYTES = 6;
const MAC_BYTES = 32;
/** Only right signatures are remembered, so that no stranger fills it. */
const MAX_USED = 10_000;

/** Creates the challenges; a restart ends those that are pending. */
export function createPasskeyChallenges(clock: Clock): PasskeyChallenges {
  const key = randomBytes(32);
  /** Expiry of used challenges. */
  const used = new Map<string, number>();
  const macOf = (purpose: string, head: Uint8Array): Buffer =>
    createHmac("sha256", key).update(head).update(purpose).digest();

  function isValid(purpose: string, challenge: string): boolean {
    const bytes = Buffer.from(challenge, "base64url");
    if (bytes.length !== RANDOM_BYTES + EXPIRY_BYTES + MAC_BYTES || used.has(bytes.toString("hex"))) return false;
    const head = bytes.subarray(0, RANDOM_BYTES + EXPIRY_BYTES);
    if (!timingSafeEqual(bytes.subarray(head.length), macOf(purpose, head))) return false;
    return head.readUIntBE(RANDOM_BYTES, EXPIRY_BYTES) > clock.now();
  }

  return {
    issue(purpose) {
      const head = Buffer.alloc(RANDOM_BYTES + EXPIRY_BYTES, randomBytes(RANDOM_BYTES));
      head.writeUIntBE(clock.now() + CHALLENGE_MS, RANDOM_BYTES, EXPIRY_BYTES);
      return new Uint8Array(Buffer.concat([head, macOf(purpose, head)]));
    },
    isValid,
    use(purpose, challenge) {
      if (!isValid(purpose, challenge)) return false;
      for (const [id, expires] of used) {
        if (expires > clock.now()) break;
        used.delete(id);
      }
      setBounded(used, Buffer.from(challenge, "base64url").toString("hex"), clock.now() + CHALLENGE_MS, MAX_USED);
      return true;
    },
  };
}
