import { BlockList, isIP, isIPv4 } from "node:net";
import { type Clock, fullBucket, takeToken } from "#plugin-api";
import { sentence } from "../sentences.ts";
import type { Hop } from "../user-agent/hop.ts";

/** Addresses of call managers and trunks, whose calls need no password. */
export interface TrustedAddresses {
  has(address: string): boolean;
}

/** Parses addresses and networks (`10.0.0.4, 10.2.0.0/16`); invalid ones are reported by themselves. */
export function parseTrustedAddresses(text: string | null): { trusted: TrustedAddresses; errors: string[] } {
  const list = new BlockList();
  const errors: string[] = [];
  for (const entry of (text ?? "").split(/[\s,;]+/).filter((each) => each !== "")) {
    const [address = "", prefix, ...rest] = entry.split("/");
    const bits = prefix === undefined ? 32 : Number(prefix);
    const isNetwork = prefix === undefined || (/^\d{1,2}$/.test(prefix) && bits >= 1 && bits <= 32);
    if (isIPv4(address) && isNetwork && rest.length === 0) list.addSubnet(address, bits, "ipv4");
    else errors.push(sentence("trusted-address", { address: entry.slice(0, 60) }));
  }
  return { trusted: { has: (address) => isIP(address) === 4 && list.check(address, "ipv4") }, errors };
}

/** Limits how many calls an address may begin, so that a scanner costs little. */
export interface CallAttempts {
  /** Seconds to wait; 0 if the attempt is allowed. */
  take(from: Pick<Hop, "host">): number;
}

/** A telephone needs two attempts per call, with and without its password. */
const ATTEMPT_RATE = { capacity: 20, perMs: 1 / 1_000 };
/** Oldest first; a forgotten bucket is full again. */
const MAX_BUCKETS = 10_000;

export function createCallAttempts(clock: Pick<Clock, "monotonicMs">): CallAttempts {
  const buckets = new Map<string, ReturnType<typeof fullBucket>>();
  return {
    take({ host }) {
      const now = clock.monotonicMs();
      const bucket = buckets.get(host) ?? fullBucket(ATTEMPT_RATE, now);
      buckets.delete(host);
      buckets.set(host, bucket);
      for (const oldest of buckets.keys()) {
        if (buckets.size <= MAX_BUCKETS) break;
        buckets.delete(oldest);
      }
      return Math.ceil(takeToken(bucket, ATTEMPT_RATE, now) / 1_000);
    },
  };
}
