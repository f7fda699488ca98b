import { type Clock, fullBucket, takeToken } from "#plugin-api";

/** Limits of registrations. A call returns 0 if the request is allowed, else the ms until the next one is. */
export interface RegistrationLimits {
  /** A registration with the join secret. */
  takeInvited(): number;
  /** A registration with a wrong join secret. */
  takeWrongSecret(address: string): number;
  /** A registration without a join secret. */
  takeUninvited(address: string): number;
}

type Rate = Parameters<typeof takeToken>[1];
type Bucket = Parameters<typeof takeToken>[0];

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Each registration writes to the database. Only those who know the secret can use this up. */
const INVITED: Rate = { capacity: 600, perMs: 600 / MINUTE_MS };
/** Wrong join secrets of one network. */
const WRONG_SECRETS: Rate = { capacity: 10, perMs: 10 / MINUTE_MS };
/** Registrations without a join secret, of one network and of all: each creates a device that somebody must accept. */
const UNINVITED: Rate = { capacity: 5, perMs: 1 / MINUTE_MS };
const ALL_UNINVITED: Rate = { capacity: 200, perMs: 20 / DAY_MS };
/** Networks that are remembered; the least recently seen one is forgotten. */
const MAX_NETWORKS = 4_096;

/**
 * Creates the limits, unused. Each kind has its own: who has no join secret cannot use up those of agents that have it.
 * @source docs/decisions/0764-registration-of-agents.md, Limits
 */
export function createRegistrationLimits(clock: Pick<Clock, "monotonicMs">): RegistrationLimits {
  const invited = fullBucket(INVITED, clock.monotonicMs());
  const allUninvited = fullBucket(ALL_UNINVITED, clock.monotonicMs());
  const wrongSecrets = new Map<string, Bucket>();
  const uninvited = new Map<string, Bucket>();
  const takeOf = (buckets: Map<string, Bucket>, address: string, rate: Rate): number => {
    const now = clock.monotonicMs();
    const network = networkOf(address);
    const bucket = buckets.get(network) ?? fullBucket(rate, now);
    buckets.delete(network);
    if (buckets.size >= MAX_NETWORKS) buckets.delete(buckets.keys().next().value as string);
    buckets.set(network, bucket);
    return takeToken(bucket, rate, now);
  };
  return {
    takeInvited: () => takeToken(invited, INVITED, clock.monotonicMs()),
    takeWrongSecret: (address) => takeOf(wrongSecrets, address, WRONG_SECRETS),
    takeUninvited: (address) =>
      takeOf(uninvited, address, UNINVITED) || takeToken(allUninvited, ALL_UNINVITED, clock.monotonicMs()),
  };
}

/** An IPv4 address, or the /64 of an IPv6 address, whose lower half each machine chooses. */
function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  if (!plain.includes(":")) return plain;
  const [head = "", tail] = plain.split("::");
  const first = head.split(":").filter((group) => group !== "");
  const last = (tail ?? "").split(":").filter((group) => group !== "");
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - first.length - last.length)).fill("0");
  const groups = [...first, ...zeros, ...last].slice(0, 4);
  return groups.map((group) => group.replace(/^0+(?=.)/, "").toLowerCase()).join(":");
}
