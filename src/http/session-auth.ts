import { isSameOrigin } from "../auth/host-check.ts";
import type { AccessControl, Principal } from "../auth/principal.ts";
import { readSessionCookie } from "../auth/session-cookie.ts";
import { CallerError } from "../lib/errors.ts";
import type { IncomingRequest } from "./incoming-request.ts";

/**
 * own choice: says that a page sent the request by itself, as when it follows a change: an open page that nobody looks at
 * must not keep its session alive.
 */
const BACKGROUND_HEADER = "x-carillon-background";

/**
 * The holder of the session in the request's cookie; null without a good one. Browsers send cookies unasked, so what
 * changes something must show that a page of the console sent it: throws CallerError forbidden when it does not.
 */
export function authenticateSession(
  incoming: Pick<IncomingRequest, "method" | "header" | "secure">,
  access: AccessControl,
): Principal | null {
  const token = readSessionCookie(incoming.header("cookie"), incoming.secure);
  const principal =
    token === null ? null : access.authenticate(token, "cookie", incoming.header(BACKGROUND_HEADER) !== "1");
  if (!principal || incoming.method === "get") return principal;
  if (incoming.header("x-carillon-console") !== "1" || incoming.header("origin") === null) {
    throw new CallerError("forbidden", "A change by cookie needs the header X-Carillon-Console: 1 and an Origin.");
  }
  assertSameOrigin(incoming);
  return principal;
}

/** Throws CallerError forbidden for a request that a page of another site sent; those without an Origin are no page's. */
export function assertSameOrigin({ header, secure }: Pick<IncomingRequest, "header" | "secure">): void {
  const origin = header("origin");
  if (origin === null || isSameOrigin(origin, header("host"), secure)) return;
  throw new CallerError("forbidden", "Only the console's own pages may ask for this.");
}
