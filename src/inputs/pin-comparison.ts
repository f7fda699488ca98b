import { createHash, timingSafeEqual } from "node:crypto";
import type { Secrets } from "../store/store.ts";

/** True if both sealed PINs are equal; constant time. */
export function isSamePin(wanted: string, given: string | null, secrets: Secrets): boolean {
  return given !== null && timingSafeEqual(hashDigits(secrets.open(wanted)), hashDigits(secrets.open(given)));
}

function hashDigits(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
