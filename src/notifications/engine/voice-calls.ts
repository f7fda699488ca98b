import { invalidValue, UpstreamError } from "../../lib/errors.ts";
import type { Events } from "../../lib/events.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { WavSource } from "../../media/audio-renderer.ts";
import { CODECS, type Codec } from "../../media/codecs.ts";
import { payloadForCodec, type RenderedAudio } from "../../media/rendered-audio.ts";
import { PACKET_BYTES, PACKET_MS } from "../../media/rtp.ts";
import type { Streamer } from "../../media/streamer.ts";
import type { ToneSegment } from "../../media/tone-segments.ts";
import { renderSegments } from "../../media/tones.ts";
import type { VoicePart, VoiceTarget } from "../../plugin-api/index.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { type AudioStreamAddress, audioAddressKey } from "./broadcast-audio.ts";
import type { PipelineStageDeps } from "./pipeline-stage.ts";

/** Speech in calls that channels place: each call has its own stream, which begins when the call is answered. */
export interface VoiceCalls {
  /** Renders the parts to speak; resolves with its length in ms. Rejects with CallerError, UpstreamError. */
  prepare(parts: readonly VoicePart[], notificationId: string): Promise<number>;
  /** Opens a silent stream. Rejects with UpstreamError. */
  open(provider: string, target: VoiceTarget): Promise<void>;
  /**
   * Plays this from its beginning; resolves with its length in ms. Rejects with UpstreamError when the call is over.
   */
  say(
    provider: string,
    target: AudioStreamAddress,
    parts: readonly VoicePart[],
    notificationId: string,
  ): Promise<number>;
  /**
   * Plays prompts of the appliance to a caller, replacing what is playing; resolves with their length in ms. Rejects with
   * UpstreamError when the call is over.
   */
  play(provider: string, target: AudioStreamAddress, parts: readonly PromptPart[]): Promise<number>;
  close(provider: string, target: AudioStreamAddress): void;
}

/**
 * A part of a prompt: a text in the language of the appliance's voice, with the tone in its place where no voice is
 * available; a tone; a recording; or audio that may still be written while it is played.
 */
export type PromptPart =
  | { textIn(language: string): string; tone: readonly ToneSegment[] }
  | { textIn?: never; tone: readonly ToneSegment[] }
  | { recording: WavSource; tone?: never; textIn?: never }
  | { audio: RenderedAudio; tone?: never; textIn?: never };

export interface VoiceCallsDeps extends Pick<PipelineStageDeps, "store" | "audio" | "speech"> {
  events: Events;
  streamer: Pick<Streamer, "open" | "startGroup" | "play" | "end">;
  clock: { now(): number };
}

/** A rendered part. */
interface CallAudio {
  payload: Uint8Array;
  durationMs: number;
}

const MAX_HOPS = 64;
/** One pass without an alert tone, which would be too loud at the ear. */
const ONCE = { tone: null, gapMs: 0, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 };
/** Many people hear the same parts, which are rendered once: the cache holds about half an hour. */
const MAX_CACHE_BYTES = 16 * 1_048_576;

/** Creates it without calls; the calls of a channel that has stopped are ended. */
export function createVoiceCalls(deps: VoiceCallsDeps): VoiceCalls {
  const { store, streamer, clock, events } = deps;
  /** Stream ids by channel and address. */
  const calls = new Map<string, { provider: string; streamId: string; codec: Codec }>();
  /** Least recently used first; 0 bytes while being rendered. */
  const audioCache = new Map<string, { made: Promise<CallAudio[]>; bytes: number }>();
  let opened = 0;

  const keyOf = (provider: string, target: AudioStreamAddress): string => `${provider} ${audioAddressKey(target)}`;
  const end = (key: string): void => {
    const call = calls.get(key);
    calls.delete(key);
    if (call) streamer.end(call.streamId);
  };
  events.on("plugin.changed", ({ plugin, state }) => {
    if (state === "running") return;
    for (const [key, { provider }] of calls) if (provider === plugin) end(key);
  });

  const audioFor = (parts: readonly VoicePart[], notificationId: string, codec: Codec): Promise<CallAudio[]> => {
    const row = store.get(notifications, notificationId);
    if (!row) throw invalidValue("notificationId", sentence("field.message-not-found"));
    const key = JSON.stringify([notificationId, row.updatedAt, codec, parts]);
    const known = audioCache.get(key);
    if (known !== undefined) {
      audioCache.delete(key);
      audioCache.set(key, known);
      return known.made;
    }
    const entry = { made: Promise.all(parts.map((part) => renderPart(part, row, codec, deps))), bytes: 0 };
    audioCache.set(key, entry);
    entry.made.then(
      (sounds) => {
        entry.bytes = sounds.reduce((sum, { payload }) => sum + payload.byteLength, 0);
        evictOldest();
      },
      () => audioCache.delete(key),
    );
    return entry.made;
  };
  const evictOldest = (): void => {
    let bytes = [...audioCache.values()].reduce((sum, each) => sum + each.bytes, 0);
    for (const [key, each] of audioCache) {
      if (bytes <= MAX_CACHE_BYTES) return;
      if (each.bytes === 0) continue;
      audioCache.delete(key);
      bytes -= each.bytes;
    }
  };
  const lengthOf = (sounds: readonly CallAudio[]): number =>
    sounds.reduce((sum, { durationMs }) => sum + durationMs, 0);

  return {
    prepare: async (parts, notificationId) => lengthOf(await audioFor(parts, notificationId, "PCMU")),
    async open(provider, target) {
      const key = keyOf(provider, target);
      end(key);
      const streamId = `call/${provider}/${++opened}`;
      const { codec } = target;
      calls.set(key, { provider, streamId, codec });
      await streamer
        .open({
          ...{ streamId, group: target.group, port: target.port, ttl: MAX_HOPS },
          ...{ sourcePort: target.sourcePort, ssrc: target.ssrc, payloadType: CODECS[codec].payloadType },
          ...(target.secrecy === undefined ? {} : { secrecy: target.secrecy }),
          networkInterface: null,
          payload: new Uint8Array(PACKET_BYTES).fill(CODECS[codec].silenceByte),
          repeats: Number.POSITIVE_INFINITY,
          offsetPackets: 0,
        })
        .catch((error) => {
          // The call may have been opened again in the meantime.
          if (calls.get(key)?.streamId === streamId) calls.delete(key);
          throw error;
        });
      streamer.startGroup([streamId], clock.now());
    },
    async say(provider, target, parts, notificationId) {
      const key = keyOf(provider, target);
      const call = calls.get(key);
      const sounds = call ? await audioFor(parts, notificationId, call.codec) : [];
      if (!call || calls.get(key) !== call) throw new UpstreamError("upstream", sentence("error.the-call-has-ended"));
      streamer.play(
        call.streamId,
        sounds.map(({ payload }) => payload),
      );
      return lengthOf(sounds);
    },
    async play(provider, target, parts) {
      const key = keyOf(provider, target);
      const call = calls.get(key);
      const sounds = call ? await Promise.all(parts.map((part) => renderPrompt(part, call.codec, deps))) : [];
      if (!call || calls.get(key) !== call) throw new UpstreamError("upstream", sentence("error.the-call-has-ended"));
      streamer.play(
        call.streamId,
        sounds.map(({ payload }) => payload),
      );
      return lengthOf(sounds);
    },
    close: (provider, target) => end(keyOf(provider, target)),
  };
}

async function renderPart(
  part: VoicePart,
  row: NotificationRow,
  codec: Codec,
  deps: VoiceCallsDeps,
): Promise<CallAudio> {
  if ("pauseMs" in part) return renderPause(part.pauseMs, codec);
  const { audio } = row;
  const recording = audio && { sha256: audio.sha256, read: () => deps.store.files.read(audio) };
  const made =
    "message" in part && recording ? deps.audio.prepare({ ...ONCE, recording }) : renderSpeech(part, row, deps);
  const renderedAudio = await made;
  return { payload: await payloadForCodec(renderedAudio, codec), durationMs: renderedAudio.durationMs };
}

async function renderPrompt(part: PromptPart, codec: Codec, { audio, speech }: VoiceCallsDeps): Promise<CallAudio> {
  if ("audio" in part) return { payload: await payloadForCodec(part.audio, codec), durationMs: part.audio.durationMs };
  const record = async (recording: WavSource): Promise<CallAudio> => {
    const rendered = await audio.prepare({ ...ONCE, recording });
    return { payload: await payloadForCodec(rendered, codec), durationMs: rendered.durationMs };
  };
  if ("recording" in part) return record(part.recording);
  const { textIn } = part;
  if (!textIn || !speech) return renderSignal(part.tone, codec);
  try {
    const speaking = speech.announcement(textIn);
    return await record({ sha256: speaking.key, read: () => speaking.speak() });
  } catch {
    // Without a voice, or with one that fails, the signal says as much as is needed.
    return renderSignal(part.tone, codec);
  }
}

/** About a second at most, so it is rendered here. */
function renderSignal(segments: readonly ToneSegment[], codec: Codec): CallAudio {
  const { rateHz, silenceByte, createEncoder } = CODECS[codec];
  const codes = createEncoder()(renderSegments(segments, rateHz));
  const packets = Math.ceil(codes.length / PACKET_BYTES);
  const payload = new Uint8Array(new SharedArrayBuffer(packets * PACKET_BYTES)).fill(silenceByte);
  payload.set(codes);
  return { payload, durationMs: packets * PACKET_MS };
}

/** A message without speech settings is spoken in calls, since there is nothing to read. */
function renderSpeech(
  part: VoicePart,
  row: NotificationRow,
  { speech, audio }: VoiceCallsDeps,
): Promise<RenderedAudio> {
  if (!speech) throw new UpstreamError("upstream", sentence("activity.no-speech"));
  const isMute = row.ttsType === null || row.ttsType === "none";
  const speechSettings =
    "text" in part
      ? { ttsType: "custom-text" as const, ttsCustomContent: part.text }
      : { ttsType: isMute ? ("subject-and-body" as const) : row.ttsType };
  // A call announces the drill even where the message has a recording.
  const speaking = speech.synthesize({ ...row, ...speechSettings });
  return audio.prepare({
    ...ONCE,
    recording: speaking && { sha256: speaking.key, read: () => speaking.speak() },
  });
}

function renderPause(ms: number, codec: Codec): CallAudio {
  const packets = Math.ceil(ms / PACKET_MS);
  const payload = new Uint8Array(new SharedArrayBuffer(packets * PACKET_BYTES)).fill(CODECS[codec].silenceByte);
  return { payload, durationMs: packets * PACKET_MS };
}
