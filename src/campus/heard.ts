import { createHash } from "node:crypto";
import { type Alignment, align } from "./alignment.ts";
import { chance } from "./chance.ts";
import { FRAME_BYTES, type Programme } from "./programme.ts";
import type { Source } from "./sources.ts";
import type { StreamRecord } from "./stream-record.ts";

const LOSS_SALT = 0x1055;

/** One stay of one listener at one source, in ms of the campus's clock; `leftAt` null while it still listens. */
export interface Listening {
  readonly source: Source;
  joinedAt: number;
  leftAt: number | null;
}

/** Which packets a listener loses: each with probability `share`, decided by the seed and the listener's number. */
export interface Loss {
  share: number;
  seed: number;
  listener: number;
}

/**
 * What a listener received; `exact`, and `wrong`, the packets that differ from the programme at their place, are null where
 * there is nothing to judge (no programme known, or nothing heard).
 */
export interface Heard {
  firstPacketAt: number | null;
  lastPacketAt: number | null;
  packets: number;
  lost: number;
  ssrc: number | null;
  payloadSha256: string | null;
  wrong: number | null;
  exact: boolean | null;
}

/** What was heard where nothing was. */
export const NOTHING_HEARD: Heard = {
  firstPacketAt: null,
  lastPacketAt: null,
  packets: 0,
  lost: 0,
  ssrc: null,
  payloadSha256: null,
  wrong: null,
  exact: null,
};

/** The slots of one stream that fell into a stay: from `first` to `last`, both within, with those really received. */
interface Interval {
  stream: StreamRecord;
  first: number;
  last: number;
  received: number[];
}

/** Remembers, for the length of one report, what many listeners share. */
export interface HeardCache {
  alignments: Map<StreamRecord, Alignment>;
  hashes: Map<StreamRecord, Map<string, string>>;
}

/** An empty cache, good for one report: streams grow. */
export function newHeardCache(): HeardCache {
  return { alignments: new Map(), hashes: new Map() };
}

/** How many packets of its newest stream a listener received since when, and how many it missed between them. */
export function countHeard(
  listening: Listening,
  loss: Loss,
): Pick<Heard, "packets" | "lost" | "ssrc" | "firstPacketAt"> {
  const interval = findInterval(listening, loss);
  if (!interval) return { packets: 0, lost: 0, ssrc: null, firstPacketAt: null };
  const { received, stream } = interval;
  const firstPacketAt = stream.arrivedAt[received[0] ?? -1] ?? null;
  return { packets: received.length, lost: span(interval) - received.length, ssrc: stream.ssrc, firstPacketAt };
}

/** Everything about a stay; the newest stream that was heard in it counts. */
export function describeHeard(listening: Listening, loss: Loss, programme: Programme | null, cache: HeardCache): Heard {
  const interval = findInterval(listening, loss);
  const start = interval?.received[0];
  if (!interval || start === undefined) {
    return { ...NOTHING_HEARD, lost: interval ? span(interval) : 0 };
  }
  const { arrivedAt, ssrc } = interval.stream;
  const alignment = programme && alignmentOf(interval.stream, programme, cache);
  return {
    firstPacketAt: arrivedAt[start] ?? null,
    lastPacketAt: arrivedAt[interval.received.at(-1) ?? start] ?? null,
    packets: interval.received.length,
    lost: span(interval) - interval.received.length,
    ssrc,
    payloadSha256: hashPayload(interval, cache),
    wrong: alignment && countWrong(interval, alignment),
    exact: alignment && isExact(interval, listening, alignment),
  };
}

function span(interval: Interval): number {
  return interval.last - interval.first + 1;
}

function findInterval(listening: Listening, loss: Loss): Interval | null {
  const streams = listening.source.streams;
  for (let index = streams.length - 1; index >= 0; index--) {
    const stream = streams[index];
    const interval = stream ? cut(stream, listening, loss) : null;
    if (interval) return interval;
  }
  return null;
}

/** The part of a stream between joining and leaving, or null when nothing arrived then. */
function cut(stream: StreamRecord, listening: Listening, loss: Loss): Interval | null {
  const leftAt = listening.leftAt ?? Number.POSITIVE_INFINITY;
  const received: number[] = [];
  let first = -1;
  let last = -1;
  for (let slot = 0; slot < stream.slots; slot++) {
    const at = stream.arrivedAt[slot] ?? Number.NaN;
    if (!(at >= listening.joinedAt && at < leftAt)) continue;
    if (first < 0) first = slot;
    last = slot;
    if (!isLost(stream, slot, loss)) received.push(slot);
  }
  return first < 0 ? null : { stream, first, last, received };
}

function isLost(stream: StreamRecord, slot: number, loss: Loss): boolean {
  return loss.share > 0 && chance(loss.seed, LOSS_SALT, loss.listener, stream.ssrc, slot) < loss.share;
}

function alignmentOf(stream: StreamRecord, programme: Programme, cache: HeardCache): Alignment {
  const alignment = cache.alignments.get(stream) ?? align(stream, programme);
  cache.alignments.set(stream, alignment);
  return alignment;
}

function countWrong({ first, last }: Interval, { wrongBefore }: Alignment): number {
  return (wrongBefore[last + 1] ?? 0) - (wrongBefore[first] ?? 0);
}

/**
 * True when no packet of the interval is missing or differs from the programme, and a listener that joined in time
 * heard it from frame 0 on. When the programme began is reckoned back from the packets and the frames they carry,
 * so a stream that began before anybody listened makes everybody a late joiner, and one that skips the beginning
 * fails for those who were there.
 */
function isExact(interval: Interval, listening: Listening, alignment: Alignment): boolean {
  if (interval.received.length < span(interval) || countWrong(interval, alignment) > 0) return false;
  const heardBeginning = interval.first === 0 && alignment.offset === 0;
  return heardBeginning || listening.joinedAt > alignment.beganAt;
}

/** SHA-256 (hex) of the received payload in the order of sending. */
function hashPayload(interval: Interval, cache: HeardCache): string {
  const { stream, first, last, received } = interval;
  const whole = received.length === span(interval);
  const known = cache.hashes.get(stream) ?? new Map<string, string>();
  cache.hashes.set(stream, known);
  const key = `${first}-${last}`;
  const before = whole ? known.get(key) : undefined;
  if (before) return before;
  const hash = createHash("sha256");
  if (whole) hash.update(stream.payload.subarray(first * FRAME_BYTES, (last + 1) * FRAME_BYTES));
  else for (const slot of received) hash.update(stream.payload.subarray(slot * FRAME_BYTES, (slot + 1) * FRAME_BYTES));
  const digest = hash.digest("hex");
  if (whole) known.set(key, digest);
  return digest;
}
