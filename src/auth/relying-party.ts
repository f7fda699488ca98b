import { isIP } from "node:net";
import { ConflictError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";

/** Whom passkeys are for. @source W3C Web Authentication Level 3 §5.4.2 */
export interface RelyingParty {
  /** Host name: browsers use a passkey at this host only. */
  id: string;
  /** Origins of the pages that may ask for a passkey. */
  origins: string[];
}

/**
 * The relying party of a request: the host of the public URL, or without one the host that the browser addresses, which
 * was checked against the names of the appliance. Throws ConflictError where browsers have no passkeys.
 */
export function relyingPartyOf(publicUrl: string | null, host: string | null): RelyingParty {
  const base = publicUrl ?? `https://${host ?? ""}`;
  const { hostname, host: authority, protocol, origin } = URL.canParse(base) ? new URL(base) : NOWHERE;
  const isLoopback = hostname === "localhost" || hostname.endsWith(".localhost");
  if (hostname === "" || isIP(hostname.replace(/^\[|\]$/g, "")) !== 0 || (protocol !== "https:" && !isLoopback)) {
    throw new ConflictError(sentence("conflict.passkeys-need-a-host-name-and-https-open-the-console"));
  }
  // Browsers treat http://localhost as secure.
  return { id: hostname, origins: isLoopback ? [origin, `http://${authority}`] : [origin] };
}

const NOWHERE = new URL("https://0.0.0.0");
