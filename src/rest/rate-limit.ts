import { hash } from "node:crypto";
import type { Access } from "../access/principal.ts";
import type { Scim } from "../access/scim/scim.ts";
import { tokenInCookie } from "../access/session-cookie.ts";
import type { Clock } from "../base/clock.ts";
import { CallerError, TooManyRequests } from "../base/errors.ts";
import type { Settings } from "../settings/schema.ts";
import type { Answer } from "./action.ts";
import { tokenOf } from "./bearer.ts";
import type { Incoming } from "./incoming.ts";

/** Serves a request unless its token or its address has used up what it may ask. Throws TooManyRequests. */
export type RateLimit = (incoming: Incoming, serve: () => Promise<Answer>) => Promise<Answer>;

/** What somebody did not use is kept for so many minutes. own choice */
const MINUTES_KEPT = 2;
/** Tokens and addresses remembered; beyond it the one unused for longest starts anew. own choice */
const MOST_KEYS = 10_000;

/** Who a request comes from: a token that is good, a session of the console that is, or nobody known. */
export type Asker = { token: string } | "session" | null;

/**
 * Counts requests by token, and by address those that bring none which is good: what anybody can make up counts for nothing.
 * A session of the console is not counted, since a person can't ask that much. own choice: what is counted is forgotten at a
 * restart.
 * @source decisions.md 2
 */
export function createRateLimit(
  clock: Clock,
  limits: Settings["api"]["requestsPerMinute"],
  askerOf: (incoming: Incoming) => Asker,
): RateLimit {
  const takeOfToken = createBuckets(clock, limits.token);
  const takeOfAddress = createBuckets(clock, limits.address);
  return async (incoming, serve) => {
    const asker = askerOf(incoming);
    const address = incoming.address ?? "";
    if (asker === null) refuseAfter(takeOfAddress(address));
    else if (asker !== "session") refuseAfter(takeOfToken(hash("sha1", asker.token, "base64url")));
    try {
      return await serve();
    } catch (error) {
      const unknown = error instanceof CallerError && error.type === "unauthorized";
      if (unknown && asker !== null) refuseAfter(takeOfAddress(address));
      throw error;
    }
  };
}

/** Finds who asks, by tokens of users and of directories. */
export function createAskerOf({
  access,
  scim,
}: {
  access: Pick<Access, "authenticate">;
  scim: Pick<Scim, "authenticate">;
}): (incoming: Incoming) => Asker {
  return ({ header, query, address, secure }) => {
    const token = carried(header("authorization"), query);
    if (token !== null) {
      const isGood = access.authenticate(token, "bearer", false) ?? scim.authenticate(token, address);
      return isGood ? { token } : null;
    }
    const session = tokenInCookie(header("cookie"), secure);
    return session !== null && access.authenticate(session, "cookie", false) ? "session" : null;
  };
}

/** The token that a request would be served by; null where it is served by none. */
function carried(authorization: string | null, query: Incoming["query"]): string | null {
  try {
    return tokenOf(authorization, query);
  } catch {
    return null;
  }
}

function refuseAfter(seconds: number): void {
  if (seconds > 0) throw new TooManyRequests(seconds);
}

/** Takes one from a key's bucket; returns 0, or the seconds until there is one again. */
function createBuckets(clock: Clock, perMinute: number): (key: string) => number {
  const buckets = new Map<string, { left: number; at: number }>();
  const most = perMinute * MINUTES_KEPT;
  const perMs = perMinute / 60_000;
  return (key) => {
    if (perMinute === 0) return 0;
    const now = clock.monotonicMs();
    const known = buckets.get(key);
    const left = known ? Math.min(most, known.left + (now - known.at) * perMs) : most;
    // Put in anew, so that the first key is the one unused for longest.
    buckets.delete(key);
    const oldest = buckets.size >= MOST_KEYS ? buckets.keys().next().value : undefined;
    if (oldest !== undefined) buckets.delete(oldest);
    buckets.set(key, { left: left < 1 ? left : left - 1, at: now });
    return left < 1 ? Math.ceil((1 - left) / perMs / 1_000) : 0;
  };
}
