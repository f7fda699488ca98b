import type { Secrets } from "../store/store.ts";
import type { Kept } from "./provider.ts";

/** How long somebody may take to log in at a provider. own choice */
export const LOG_IN_MS = 600_000;

/** A log-in that was begun in a browser. */
export interface Begun {
  providerId: string;
  /** Names it among others; what comes back carries it. */
  relay: string;
  /** Path of this appliance that the browser goes on to. */
  to: string;
  kept: Kept;
  /** Epoch ms. */
  at: number;
}

/**
 * Begun log-ins travel in a cookie that nobody can read or make: a restart in between harms nobody, and nothing piles up.
 * What is sealed may stand in a cookie as it is; longer than 4 KiB browsers would not keep it.
 */
export function sealBegun(secrets: Secrets, begun: Begun): string {
  return secrets.seal(JSON.stringify(begun));
}

/** What `sealBegun` made; null for anything else, and for what is too old. */
export function openBegun(secrets: Secrets, sealed: string | null, now: number): Begun | null {
  if (sealed === null || sealed.length > 8_192) return null;
  try {
    const begun = JSON.parse(secrets.open(sealed)) as Begun;
    return now - begun.at < LOG_IN_MS ? begun : null;
  } catch {
    return null;
  }
}

/** A path of this appliance to go on to: `to` if it is one, else the console. */
export function pathWithin(to: string | null): string {
  if (to === null || to.length > 2_000) return "/";
  // Browsers take a backslash for a slash, and drop control characters.
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(to) && !to.includes("\\") ? to : "/";
}
