import { createHash } from "node:crypto";
import { alignStream, type StreamAlignment } from "./alignment.ts";
import { type ExpectedAudio, FRAME_BYTES } from "./expected-audio.ts";
import type { RtpEndpoint } from "./rtp-endpoints.ts";
import { seededRandom } from "./seeded-random.ts";
import type { StreamRecord } from "./stream-record.ts";

const PACKET_LOSS_SALT = 0x1055;

/** One listener listening to one source, times in ms of the simulator's clock; `leftAt` is null while it listens. */
export interface ListeningSession {
  readonly source: RtpEndpoint;
  joinedAt: number;
  leftAt: number | null;
}

/** Simulated packet loss: each packet with probability `share`, decided by the seed and the listener's number. */
export interface PacketLoss {
  share: number;
  seed: number;
  listener: number;
}

/**
 * What a listener received; `exact`, and `wrong` (packets that differ from the expected audio), are null if there is nothing to
 * compare (no expected audio, or nothing received).
 */
export interface ReceivedAudio {
  firstPacketAt: number | null;
  lastPacketAt: number | null;
  packets: number;
  lost: number;
  ssrc: number | null;
  payloadSha256: string | null;
  wrong: number | null;
  exact: boolean | null;
}

/** Result of a listener that received nothing. */
export const NOTHING_RECEIVED: ReceivedAudio = {
  firstPacketAt: null,
  lastPacketAt: null,
  packets: 0,
  lost: 0,
  ssrc: null,
  payloadSha256: null,
  wrong: null,
  exact: null,
};

/** Slots of one stream within a session, from `first` to `last` inclusive, and those received. */
interface ReceivedInterval {
  stream: StreamRecord;
  first: number;
  last: number;
  received: number[];
}

/** Shared results of one report, as many listeners receive the same streams. */
export interface AnalysisCache {
  alignments: Map<StreamRecord, StreamAlignment>;
  hashes: Map<StreamRecord, Map<string, string>>;
}

/** An empty cache for one report only, as streams grow. */
export function createAnalysisCache(): AnalysisCache {
  return { alignments: new Map(), hashes: new Map() };
}

/** Packets of the newest stream that a listener received, and how many were lost between them. */
export function countReceivedPackets(
  listening: ListeningSession,
  loss: PacketLoss,
): Pick<ReceivedAudio, "packets" | "lost" | "ssrc" | "firstPacketAt"> {
  const interval = findInterval(listening, loss);
  if (!interval) return { packets: 0, lost: 0, ssrc: null, firstPacketAt: null };
  const { received, stream } = interval;
  const firstPacketAt = stream.arrivedAt[received[0] ?? -1] ?? null;
  return { packets: received.length, lost: slotCount(interval) - received.length, ssrc: stream.ssrc, firstPacketAt };
}

/** Analysis of a session's newest stream. */
export function analyzeReception(
  listening: ListeningSession,
  loss: PacketLoss,
  programme: ExpectedAudio | null,
  cache: AnalysisCache,
): ReceivedAudio {
  const interval = findInterval(listening, loss);
  const start = interval?.received[0];
  if (!interval || start === undefined) {
    return { ...NOTHING_RECEIVED, lost: interval ? slotCount(interval) : 0 };
  }
  const { arrivedAt, ssrc } = interval.stream;
  const alignment = programme && alignmentOf(interval.stream, programme, cache);
  return {
    firstPacketAt: arrivedAt[start] ?? null,
    lastPacketAt: arrivedAt[interval.received.at(-1) ?? start] ?? null,
    packets: interval.received.length,
    lost: slotCount(interval) - interval.received.length,
    ssrc,
    payloadSha256: hashPayload(interval, cache),
    wrong: alignment && countWrong(interval, alignment),
    exact: alignment && isExact(interval, listening, alignment),
  };
}

function slotCount(interval: ReceivedInterval): number {
  return interval.last - interval.first + 1;
}

function findInterval(listening: ListeningSession, loss: PacketLoss): ReceivedInterval | null {
  const streams = listening.source.streams;
  for (let index = streams.length - 1; index >= 0; index--) {
    const stream = streams[index];
    const interval = stream ? intervalInSession(stream, listening, loss) : null;
    if (interval) return interval;
  }
  return null;
}

/** Slots of a stream between joining and leaving; null if nothing arrived then. */
function intervalInSession(
  stream: StreamRecord,
  listening: ListeningSession,
  loss: PacketLoss,
): ReceivedInterval | null {
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

function isLost(stream: StreamRecord, slot: number, loss: PacketLoss): boolean {
  return loss.share > 0 && seededRandom(loss.seed, PACKET_LOSS_SALT, loss.listener, stream.ssrc, slot) < loss.share;
}

function alignmentOf(stream: StreamRecord, programme: ExpectedAudio, cache: AnalysisCache): StreamAlignment {
  const alignment = cache.alignments.get(stream) ?? alignStream(stream, programme);
  cache.alignments.set(stream, alignment);
  return alignment;
}

function countWrong({ first, last }: ReceivedInterval, { wrongBefore }: StreamAlignment): number {
  return (wrongBefore[last + 1] ?? 0) - (wrongBefore[first] ?? 0);
}

/**
 * True if no packet of the interval is missing or wrong and a listener that joined in time received frame 0. The start time is
 * computed from the packets and the frames that they carry: a stream that started before anybody listened makes every listener a
 * late joiner, and a stream that skips the beginning fails for those who had joined.
 */
function isExact(interval: ReceivedInterval, listening: ListeningSession, alignment: StreamAlignment): boolean {
  if (interval.received.length < slotCount(interval) || countWrong(interval, alignment) > 0) return false;
  const heardBeginning = interval.first === 0 && alignment.offset === 0;
  return heardBeginning || listening.joinedAt > alignment.beganAt;
}

/** SHA-256 (hex) of the received payload in sending order. */
function hashPayload(interval: ReceivedInterval, cache: AnalysisCache): string {
  const { stream, first, last, received } = interval;
  const whole = received.length === slotCount(interval);
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
