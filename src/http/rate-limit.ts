import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { setBounded } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, TooManyRequestsError } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { fullBucket, type TokenBucket, takeToken } from "../lib/token-bucket.ts";
import type { Settings } from "../settings/schema.ts";
import type { ClientIdentifier } from "./client-identity.ts";
import { clientAddress } from "./forwarded-client.ts";

/** Serves a request unless the rate limit of its token or address is exceeded. Throws TooManyRequestsError. */
export type RateLimit = (raw: IncomingMessage, serve: () => Promise<HttpResponse>) => Promise<HttpResponse>;

/** Burst size in minutes of the rate. */
const BURST_MINUTES = 2;
/** Maximum number of buckets; the least recently used one is dropped. */
const MAX_KEYS = 10_000;

/**
 * Limits requests per valid token, and per address for requests without one, because invalid tokens can be made up.
 * Console sessions are not limited. Counters are lost on restart.
 * @source docs/decisions/0002-errors.md
 */
export function createRateLimit(
  clock: Clock,
  limits: Settings["api"]["requestsPerMinute"],
  identify: ClientIdentifier,
): RateLimit {
  const takeForToken = createTokenBuckets(clock, limits.token);
  const takeForAddress = createTokenBuckets(clock, limits.address);
  return async (raw, serve) => {
    const { isKnown, token } = identify(raw);
    const address = clientAddress(raw) ?? "";
    if (!isKnown) assertNotLimited(takeForAddress(address));
    else if (token !== null) assertNotLimited(takeForToken(hash("sha1", token, "base64url")));
    try {
      return await serve();
    } catch (error) {
      const unknown = error instanceof CallerError && error.type === "unauthorized";
      if (unknown && isKnown) assertNotLimited(takeForAddress(address));
      throw error;
    }
  };
}

function assertNotLimited(seconds: number): void {
  if (seconds > 0) throw new TooManyRequestsError(seconds);
}

/** Takes a token from the bucket of a key; returns 0, or the seconds until one is available. */
function createTokenBuckets(clock: Clock, perMinute: number): (key: string) => number {
  const buckets = new Map<string, TokenBucket>();
  const rate = { capacity: perMinute * BURST_MINUTES, perMs: perMinute / 60_000 };
  return (key) => {
    if (perMinute === 0) return 0;
    const now = clock.monotonicMs();
    const bucket = buckets.get(key) ?? fullBucket(rate, now);
    setBounded(buckets, key, bucket, MAX_KEYS);
    return Math.ceil(takeToken(bucket, rate, now) / 1_000);
  };
}
