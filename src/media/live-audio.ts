import { CODECS, type Codec } from "./codecs.ts";
import { decodeMuLaw, encodeMuLaw } from "./mu-law.ts";
import { payloadForCodec, type RenderedAudio } from "./rendered-audio.ts";
import { createStreamingResampler } from "./resample.ts";
import { PACKET_BYTES } from "./rtp.ts";
import { SAMPLE_RATE_HZ, sampleCount, toPcm } from "./samples.ts";

/**
 * Audio that is spoken while it is sent: the opening (a tone) is there from the start, the voice is written into the
 * memory that the streams read shortly before it leaves.
 */
export interface LiveAudio {
  readonly rendered: RenderedAudio;
  /** The first packet leaves at `t0MonotonicMs` (monotonic clock); speech before that is dropped. */
  start(t0MonotonicMs: number): void;
  /** True once the opening is over at `nowMs` (monotonic), so that speech is audible. */
  isVoiceAudible(nowMs: number): boolean;
  /**
   * Adds the voice up to now (8 kHz, full scale 1); false when it will not be heard: too early, or the buffer is full.
   */
  writeVoice(samples: Float32Array, nowMs: number): boolean;
  /** Ms until the last accepted sample has left; 0 after that. */
  remainingMs(nowMs: number): number;
  close(): void;
  /** The recorded speech, in pieces of one second, 8 kHz 16-bit. */
  recordedVoice(): Iterable<Int16Array>;
}

/**
 * How far ahead of its packet the voice is written: two packets for the streamer and one for network jitter. A longer
 * gap is audible.
 */
const LEAD_MS = 60;
/** Closer to its packet the voice is late, and continues with the full lead. */
const MIN_LEAD_MS = 20;
/**
 * Speech that arrives late in a burst, or from a fast clock, is dropped beyond this lead instead of delaying the rest.
 */
const MAX_LEAD_MS = 200;

/** Creates live audio from the opening and up to `longestMs` of speech. */
export function createLiveAudio(hash: string, opening: RenderedAudio | null, longestMs: number): LiveAudio {
  const from = opening?.payload.length ?? 0;
  const packets = Math.ceil((from + sampleCount(longestMs)) / PACKET_BYTES);
  const payload = silentPayload(packets, "PCMU");
  payload.set(opening?.payload ?? []);
  const renditions = new Map<Codec, LiveRendition>();
  const closed = new AbortController();
  const rendered: RenderedAudio = {
    hash,
    pcm: opening?.pcm ?? new Int16Array(0),
    payload,
    packets,
    durationMs: (packets * PACKET_BYTES) / sampleCount(1),
    closed: closed.signal,
    rendition(codec) {
      const known = renditions.get(codec) ?? createLiveRendition(codec, packets, opening);
      renditions.set(codec, known);
      return known.payload;
    },
  };
  let t0Ms: number | null = null;
  /** Index of the next sample to write. */
  let next = from;
  /** Index of the sample that leaves at `nowMs`. */
  const sampleIndexAt = (nowMs: number): number => (t0Ms === null ? -1 : sampleCount(nowMs - t0Ms));

  return {
    rendered,
    start(t0MonotonicMs) {
      t0Ms = t0MonotonicMs;
    },
    isVoiceAudible: (nowMs) => sampleIndexAt(nowMs) >= from,
    writeVoice(samples, nowMs) {
      const place = sampleIndexAt(nowMs);
      if (place < from || closed.signal.aborted) return false;
      if (next < place + sampleCount(MIN_LEAD_MS)) next = place + sampleCount(LEAD_MS);
      const room = Math.min(place + sampleCount(MAX_LEAD_MS), payload.length) - next;
      const taken = samples.subarray(0, Math.max(0, room));
      encodeMuLaw(toPcm(taken), payload.subarray(next, next + taken.length));
      next += taken.length;
      for (const rendition of renditions.values()) rendition.writeVoice(taken, next);
      return taken.length > 0;
    },
    remainingMs: (nowMs) => (t0Ms === null ? 0 : Math.max(0, (next - sampleIndexAt(nowMs)) / sampleCount(1))),
    close: () => closed.abort(),
    *recordedVoice() {
      for (let at = from; at < next; at += sampleCount(1_000)) {
        yield decodeMuLaw(payload.subarray(at, Math.min(at + sampleCount(1_000), next)));
      }
    },
  };
}

/** The same voice in another codec, from the moment a stream asks for it. */
interface LiveRendition {
  payload: Promise<Uint8Array>;
  /** Adds 8 kHz samples; the last one is before index `end`. */
  writeVoice(samples: Float32Array, end: number): void;
}

function createLiveRendition(codec: Codec, packets: number, opening: RenderedAudio | null): LiveRendition {
  const { rateHz, createEncoder } = CODECS[codec];
  const bytes = silentPayload(packets, codec);
  const upsample = createStreamingResampler(SAMPLE_RATE_HZ, rateHz);
  const encode = createEncoder();
  /** Bytes still to come for accepted samples: a few ms stay in the resampler. */
  let pendingSamples = 0;
  return {
    payload: withOpening(bytes, codec, opening),
    writeVoice(samples, end) {
      const codes = encode(toPcm(upsample(samples)));
      pendingSamples += samples.length - codes.length;
      bytes.set(codes, end - pendingSamples - codes.length);
    },
  };
}

/** If the opening cannot be encoded in this codec it is left out: a live page without its tone is better than none. */
async function withOpening(bytes: Uint8Array, codec: Codec, opening: RenderedAudio | null): Promise<Uint8Array> {
  if (opening) bytes.set(await payloadForCodec(opening, codec).catch(() => new Uint8Array(0)));
  return bytes;
}

function silentPayload(packets: number, codec: Codec): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(packets * PACKET_BYTES)).fill(CODECS[codec].silenceByte);
}
