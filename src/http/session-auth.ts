import { isSameOrigin } from "../auth/host-check.ts";
import type { AccessControl, Principal } from "../auth/principal.ts";
import { readSessionCookie } from "../auth/session-cookie.ts";
import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { IncomingRequest } from "./incoming-request.ts";

/** Marks requests that a page sends in the background: they must not extend the session of an unattended page. */
const BACKGROUND_HEADER = "x-carillon-background";

/**
 * The holder of the session cookie; null without a valid one. CSRF protection: browsers send cookies automatically,
 * so changes must prove that they come from the console. Throws CallerError forbidden otherwise.
 */
export function authenticateSession(
  incoming: Pick<IncomingRequest, "method" | "header" | "secure" | "address">,
  access: AccessControl,
): Principal | null {
  const token = readSessionCookie(incoming.header("cookie"), incoming.secure);
  const isUse = incoming.header(BACKGROUND_HEADER) !== "1";
  const principal = token === null ? null : access.authenticate(token, "cookie", isUse, incoming.address);
  if (!principal || incoming.method === "get") return principal;
  if (incoming.header("x-carillon-console") !== "1" || incoming.header("origin") === null) {
    throw new CallerError("forbidden", sentence("auth.changes-with-a-session-cookie-require-the-headers-x-carillon"));
  }
  assertSameOrigin(incoming);
  return principal;
}

/**
 * Throws CallerError forbidden for cross-origin requests; requests without an Origin header do not come from a page.
 */
export function assertSameOrigin({ header, secure }: Pick<IncomingRequest, "header" | "secure">): void {
  const origin = header("origin");
  if (origin === null || isSameOrigin(origin, header("host"), secure)) return;
  throw new CallerError("forbidden", sentence("auth.cross-origin-requests-are-not-allowed-here"));
}
