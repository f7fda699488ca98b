import { isOwnOrigin } from "../access/hosts.ts";
import type { Access, Principal } from "../access/principal.ts";
import { tokenInCookie } from "../access/session-cookie.ts";
import { CallerError } from "../base/errors.ts";
import type { Incoming } from "./incoming.ts";

/**
 * own choice: says that a page sent the request by itself, as when it follows a change: an open page that nobody looks at
 * must not keep its session alive.
 */
const BACKGROUND = "x-carillon-background";

/**
 * The holder of the session in the request's cookie; null without a good one. Browsers send cookies unasked, so what
 * changes something must show that a page of the console sent it: throws CallerError forbidden when it does not.
 */
export function callerByCookie(
  incoming: Pick<Incoming, "method" | "header" | "secure">,
  access: Access,
): Principal | null {
  const token = tokenInCookie(incoming.header("cookie"), incoming.secure);
  const principal = token === null ? null : access.authenticate(token, "cookie", incoming.header(BACKGROUND) !== "1");
  if (!principal || incoming.method === "get") return principal;
  if (incoming.header("x-carillon-console") !== "1" || incoming.header("origin") === null) {
    throw new CallerError("forbidden", "A change by cookie needs the header X-Carillon-Console: 1 and an Origin.");
  }
  refuseForeignOrigin(incoming);
  return principal;
}

/** Throws CallerError forbidden for a request that a page of another site sent; those without an Origin are no page's. */
export function refuseForeignOrigin({ header, secure }: Pick<Incoming, "header" | "secure">): void {
  const origin = header("origin");
  if (origin === null || isOwnOrigin(origin, header("host"), secure)) return;
  throw new CallerError("forbidden", "Only the console's own pages may ask for this.");
}
