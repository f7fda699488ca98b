import { CODECS, type Codec } from "./codecs.ts";
import { decodeMuLaw, encodeMuLaw } from "./mu-law.ts";
import { payloadForCodec, type RenderedAudio } from "./rendered-audio.ts";
import { createStreamingResampler } from "./resample.ts";
import { PACKET_BYTES } from "./rtp.ts";
import { SAMPLE_RATE_HZ, sampleCount, toPcm } from "./samples.ts";

/**
 * A programme that is being spoken while it is sent: the opening (a tone) is there from the beginning, the voice is
 * written into the memory that the streams read, shortly before the moment at which it leaves.
 */
export interface LiveAudio {
  readonly rendered: RenderedAudio;
  /** Its first packet leaves at `t0MonotonicMs` of the clock that is never set; what is spoken before that is not heard. */
  start(t0MonotonicMs: number): void;
  /** Whether the opening is over at `nowMs` (monotonic), so that what is spoken is heard. */
  isVoiceAudible(nowMs: number): boolean;
  /** Takes what was spoken up to now (8 kHz, full scale 1); false when nobody will hear it, for it came too early or all is full. */
  writeVoice(samples: Float32Array, nowMs: number): boolean;
  /** Ms until the last that was taken has left; 0 when it has. */
  remainingMs(nowMs: number): number;
  /** Ends the programme. */
  close(): void;
  /** What has been spoken, in pieces of a second, 8 kHz 16 bits. */
  recordedVoice(): Iterable<Int16Array>;
}

/**
 * How far ahead of its packet the voice is written: two packets for the streamer and one for a network that is not even.
 * own choice: an interruption that is longer is heard as one.
 */
const LEAD_MS = 60;
/** Nearer to its packet the voice comes too late, and goes on with the full lead. */
const MIN_LEAD_MS = 20;
/** What came late all at once, or from a fast clock, is left out rather than heard so much later. own choice */
const MAX_LEAD_MS = 200;

/** Makes a programme of the opening and up to `longestMs` of speech. */
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
  /** Where the next sample goes. */
  let next = from;
  /** The sample that leaves at a moment. */
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

/** The same voice in another codec, from the moment at which somebody wants it. */
interface LiveRendition {
  payload: Promise<Uint8Array>;
  /** Takes 8 kHz samples whose last one lies before place `end`. */
  writeVoice(samples: Float32Array, end: number): void;
}

function createLiveRendition(codec: Codec, packets: number, opening: RenderedAudio | null): LiveRendition {
  const { rateHz, createEncoder } = CODECS[codec];
  const bytes = silentPayload(packets, codec);
  const upsample = createStreamingResampler(SAMPLE_RATE_HZ, rateHz);
  const encode = createEncoder();
  /** Bytes that are still to come of what was taken: a few ms stay in the resampler. */
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

/** An opening that can't be had in this codec is left out: a page without its tone is better than none. */
async function withOpening(bytes: Uint8Array, codec: Codec, opening: RenderedAudio | null): Promise<Uint8Array> {
  if (opening) bytes.set(await payloadForCodec(opening, codec).catch(() => new Uint8Array(0)));
  return bytes;
}

function silentPayload(packets: number, codec: Codec): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(packets * PACKET_BYTES)).fill(CODECS[codec].silenceByte);
}
