/** Tokens left at a moment, in monotonic ms. */
export interface TokenBucket {
  left: number;
  at: number;
}

export interface TokenBucketRate {
  capacity: number;
  perMs: number;
}

/** A full bucket. */
export function fullBucket({ capacity }: TokenBucketRate, now: number): TokenBucket {
  return { left: capacity, at: now };
}

/** Refills the bucket and takes a token; returns 0, or the ms until one is available. */
export function takeToken(bucket: TokenBucket, { capacity, perMs }: TokenBucketRate, now: number): number {
  bucket.left = Math.min(capacity, bucket.left + (now - bucket.at) * perMs);
  bucket.at = now;
  if (bucket.left < 1) return (1 - bucket.left) / perMs;
  bucket.left -= 1;
  return 0;
}
