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

/** Serves a request unless the rate limit of its token or address is exceeded. Throws TooManyRequestsError. */
export type RateLimit = (incoming: IncomingRequest, serve: () => Promise<HttpResponse>) => Promise<HttpResponse>;

/** Burst size in minutes of the rate. */
const BURST_MINUTES = 2;
/** Maximum number of buckets; the least recently used one is dropped. */
const MAX_KEYS = 10_000;

/** The client of a request: a valid token, a valid console session, or null if unauthenticated. */
export type RateLimitClient = { token: string } | "session" | null;

/**
 * Limits requests per valid token, and per address for requests without one, because invalid tokens can be made up.
 * Console sessions are not limited. Counters are lost on restart.
 * @source docs/decisions/0002-errors.md
 */
export function createRateLimit(
  clock: Clock,
  limits: Settings["api"]["requestsPerMinute"],
  identifyClient: (incoming: IncomingRequest) => RateLimitClient,
): RateLimit {
  const takeForToken = createTokenBuckets(clock, limits.token);
  const takeForAddress = createTokenBuckets(clock, limits.address);
  return async (incoming, serve) => {
    const client = identifyClient(incoming);
    const address = incoming.address ?? "";
    if (client === null) assertNotLimited(takeForAddress(address));
    else if (client !== "session") assertNotLimited(takeForToken(hash("sha1", client.token, "base64url")));
    try {
      return await serve();
    } catch (error) {
      const unknown = error instanceof CallerError && error.type === "unauthorized";
      if (unknown && client !== null) assertNotLimited(takeForAddress(address));
      throw error;
    }
  };
}

/** Identifies the client by user tokens, SCIM tokens and session cookies. */
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
      const isValid = access.authenticate(token, "bearer", false) ?? scim.authenticate(token, address);
      return isValid ? { token } : null;
    }
    const session = readSessionCookie(header("cookie"), secure);
    return session !== null && access.authenticate(session, "cookie", false) ? "session" : null;
  };
}

/** The token that would authenticate the request; null without one. */
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
  const capacity = perMinute * BURST_MINUTES;
  const perMs = perMinute / 60_000;
  return (key) => {
    if (perMinute === 0) return 0;
    const now = clock.monotonicMs();
    const bucket = buckets.get(key);
    const left = bucket ? Math.min(capacity, bucket.left + (now - bucket.at) * perMs) : capacity;
    // Re-inserted, so that the first key is the least recently used one.
    buckets.delete(key);
    const oldest = buckets.size >= MAX_KEYS ? buckets.keys().next().value : undefined;
    if (oldest !== undefined) buckets.delete(oldest);
    buckets.set(key, { left: left < 1 ? left : left - 1, at: now });
    return left < 1 ? Math.ceil((1 - left) / perMs / 1_000) : 0;
  };
}
