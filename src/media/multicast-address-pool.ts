import { randomInt } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import { BugError, UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";

/** Target of a stream. */
export interface MulticastAddress {
  group: string;
  port: number;
}

/** Multicast groups and ports, inclusive; only even ports are used. */
export interface MulticastAddressRange {
  firstGroup: string;
  lastGroup: string;
  firstPort: number;
  lastPort: number;
}

/** The two ranges must not overlap. */
export interface MulticastAddressPoolDeps {
  clock: Clock;
  routine: MulticastAddressRange;
  /** Reserved for emergencies, however many routine broadcasts run. */
  emergency: MulticastAddressRange;
  /** Start index in each range; random by default, so that a restart does not reuse recent addresses. */
  startIndex?: number;
}

/**
 * Allocates multicast addresses; a released one is not reused for 5 minutes, since a phone may still be listening to
 * it.
 */
export interface MulticastAddressPool {
  /**
   * A free address. An emergency falls back to the routine range when its own is exhausted; throws UpstreamError when
   * none is left.
   */
  allocate(emergency: boolean): MulticastAddress;
  /** Marks an address as used that an earlier process allocated; addresses outside the ranges are accepted too. */
  claim(address: MulticastAddress): void;
  /** Releases an address; has no effect on one not in use. */
  release(address: MulticastAddress): void;
}

/** @source docs/decisions/0033-multicast-rtp.md */
const REUSE_DELAY_MS = 300_000;
/** Ports that every phone accepts; odd ones belong to RTCP. @source docs/decisions/0033-multicast-rtp.md */
const MIN_PORT = 20480;
const MAX_PORT = 32768;

/** Creates a pool. Throws BugError for a range that is empty, or outside multicast addresses or ports 20480..32768. */
export function createMulticastAddressPool(deps: MulticastAddressPoolDeps): MulticastAddressPool {
  const { clock } = deps;
  /** Time until which an address is reserved: Infinity while in use. Monotonic ms. */
  const busyUntil = new Map<string, number>();
  const cursors = {
    routine: createCursor(deps.routine, deps.startIndex),
    emergency: createCursor(deps.emergency, deps.startIndex),
  };

  const allocateFrom = (cursor: AddressCursor): MulticastAddress | null => {
    const now = clock.monotonicMs();
    for (const [key, until] of busyUntil) if (until <= now) busyUntil.delete(key);
    for (let tried = 0; tried < cursor.size && tried <= busyUntil.size; tried++) {
      const address = cursor.next();
      if (busyUntil.has(addressKey(address))) continue;
      busyUntil.set(addressKey(address), Number.POSITIVE_INFINITY);
      return address;
    }
    return null;
  };

  return {
    allocate(emergency) {
      const address = (emergency && allocateFrom(cursors.emergency)) || allocateFrom(cursors.routine);
      if (!address)
        throw new UpstreamError("upstream", sentence("error.all-multicast-addresses-are-in-use"), { emergency });
      return address;
    },
    claim(address) {
      busyUntil.set(addressKey(address), Number.POSITIVE_INFINITY);
    },
    release(address) {
      if (busyUntil.get(addressKey(address)) !== Number.POSITIVE_INFINITY) return;
      busyUntil.set(addressKey(address), clock.monotonicMs() + REUSE_DELAY_MS);
    },
  };
}

interface AddressCursor {
  size: number;
  next(): MulticastAddress;
}

/** Iterates groups before ports: a phone that joins a group receives the packets of all its ports. */
function createCursor(range: MulticastAddressRange, firstPlace: number | undefined): AddressCursor {
  const firstGroup = parseGroup(range.firstGroup);
  const groups = parseGroup(range.lastGroup) - firstGroup + 1;
  const firstPort = range.firstPort + (range.firstPort % 2);
  const ports = Math.floor((range.lastPort - firstPort) / 2) + 1;
  if (groups < 1 || ports < 1 || firstPort < MIN_PORT || range.lastPort > MAX_PORT) {
    throw new BugError("The range must contain multicast addresses and ports 20480 to 32768.", { range });
  }
  const size = groups * ports;
  let place = (firstPlace ?? randomInt(size)) % size;
  return {
    size,
    next() {
      const here = place;
      place = (place + 1) % size;
      return { group: formatGroup(firstGroup + (here % groups)), port: firstPort + 2 * Math.floor(here / groups) };
    },
  };
}

function addressKey({ group, port }: MulticastAddress): string {
  return `${group}:${port}`;
}

function parseGroup(group: string): number {
  const parts = group.split(".").map(Number);
  const [first = 0] = parts;
  const valid = parts.length === 4 && parts.every((part) => Number.isInteger(part) && part >= 0 && part <= 255);
  if (!valid || first < 224 || first > 239)
    throw new BugError("The group must be an IPv4 multicast address.", { group });
  return parts.reduce((number, part) => number * 256 + part, 0);
}

function formatGroup(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");
}
