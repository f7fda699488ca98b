import { hash } from "node:crypto";
import type { AccessControl } from "../auth/principal.ts";
import { readSessionCookie } from "../auth/session-cookie.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, TooManyRequestsError } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import type { ScimServer } from "../scim/server.ts";
import type { Settings } from "../settings/schema.ts";
import { accessTokenOf } from "./bearer-token.ts";
import type { IncomingRequest } from "./incoming-request.ts";

/** Serves a request unless its token or its address has used up what it may ask. Throws TooManyRequests. */
export type RateLimit = (incoming: IncomingRequest, serve: () => Promise<HttpResponse>) => Promise<HttpResponse>;

/** What somebody did not use is kept for so many minutes. own choice */
const BURST_MINUTES = 2;
/** Tokens and addresses remembered; beyond it the one unused for longest starts anew. own choice */
const MAX_KEYS = 10_000;

/** Who a request comes from: a token that is good, a session of the console that is, or nobody known. */
export type RateLimitClient = { token: string } | "session" | null;

/**
 * Counts requests by token, and by address those that bring none which is good: what anybody can make up counts for nothing.
 * A session of the console is not counted, since a person can't ask that much. own choice: what is counted is forgotten at a
 * restart.
 * @source decisions.md 2
 */
export function createRateLimit(
  clock: Clock,
  limits: Settings["api"]["requestsPerMinute"],
  askerOf: (incoming: IncomingRequest) => RateLimitClient,
): RateLimit {
  const takeOfToken = createTokenBuckets(clock, limits.token);
  const takeOfAddress = createTokenBuckets(clock, limits.address);
  return async (incoming, serve) => {
    const asker = askerOf(incoming);
    const address = incoming.address ?? "";
    if (asker === null) assertNotLimited(takeOfAddress(address));
    else if (asker !== "session") assertNotLimited(takeOfToken(hash("sha1", asker.token, "base64url")));
    try {
      return await serve();
    } catch (error) {
      const unknown = error instanceof CallerError && error.type === "unauthorized";
      if (unknown && asker !== null) assertNotLimited(takeOfAddress(address));
      throw error;
    }
  };
}

/** Finds who asks, by tokens of users and of directories. */
export function createClientIdentifier({
  access,
  scim,
}: {
  access: Pick<AccessControl, "authenticate">;
  scim: Pick<ScimServer, "authenticate">;
}): (incoming: IncomingRequest) => RateLimitClient {
  return ({ header, query, address, secure }) => {
    const token = presentedToken(header("authorization"), query);
    if (token !== null) {
      const isGood = access.authenticate(token, "bearer", false) ?? scim.authenticate(token, address);
      return isGood ? { token } : null;
    }
    const session = readSessionCookie(header("cookie"), secure);
    return session !== null && access.authenticate(session, "cookie", false) ? "session" : null;
  };
}

/** The token that a request would be served by; null where it is served by none. */
function presentedToken(authorization: string | null, query: IncomingRequest["query"]): string | null {
  try {
    return accessTokenOf(authorization, query);
  } catch {
    return null;
  }
}

function assertNotLimited(seconds: number): void {
  if (seconds > 0) throw new TooManyRequestsError(seconds);
}

/** Takes one from a key's bucket; returns 0, or the seconds until there is one again. */
function createTokenBuckets(clock: Clock, perMinute: number): (key: string) => number {
  const buckets = new Map<string, { left: number; at: number }>();
  const most = perMinute * BURST_MINUTES;
  const perMs = perMinute / 60_000;
  return (key) => {
    if (perMinute === 0) return 0;
    const now = clock.monotonicMs();
    const known = buckets.get(key);
    const left = known ? Math.min(most, known.left + (now - known.at) * perMs) : most;
    // Put in anew, so that the first key is the one unused for longest.
    buckets.delete(key);
    const oldest = buckets.size >= MAX_KEYS ? buckets.keys().next().value : undefined;
    if (oldest !== undefined) buckets.delete(oldest);
    buckets.set(key, { left: left < 1 ? left : left - 1, at: now });
    return left < 1 ? Math.ceil((1 - left) / perMs / 1_000) : 0;
  };
}
