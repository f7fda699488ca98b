import type { Secrets } from "../store/store.ts";
import type { RedirectState } from "./provider.ts";

/** Time limit for a login at a provider. */
export const LOGIN_TIMEOUT_MS = 600_000;

/** A login that was started in a browser. Stored sealed in a cookie, so the member names are a format. */
export interface PendingLogin {
  providerId: string;
  /** Random id of the login (SAML RelayState), returned by the provider. */
  relay: string;
  /** Local path to redirect to after the login. */
  to: string;
  kept: RedirectState;
  /** Epoch ms. */
  at: number;
}

/**
 * Seals a pending login for a cookie, which clients can neither read nor forge. It survives a restart and needs no
 * server-side storage. The sealed text is cookie-safe; browsers drop cookies longer than 4 KiB.
 */
export function sealPendingLogin(secrets: Secrets, pending: PendingLogin): string {
  return secrets.seal(JSON.stringify(pending));
}

/** Opens a sealed pending login; null if it is forged or expired. */
export function openPendingLogin(secrets: Secrets, sealed: string | null, now: number): PendingLogin | null {
  if (sealed === null || sealed.length > 8_192) return null;
  try {
    const pending = JSON.parse(secrets.open(sealed)) as PendingLogin;
    return now - pending.at < LOGIN_TIMEOUT_MS ? pending : null;
  } catch {
    return null;
  }
}

/** `to` if it is a local path, else `/`; prevents open redirects. */
export function sanitizeReturnPath(to: string | null): string {
  if (to === null || to.length > 2_000) return "/";
  // Browsers treat a backslash as a slash and drop control characters.
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(to) && !to.includes("\\") ? to : "/";
}
