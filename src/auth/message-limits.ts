import { setBounded } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { fullBucket, type TokenBucket, type TokenBucketRate, takeToken } from "../lib/token-bucket.ts";

/** Messages to one recipient: three at once, then one in 20 minutes. */
const PER_RECIPIENT = { capacity: 3, perMs: 1 / 1_200_000 };
/** Requests from one network: a school behind one address has some each morning. */
const PER_NETWORK = { capacity: 20, perMs: 1 / 30_000 };
/** Messages to all: a server that must send thousands would send no emergency. */
const PER_APPLIANCE = { capacity: 60, perMs: 1 / 10_000 };
const MAX_KEYS = 10_000;

/** Limits of messages that anybody can have sent without logging in; kept in memory. */
export interface MessageLimits {
  /** Counts a request of the network; returns 0, or the ms until the next one. */
  takeRequest(network: string): number;
  /** Counts a message to the recipient; false if there are too many, of this one or in all. */
  takeMessage(recipient: string): boolean;
}

/** Creates the limits. */
export function createMessageLimits(clock: Pick<Clock, "monotonicMs">): MessageLimits {
  const recipients = new Map<string, TokenBucket>();
  const networks = new Map<string, TokenBucket>();
  const all = fullBucket(PER_APPLIANCE, clock.monotonicMs());
  const take = (buckets: Map<string, TokenBucket>, key: string, rate: TokenBucketRate): number => {
    const now = clock.monotonicMs();
    const bucket = buckets.get(key) ?? fullBucket(rate, now);
    setBounded(buckets, key, bucket, MAX_KEYS);
    return takeToken(bucket, rate, now);
  };
  return {
    takeRequest: (network) => take(networks, network, PER_NETWORK),
    takeMessage: (recipient) =>
      take(recipients, recipient, PER_RECIPIENT) === 0 && takeToken(all, PER_APPLIANCE, clock.monotonicMs()) === 0,
  };
}
