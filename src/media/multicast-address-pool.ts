import { randomInt } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import { BugError, UpstreamError } from "../lib/errors.ts";

/** Where a stream is sent. */
export interface MulticastAddress {
  group: string;
  port: number;
}

/** Multicast groups and ports, both ends included; only even ports are used. */
export interface MulticastAddressRange {
  firstGroup: string;
  lastGroup: string;
  firstPort: number;
  lastPort: number;
}

/** What an address pool needs. The two ranges may not overlap. */
export interface MulticastAddressPoolDeps {
  clock: Clock;
  routine: MulticastAddressRange;
  /** Kept free for emergencies, however many routine broadcasts run. */
  emergency: MulticastAddressRange;
  /** Place in each range to begin at; random by default, so that a restart does not repeat what has just been used. */
  startIndex?: number;
}

/** Lends out addresses; one given back rests for 5 minutes, since a phone may still be listening to it. */
export interface MulticastAddressPool {
  /** An address nobody uses. An emergency takes a routine one when its own are exhausted; throws UpstreamError when none is left. */
  allocate(emergency: boolean): MulticastAddress;
  /** Marks an address as used that was allocated by an earlier process; one outside the ranges is accepted too. */
  claim(address: MulticastAddress): void;
  /** Gives an address back; one not in use is left alone. */
  release(address: MulticastAddress): void;
}

/** @source design: group:port not reused within 5 minutes */
const REUSE_DELAY_MS = 300_000;
/** Ports that every phone accepts; odd ones belong to RTCP. @source protocols.md 3, RTPMRx */
const MIN_PORT = 20480;
const MAX_PORT = 32768;

/** Makes a pool. Throws BugError for a range that is empty or outside multicast addresses or ports 20480..32768. */
export function createMulticastAddressPool(needs: MulticastAddressPoolDeps): MulticastAddressPool {
  const { clock } = needs;
  /** Until when an address may not be lent: Infinity while in use. Monotonic ms. */
  const busyUntil = new Map<string, number>();
  const cursors = {
    routine: createCursor(needs.routine, needs.startIndex),
    emergency: createCursor(needs.emergency, needs.startIndex),
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
      if (!address) throw new UpstreamError("upstream", "All multicast addresses are in use.", { emergency });
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

/** Walks the groups before the ports: a phone that joins a group gets what is sent to any of its ports. */
function createCursor(range: MulticastAddressRange, firstPlace: number | undefined): AddressCursor {
  const firstGroup = parseGroup(range.firstGroup);
  const groups = parseGroup(range.lastGroup) - firstGroup + 1;
  const firstPort = range.firstPort + (range.firstPort % 2);
  const ports = Math.floor((range.lastPort - firstPort) / 2) + 1;
  if (groups < 1 || ports < 1 || firstPort < MIN_PORT || range.lastPort > MAX_PORT) {
    throw new BugError("Not a range of multicast addresses.", { range });
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
  if (!valid || first < 224 || first > 239) throw new BugError("Not a multicast group.", { group });
  return parts.reduce((number, part) => number * 256 + part, 0);
}

function formatGroup(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");
}
