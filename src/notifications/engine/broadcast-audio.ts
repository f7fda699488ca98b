import type { Clock, Timer } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { CODECS, type Codec } from "../../media/codecs.ts";
import { payloadForCodec, type RenderedAudio } from "../../media/rendered-audio.ts";
import type { SrtpMasterKey } from "../../media/srtp.ts";
import { resumeStream } from "../../media/stream-resume.ts";
import type { Streamer } from "../../media/streamer.ts";
import type { StreamSpec } from "../../media/streamer-messages.ts";

/** Address of one stream. */
export interface AudioStreamAddress {
  group: string;
  port: number;
}

/** Target of one stream. */
export interface AudioStreamTarget extends AudioStreamAddress {
  ttl: number;
  /** µ-law by default. */
  codec?: Codec;
  /** Local source port; any port by default. */
  sourcePort?: number;
  /** SRTP key. */
  secrecy?: SrtpMasterKey;
  /** Interface for multicast; that of the appliance by default. */
  networkInterface?: string;
  /** Without a network the stream is opened all the same, and is heard from the moment the network is there. */
  waitsForNetwork?: boolean;
}

/** The audio of one broadcast: all its streams share one payload, one SSRC and one start time. */
export interface BroadcastAudio {
  /** Epoch ms of the first packet; null before the start. */
  readonly t0: number | null;
  /** The audio has ended. */
  readonly over: boolean;
  /** Length of the audio; null for a live page. */
  readonly durationMs: number | null;
  /**
   * Opens a stream to a target; `synchronizedStart` decides where a stream that is opened after the start begins.
   * Rejects with UpstreamError.
   */
  openStream(target: AudioStreamTarget): Promise<void>;
  /** Resolves when the first packet to an opened target has left; rejects when the stream ended before. */
  waitForFirstPacket(target: AudioStreamTarget): Promise<void>;
  /** Starts all open streams together, once: at `at` (epoch ms), at once if that is past. */
  start(at?: number): void;
  /** Resumes audio that began at `t0` at its current position. */
  resume(t0: number): void;
  /** Ends the stream to a target that another message claims or that has no listeners. */
  closeStream(target: AudioStreamAddress): void;
  /** Ends all streams at once, without `onEnd`. */
  stop(): void;
}

export interface BroadcastAudioDeps {
  clock: Clock;
  streamer: Pick<Streamer, "open" | "startGroup" | "setRepeats" | "end" | "on">;
  notificationId: string;
  ssrc: number;
  renderedAudio: RenderedAudio;
  /** A stream opened after the start joins the position of the others; otherwise it begins at the start. */
  synchronizedStart: boolean;
  /** A device is being reached that must hear the audio from the start. */
  hasPendingStreams(): boolean;
  /**
   * A device at the common position would miss the audio if it ended at `endsAt` (epoch ms): the audio repeats once
   * more.
   */
  wouldBeMissed(endsAt: number): boolean;
  /** Interface for multicast by name or IPv4 address; null: as the routes lead. */
  networkInterface: string | null;
  /** The audio has been sent. */
  onEnd(): void;
  /** The streamer lost a stream. */
  onLost(): void;
}

interface OpenAudioStream {
  /** Its SRTP key; null without encryption. */
  key: string | null;
  /** The streamer was asked to open it; before that, its rendition is being encoded. */
  requested: boolean;
  opened: boolean;
  /** It started on its own, not with the others. */
  startsAlone: boolean;
  started: Promise<void>;
  /** It was asked to end. */
  ending: boolean;
  ended: Promise<void>;
  hasStarted(): void;
  hasEnded(error: UpstreamError): void;
}

/** Time for the streamer's thread to get a start before its first packet is due. */
const START_LEAD_TIME_MS = 10;
/** Time for the report on the last packet to come back. */
const END_LAG_MS = 40;
/** A stream that has not ended this long after the audio is dropped: the message must end. */
const MAX_LAG_MS = 5_000;
/** How long after the end the audio may still start for devices that are being reached, and the polling interval. */
const PENDING_STREAM_WAIT_MS = { most: 60_000, every: 500 };
/** How long before its end the streamer is asked to repeat the audio. */
const REPEAT_LEAD_MS = 500;

/** Key of a target. */
export function audioAddressKey(target: AudioStreamAddress): string {
  return `${target.group}:${target.port}`;
}

/** Creates the audio of one broadcast, without streams. */
export function createBroadcastAudio(deps: BroadcastAudioDeps): BroadcastAudio {
  const { clock, streamer, renderedAudio } = deps;
  const streams = new Map<string, OpenAudioStream>();
  let t0: number | null = null;
  /** The same time on the monotonic clock. */
  let t0MonotonicMs = 0;
  /** When the last stream has been sent; same clock. */
  let endsAtMs = 0;
  /** Number of passes for the devices at the common position. */
  let passes = 1;
  // A live page ends for all when the speaker ends.
  let joinsInPlace = deps.synchronizedStart || renderedAudio.closed !== undefined;
  let over = false;
  let endTimer: Timer | null = null;
  let repeatTimer: Timer | null = null;

  const idOf = (target: AudioStreamAddress): string => `${deps.notificationId}/${audioAddressKey(target)}`;
  const specOf = (target: AudioStreamTarget, payload: Uint8Array): StreamSpec => ({
    streamId: idOf(target),
    group: target.group,
    port: target.port,
    ttl: target.ttl,
    networkInterface: target.networkInterface ?? deps.networkInterface,
    ...(target.waitsForNetwork === undefined ? {} : { waitsForNetwork: target.waitsForNetwork }),
    ...(target.sourcePort === undefined ? {} : { sourcePort: target.sourcePort }),
    ...(target.secrecy === undefined ? {} : { secrecy: target.secrecy }),
    ssrc: deps.ssrc,
    payloadType: CODECS[target.codec ?? "PCMU"].payloadType,
    payload,
    repeats: t0 !== null && !joinsInPlace ? 1 : passes,
    offsetPackets: 0,
  });

  /** Where a stream begins: at the first packet, or at the common position; null when it is too late. */
  const positionOf = (spec: StreamSpec): { spec: StreamSpec; t0Ms: number | null } | null =>
    t0 === null || !joinsInPlace ? { spec, t0Ms: null } : resumeStream(spec, wallClockT0(), clock.now());

  const closeStream = (streamId: string): void => {
    const stream = streams.get(streamId);
    if (stream?.requested === false) streams.delete(streamId);
    else if (stream) stream.ending = true;
    streamer.end(streamId);
  };
  const close = (): void => {
    over = true;
    endTimer?.cancel();
    repeatTimer?.cancel();
    for (const forget of listening.splice(0)) forget();
    for (const stream of streams.values()) stream.hasEnded(soundIsOver());
    streams.clear();
  };
  const finish = (): void => {
    for (const id of streams.keys()) streamer.end(id);
    close();
    deps.onEnd();
  };
  const restMs = (): number => endsAtMs - clock.monotonicMs();
  const isAwaited = (): boolean => !joinsInPlace && restMs() > -PENDING_STREAM_WAIT_MS.most && deps.hasPendingStreams();
  const finishIfDone = (): void => {
    if (!over && t0 !== null && streams.size === 0 && restMs() <= 0 && !isAwaited()) finish();
  };
  const scheduleEnd = (): void => {
    if (isAwaited()) {
      endTimer = clock.after(PENDING_STREAM_WAIT_MS.every, scheduleEnd);
      return;
    }
    endTimer = clock.after(MAX_LAG_MS, finish);
    finishIfDone();
  };
  const setT0 = (moment: number): void => {
    t0 = moment;
    t0MonotonicMs = clock.monotonicMs() + moment - clock.now();
    extendUntil(passEndsAtMs());
    scheduleRepeat();
  };
  const passEndsAtMs = (): number => t0MonotonicMs + passes * renderedAudio.durationMs;
  const scheduleRepeat = (): void => {
    // A live page cannot be repeated.
    if (renderedAudio.closed) return;
    const waitMs = passEndsAtMs() - REPEAT_LEAD_MS - clock.monotonicMs();
    repeatTimer = clock.after(Math.max(0, waitMs), repeatWhereMissed);
  };
  const repeatWhereMissed = (): void => {
    const moreMs = (passes - 1) * renderedAudio.durationMs;
    const restOfPassMs = passEndsAtMs() - clock.monotonicMs();
    if (
      over ||
      restOfPassMs <= 0 ||
      moreMs >= PENDING_STREAM_WAIT_MS.most ||
      !deps.wouldBeMissed(clock.now() + restOfPassMs)
    )
      return;
    passes++;
    for (const [id, { startsAlone }] of streams) if (!startsAlone) streamer.setRepeats(id, passes);
    extendUntil(passEndsAtMs());
    scheduleRepeat();
  };
  const extendUntil = (moment: number): void => {
    endsAtMs = Math.max(endsAtMs, moment);
    endTimer?.cancel();
    endTimer = clock.after(Math.max(0, restMs()) + END_LAG_MS, scheduleEnd);
  };
  /** Start time of a stream that starts on its own. */
  const startAlone = (): number => {
    extendUntil(clock.monotonicMs() + START_LEAD_TIME_MS + renderedAudio.durationMs);
    return clock.now() + START_LEAD_TIME_MS;
  };
  /** The start time by the current wall clock, which may have been set since. */
  const wallClockT0 = (): number => Math.round(clock.now() + t0MonotonicMs - clock.monotonicMs());
  const listening = [
    streamer.on("started", ({ streamId }) => streams.get(streamId)?.hasStarted()),
    streamer.on("ended", ({ streamId, reason }) => {
      const stream = streams.get(streamId);
      if (!stream) return;
      streams.delete(streamId);
      stream.hasEnded(soundIsOver());
      if (reason === "lost") deps.onLost();
      finishIfDone();
    }),
  ];

  renderedAudio.closed?.addEventListener("abort", () => over || finish(), { once: true });

  return {
    get t0() {
      return t0;
    },
    get over() {
      return over;
    },
    durationMs: renderedAudio.closed ? null : renderedAudio.durationMs,
    async openStream(target) {
      const streamId = idOf(target);
      // A device that is called again names the same target before the streamer has ended the former stream.
      const key = target.secrecy?.key ?? null;
      for (let former = streams.get(streamId); former; former = streams.get(streamId)) {
        // The device knows only its newest key.
        if (!former.ending && former.key === key) break;
        if (!former.ending) closeStream(streamId);
        await former.ended;
      }
      if (over) throw soundIsOver();
      if (streams.has(streamId)) return;
      const stream = createOpenStream(key);
      streams.set(streamId, stream);
      let t0Ms: number | null;
      try {
        const { codec = "PCMU" } = target;
        const payload = codec === "PCMU" ? renderedAudio.payload : await payloadForCodec(renderedAudio, codec);
        const place = positionOf(specOf(target, payload));
        if (!place || streams.get(streamId) !== stream) throw soundIsOver();
        t0Ms = place.t0Ms;
        stream.startsAlone = t0 !== null && !joinsInPlace;
        stream.requested = true;
        await streamer.open(place.spec);
      } catch (error) {
        if (streams.get(streamId) === stream) streams.delete(streamId);
        stream.hasEnded(soundIsOver());
        finishIfDone();
        throw error;
      }
      stream.opened = true;
      if (over) streamer.end(streamId);
      // A stream that was being opened at the start is late by ms; the streamer catches up.
      else if (t0 !== null)
        streamer.startGroup([streamId], stream.startsAlone ? startAlone() : (t0Ms ?? wallClockT0()));
    },
    async waitForFirstPacket(target) {
      await streams.get(idOf(target))?.started;
    },
    start(at = 0) {
      if (over || t0 !== null) return;
      setT0(Math.max(at, clock.now() + START_LEAD_TIME_MS));
      const opened = [...streams].filter(([, stream]) => stream.opened).map(([id]) => id);
      streamer.startGroup(opened, t0 as unknown as number);
    },
    resume(moment) {
      // Where each open stream began on its own is not stored.
      joinsInPlace = true;
      setT0(moment);
    },
    closeStream: (target) => closeStream(idOf(target)),
    stop() {
      for (const id of streams.keys()) streamer.end(id);
      close();
    },
  };
}

function createOpenStream(key: string | null): OpenAudioStream {
  let hasStarted = (): void => {};
  let fail = (_error: UpstreamError): void => {};
  let end = (): void => {};
  const started = new Promise<void>((resolve, reject) => {
    hasStarted = resolve;
    fail = reject;
  });
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  // A caller that awaits it gets the error; often nothing does.
  started.catch(() => {});
  const hasEnded = (error: UpstreamError): void => {
    fail(error);
    end();
  };
  return {
    key,
    requested: false,
    opened: false,
    startsAlone: false,
    ending: false,
    started,
    ended,
    hasStarted,
    hasEnded,
  };
}

function soundIsOver(): UpstreamError {
  return new UpstreamError("upstream", sentence("error.the-audio-of-the-message-has-ended"));
}
