import type { Secrets } from "../store/store.ts";
import type { RedirectState } from "./provider.ts";

/** How long somebody may take to log in at a provider. own choice */
export const LOGIN_TIMEOUT_MS = 600_000;

/** A log-in that was begun in a browser. */
export interface PendingLogin {
  providerId: string;
  /** Names it among others; what comes back carries it. */
  relay: string;
  /** Path of this appliance that the browser goes on to. */
  to: string;
  kept: RedirectState;
  /** Epoch ms. */
  at: number;
}

/**
 * Begun log-ins travel in a cookie that nobody can read or make: a restart in between harms nobody, and nothing piles up.
 * What is sealed may stand in a cookie as it is; longer than 4 KiB browsers would not keep it.
 */
export function sealPendingLogin(secrets: Secrets, begun: PendingLogin): string {
  return secrets.seal(JSON.stringify(begun));
}

/** What `sealBegun` made; null for anything else, and for what is too old. */
export function openPendingLogin(secrets: Secrets, sealed: string | null, now: number): PendingLogin | null {
  if (sealed === null || sealed.length > 8_192) return null;
  try {
    const begun = JSON.parse(secrets.open(sealed)) as PendingLogin;
    return now - begun.at < LOGIN_TIMEOUT_MS ? begun : null;
  } catch {
    return null;
  }
}

/** A path of this appliance to go on to: `to` if it is one, else the console. */
export function sanitizeReturnPath(to: string | null): string {
  if (to === null || to.length > 2_000) return "/";
  // Browsers take a backslash for a slash, and drop control characters.
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(to) && !to.includes("\\") ? to : "/";
}
