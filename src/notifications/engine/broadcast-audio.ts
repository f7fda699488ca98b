import type { Clock, Timer } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { CODECS, type Codec } from "../../media/codecs.ts";
import { payloadForCodec, type RenderedAudio } from "../../media/rendered-audio.ts";
import type { SrtpMasterKey } from "../../media/srtp.ts";
import { resumeStream } from "../../media/stream-resume.ts";
import type { Streamer } from "../../media/streamer.ts";
import type { StreamSpec } from "../../media/streamer-messages.ts";

/** Whom one stream reaches. */
export interface AudioStreamAddress {
  group: string;
  port: number;
}

/** Where one stream goes. */
export interface AudioStreamTarget extends AudioStreamAddress {
  ttl: number;
  /** µ-law unless given. */
  codec?: Codec;
  /** Own port that the packets come from; any unless given. */
  sourcePort?: number;
  /** What the packets are encrypted with. */
  secrecy?: SrtpMasterKey;
}

/** The sound of one broadcast: all its streams share one programme, one SSRC and one first moment. */
export interface BroadcastAudio {
  /** Epoch ms of the first packet; null before the start. */
  readonly t0: number | null;
  /** Nothing is to be heard any more. */
  readonly over: boolean;
  /** Length of the programme; null where somebody speaks at this moment. */
  readonly durationMs: number | null;
  /** Opens a stream to a target; what one hears that is opened after the start, `isTogether` says. Rejects with UpstreamError. */
  openStream(target: AudioStreamTarget): Promise<void>;
  /** Resolves when the first packet to an opened target has left; rejects when it ended before. */
  waitForFirstPacket(target: AudioStreamTarget): Promise<void>;
  /** Lets all open streams begin together, once: at `at` (epoch ms) unless that is over. */
  start(at?: number): void;
  /** Goes on at the place where a programme stands now that began at `t0`. */
  resume(t0: number): void;
  /** Ends the stream to a target, which another message wants or where nobody listens any more. */
  closeStream(target: AudioStreamAddress): void;
  /** Ends all streams at once, without `onOver`. */
  stop(): void;
}

/** What a sound needs. */
export interface BroadcastAudioDeps {
  clock: Clock;
  streamer: Pick<Streamer, "open" | "startGroup" | "setRepeats" | "end" | "on">;
  notificationId: string;
  ssrc: number;
  programme: RenderedAudio;
  /** What is opened after the start joins where the others are; else it hears all from the beginning. */
  synchronizedStart: boolean;
  /** Somebody is being reached who is to hear all from the beginning. */
  hasPendingStreams(): boolean;
  /** Somebody who is where the others are would miss it if the sound ended at `endsAt` (epoch ms): it comes once more. */
  wouldBeMissed(endsAt: number): boolean;
  /** Own IPv4 address on the network to send into. */
  interfaceAddress: string;
  /** The programme has been sent. */
  onEnd(): void;
  /** The streamer gave a stream up. */
  onLost(): void;
}

interface OpenAudioStream {
  /** The streamer has been asked for it; before, its rendition is being made. */
  asked: boolean;
  opened: boolean;
  /** It began by itself, not with the others. */
  startsAlone: boolean;
  started: Promise<void>;
  hasStarted(): void;
  hasEnded(error: UpstreamError): void;
}

/** Time for the streamer's thread to hear of a start before its first packet is due. */
const START_LEAD_TIME_MS = 10;
/** Time for the account of the last packet to come back. */
const END_LAG_MS = 40;
/** A stream that has not ended so long after the programme is given up: the message must end. own choice */
const LONGEST_LAG_MS = 5_000;
/** How long after the end the sound can still begin for those who are being reached, and how often that is looked at. own choice */
const PENDING_STREAM_WAIT_MS = { most: 60_000, every: 500 };
/** So long before its end the streamer's thread is told that the sound comes once more. own choice */
const REPEAT_LEAD_MS = 500;

/** Text form of a target, as key. */
export function audioAddressKey(target: AudioStreamAddress): string {
  return `${target.group}:${target.port}`;
}

/** Makes the sound of one broadcast, with no stream yet. */
export function createBroadcastAudio(needs: BroadcastAudioDeps): BroadcastAudio {
  const { clock, streamer, programme } = needs;
  const streams = new Map<string, OpenAudioStream>();
  let t0: number | null = null;
  /** The same moment on the clock that is never set. */
  let t0MonotonicMs = 0;
  /** By the same clock: when the last stream has been sent. */
  let endsAtMs = 0;
  /** How often those who hear it together hear the programme. */
  let passes = 1;
  // What somebody speaks at this moment ends with them for all.
  let joinsInPlace = needs.synchronizedStart || programme.closed !== undefined;
  let over = false;
  let endTimer: Timer | null = null;
  let repeatTimer: Timer | null = null;

  const idOf = (target: AudioStreamAddress): string => `${needs.notificationId}/${audioAddressKey(target)}`;
  const specOf = (target: AudioStreamTarget, payload: Uint8Array): StreamSpec => ({
    streamId: idOf(target),
    group: target.group,
    port: target.port,
    ttl: target.ttl,
    interfaceAddress: needs.interfaceAddress,
    ...(target.sourcePort === undefined ? {} : { sourcePort: target.sourcePort }),
    ...(target.secrecy === undefined ? {} : { secrecy: target.secrecy }),
    ssrc: needs.ssrc,
    payloadType: CODECS[target.codec ?? "PCMU"].payloadType,
    payload,
    repeats: t0 !== null && !joinsInPlace ? 1 : passes,
    offsetPackets: 0,
  });

  /** Where a stream begins: with the first packet, or where the others are; null when it is too late. */
  const positionOf = (spec: StreamSpec): { spec: StreamSpec; t0Ms: number | null } | null =>
    t0 === null || !joinsInPlace ? { spec, t0Ms: null } : resumeStream(spec, wallClockT0(), clock.now());

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
    needs.onEnd();
  };
  const restMs = (): number => endsAtMs - clock.monotonicMs();
  const isAwaited = (): boolean =>
    !joinsInPlace && restMs() > -PENDING_STREAM_WAIT_MS.most && needs.hasPendingStreams();
  const finishIfDone = (): void => {
    if (!over && t0 !== null && streams.size === 0 && restMs() <= 0 && !isAwaited()) finish();
  };
  const scheduleEnd = (): void => {
    if (isAwaited()) {
      endTimer = clock.after(PENDING_STREAM_WAIT_MS.every, scheduleEnd);
      return;
    }
    endTimer = clock.after(LONGEST_LAG_MS, finish);
    finishIfDone();
  };
  const setT0 = (moment: number): void => {
    t0 = moment;
    t0MonotonicMs = clock.monotonicMs() + moment - clock.now();
    extendUntil(passEndsAtMs());
    scheduleRepeat();
  };
  const passEndsAtMs = (): number => t0MonotonicMs + passes * programme.durationMs;
  const scheduleRepeat = (): void => {
    // What is spoken at this moment can't come once more.
    if (programme.closed) return;
    const waitMs = passEndsAtMs() - REPEAT_LEAD_MS - clock.monotonicMs();
    repeatTimer = clock.after(Math.max(0, waitMs), repeatWhereMissed);
  };
  const repeatWhereMissed = (): void => {
    const moreMs = (passes - 1) * programme.durationMs;
    const restOfPassMs = passEndsAtMs() - clock.monotonicMs();
    if (
      over ||
      restOfPassMs <= 0 ||
      moreMs >= PENDING_STREAM_WAIT_MS.most ||
      !needs.wouldBeMissed(clock.now() + restOfPassMs)
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
  /** The first moment of a stream that begins by itself. */
  const startAlone = (): number => {
    extendUntil(clock.monotonicMs() + START_LEAD_TIME_MS + programme.durationMs);
    return clock.now() + START_LEAD_TIME_MS;
  };
  /** The first moment by the wall clock as it goes now: somebody may have set it since. */
  const wallClockT0 = (): number => Math.round(clock.now() + t0MonotonicMs - clock.monotonicMs());
  const listening = [
    streamer.on("started", ({ streamId }) => streams.get(streamId)?.hasStarted()),
    streamer.on("ended", ({ streamId, reason }) => {
      const stream = streams.get(streamId);
      if (!stream) return;
      streams.delete(streamId);
      stream.hasEnded(soundIsOver());
      if (reason === "lost") needs.onLost();
      finishIfDone();
    }),
  ];

  programme.closed?.addEventListener("abort", () => over || finish(), { once: true });

  return {
    get t0() {
      return t0;
    },
    get over() {
      return over;
    },
    durationMs: programme.closed ? null : programme.durationMs,
    async openStream(target) {
      if (over) throw soundIsOver();
      const streamId = idOf(target);
      if (streams.has(streamId)) return;
      const stream = createOpenStream();
      streams.set(streamId, stream);
      let t0Ms: number | null;
      try {
        const { codec = "PCMU" } = target;
        const payload = codec === "PCMU" ? programme.payload : await payloadForCodec(programme, codec);
        const place = positionOf(specOf(target, payload));
        if (!place || streams.get(streamId) !== stream) throw soundIsOver();
        t0Ms = place.t0Ms;
        stream.startsAlone = t0 !== null && !joinsInPlace;
        stream.asked = true;
        await streamer.open(place.spec);
      } catch (error) {
        if (streams.get(streamId) === stream) streams.delete(streamId);
        finishIfDone();
        throw error;
      }
      stream.opened = true;
      if (over) streamer.end(streamId);
      // One that was being opened at the start is late by ms; the streamer catches up.
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
      // Where each that was open began by itself, nobody knows any more.
      joinsInPlace = true;
      setT0(moment);
    },
    closeStream(target) {
      const streamId = idOf(target);
      if (streams.get(streamId)?.asked === false) streams.delete(streamId);
      streamer.end(streamId);
    },
    stop() {
      for (const id of streams.keys()) streamer.end(id);
      close();
    },
  };
}

function createOpenStream(): OpenAudioStream {
  let hasStarted = (): void => {};
  let hasEnded = (_error: UpstreamError): void => {};
  const started = new Promise<void>((resolve, reject) => {
    hasStarted = resolve;
    hasEnded = reject;
  });
  // Whoever waits hears of it; often nobody does.
  started.catch(() => {});
  return { asked: false, opened: false, startsAlone: false, started, hasStarted, hasEnded };
}

function soundIsOver(): UpstreamError {
  return new UpstreamError("upstream", "The sound of the message is over.");
}
