import { randomInt } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { BugError, UpstreamError } from "../base/errors.ts";

/** Where a stream is sent. */
export interface StreamAddress {
  group: string;
  port: number;
}

/** Multicast groups and ports, both ends included; only even ports are used. */
export interface AddressRange {
  firstGroup: string;
  lastGroup: string;
  firstPort: number;
  lastPort: number;
}

/** What an address pool needs. The two ranges may not overlap. */
export interface AddressPoolNeeds {
  clock: Clock;
  routine: AddressRange;
  /** Kept free for emergencies, however many routine broadcasts run. */
  emergency: AddressRange;
  /** Place in each range to begin at; random by default, so that a restart does not repeat what has just been used. */
  firstPlace?: number;
}

/** Lends out addresses; one given back rests for 5 minutes, since a phone may still be listening to it. */
export interface AddressPool {
  /** An address nobody uses. An emergency takes a routine one when its own are exhausted; throws UpstreamError when none is left. */
  allocate(emergency: boolean): StreamAddress;
  /** Marks an address as used that was allocated by an earlier process; one outside the ranges is accepted too. */
  claim(address: StreamAddress): void;
  /** Gives an address back; one not in use is left alone. */
  release(address: StreamAddress): void;
}

/** @source design: group:port not reused within 5 minutes */
const REST_MS = 300_000;
/** Ports that every phone accepts; odd ones belong to RTCP. @source protocols.md 3, RTPMRx */
const LEAST_PORT = 20480;
const MOST_PORT = 32768;

/** Makes a pool. Throws BugError for a range that is empty or outside multicast addresses or ports 20480..32768. */
export function createAddressPool(needs: AddressPoolNeeds): AddressPool {
  const { clock } = needs;
  /** Until when an address may not be lent: Infinity while in use. Monotonic ms. */
  const busyUntil = new Map<string, number>();
  const cursors = {
    routine: openRange(needs.routine, needs.firstPlace),
    emergency: openRange(needs.emergency, needs.firstPlace),
  };

  const take = (cursor: Cursor): StreamAddress | null => {
    const now = clock.monotonicMs();
    for (const [key, until] of busyUntil) if (until <= now) busyUntil.delete(key);
    for (let tried = 0; tried < cursor.size && tried <= busyUntil.size; tried++) {
      const address = cursor.next();
      if (busyUntil.has(keyOf(address))) continue;
      busyUntil.set(keyOf(address), Number.POSITIVE_INFINITY);
      return address;
    }
    return null;
  };

  return {
    allocate(emergency) {
      const address = (emergency && take(cursors.emergency)) || take(cursors.routine);
      if (!address) throw new UpstreamError("upstream", "All multicast addresses are in use.", { emergency });
      return address;
    },
    claim(address) {
      busyUntil.set(keyOf(address), Number.POSITIVE_INFINITY);
    },
    release(address) {
      if (busyUntil.get(keyOf(address)) !== Number.POSITIVE_INFINITY) return;
      busyUntil.set(keyOf(address), clock.monotonicMs() + REST_MS);
    },
  };
}

interface Cursor {
  size: number;
  next(): StreamAddress;
}

/** Walks the groups before the ports: a phone that joins a group gets what is sent to any of its ports. */
function openRange(range: AddressRange, firstPlace: number | undefined): Cursor {
  const firstGroup = groupNumber(range.firstGroup);
  const groups = groupNumber(range.lastGroup) - firstGroup + 1;
  const firstPort = range.firstPort + (range.firstPort % 2);
  const ports = Math.floor((range.lastPort - firstPort) / 2) + 1;
  if (groups < 1 || ports < 1 || firstPort < LEAST_PORT || range.lastPort > MOST_PORT) {
    throw new BugError("Not a range of multicast addresses.", { range });
  }
  const size = groups * ports;
  let place = (firstPlace ?? randomInt(size)) % size;
  return {
    size,
    next() {
      const here = place;
      place = (place + 1) % size;
      return { group: groupText(firstGroup + (here % groups)), port: firstPort + 2 * Math.floor(here / groups) };
    },
  };
}

function keyOf({ group, port }: StreamAddress): string {
  return `${group}:${port}`;
}

function groupNumber(group: string): number {
  const parts = group.split(".").map(Number);
  const [first = 0] = parts;
  const valid = parts.length === 4 && parts.every((part) => Number.isInteger(part) && part >= 0 && part <= 255);
  if (!valid || first < 224 || first > 239) throw new BugError("Not a multicast group.", { group });
  return parts.reduce((number, part) => number * 256 + part, 0);
}

function groupText(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");
}
