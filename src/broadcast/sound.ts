import type { Programme } from "../audio/programme.ts";
import { resumeStream } from "../audio/resume.ts";
import { PAYLOAD_TYPE_PCMU } from "../audio/rtp.ts";
import type { StreamSpec } from "../audio/stream-messages.ts";
import type { Streamer } from "../audio/streamer.ts";
import type { Clock, Timer } from "../base/clock.ts";
import { UpstreamError } from "../base/errors.ts";

/** Whom one stream reaches. */
export interface SoundAddress {
  group: string;
  port: number;
}

/** Where one stream goes. */
export interface SoundTarget extends SoundAddress {
  ttl: number;
  /** Own port that the packets come from; any unless given. */
  sourcePort?: number;
}

/** The sound of one broadcast: all its streams share one programme, one SSRC and one first moment. */
export interface Sound {
  /** Epoch ms of the first packet; null before the start. */
  readonly t0: number | null;
  /** Nothing is to be heard any more. */
  readonly over: boolean;
  /** Opens a stream to a target; one opened after the start joins at its place. Rejects with UpstreamError. */
  open(target: SoundTarget): Promise<void>;
  /** Resolves when the first packet to an opened target has left; rejects when it ended before. */
  started(target: SoundTarget): Promise<void>;
  /** Lets all open streams begin together, once: at `at` (epoch ms) unless that is over. */
  start(at?: number): void;
  /** Goes on at the place where a programme stands now that began at `t0`. */
  resume(t0: number): void;
  /** Ends the stream to a target, which another message wants or where nobody listens any more. */
  endTarget(target: SoundAddress): void;
  /** Ends all streams at once, without `onOver`. */
  stop(): void;
}

/** What a sound needs. */
export interface SoundNeeds {
  clock: Clock;
  streamer: Pick<Streamer, "open" | "startGroup" | "end" | "on">;
  notificationId: string;
  ssrc: number;
  programme: Programme;
  /** Own IPv4 address on the network to send into. */
  interfaceAddress: string;
  /** The programme has been sent. */
  onOver(): void;
  /** The streamer gave a stream up. */
  onLost(): void;
}

interface OpenStream {
  opened: boolean;
  started: Promise<void>;
  hasStarted(): void;
  hasEnded(error: UpstreamError): void;
}

/** Time for the streamer's thread to hear of a start before its first packet is due. */
const START_LEAD_MS = 10;
/** Time for the account of the last packet to come back. */
const END_LAG_MS = 40;
/** A stream that has not ended so long after the programme is given up: the message must end. own choice */
const LONGEST_LAG_MS = 5_000;

/** Text form of a target, as key. */
export function addressOf(target: SoundAddress): string {
  return `${target.group}:${target.port}`;
}

/** Makes the sound of one broadcast, with no stream yet. */
export function createSound(needs: SoundNeeds): Sound {
  const { clock, streamer, programme } = needs;
  const streams = new Map<string, OpenStream>();
  let t0: number | null = null;
  /** The same moment on the clock that is never set. */
  let t0MonotonicMs = 0;
  let over = false;
  let endTimer: Timer | null = null;

  const idOf = (target: SoundAddress): string => `${needs.notificationId}/${addressOf(target)}`;
  const specOf = (target: SoundTarget): StreamSpec => ({
    streamId: idOf(target),
    group: target.group,
    port: target.port,
    ttl: target.ttl,
    interfaceAddress: needs.interfaceAddress,
    ...(target.sourcePort === undefined ? {} : { sourcePort: target.sourcePort }),
    ssrc: needs.ssrc,
    payloadType: PAYLOAD_TYPE_PCMU,
    payload: programme.payload,
    repeats: 1,
    offsetPackets: 0,
  });

  const close = (): void => {
    over = true;
    endTimer?.cancel();
    for (const forget of listening.splice(0)) forget();
    for (const stream of streams.values()) stream.hasEnded(soundIsOver());
    streams.clear();
  };
  const finish = (): void => {
    for (const id of streams.keys()) streamer.end(id);
    close();
    needs.onOver();
  };
  const restMs = (): number => t0MonotonicMs + programme.durationMs - clock.monotonicMs();
  const checkOver = (): void => {
    if (!over && t0 !== null && streams.size === 0 && restMs() <= 0) finish();
  };
  const expectEnd = (): void => {
    endTimer = clock.after(LONGEST_LAG_MS, finish);
    checkOver();
  };
  const setT0 = (moment: number): void => {
    t0 = moment;
    t0MonotonicMs = clock.monotonicMs() + moment - clock.now();
    endTimer = clock.after(Math.max(0, restMs()) + END_LAG_MS, expectEnd);
  };
  /** The first moment by the wall clock as it goes now: somebody may have set it since. */
  const t0ByWall = (): number => Math.round(clock.now() + t0MonotonicMs - clock.monotonicMs());
  const listening = [
    streamer.on("started", ({ streamId }) => streams.get(streamId)?.hasStarted()),
    streamer.on("ended", ({ streamId, reason }) => {
      const stream = streams.get(streamId);
      if (!stream) return;
      streams.delete(streamId);
      stream.hasEnded(soundIsOver());
      if (reason === "lost") needs.onLost();
      checkOver();
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
    async open(target) {
      if (over) throw soundIsOver();
      const spec = specOf(target);
      if (streams.has(spec.streamId)) return;
      const place = t0 === null ? { spec, t0Ms: null } : resumeStream(spec, t0ByWall(), clock.now());
      if (!place) throw soundIsOver();
      const stream = createOpenStream();
      streams.set(spec.streamId, stream);
      try {
        await streamer.open(place.spec);
      } catch (error) {
        streams.delete(spec.streamId);
        checkOver();
        throw error;
      }
      stream.opened = true;
      if (over) streamer.end(spec.streamId);
      // One that was being opened at the start is late by ms; the streamer catches up.
      else if (t0 !== null) streamer.startGroup([spec.streamId], place.t0Ms ?? t0ByWall());
    },
    async started(target) {
      await streams.get(idOf(target))?.started;
    },
    start(at = 0) {
      if (over || t0 !== null) return;
      setT0(Math.max(at, clock.now() + START_LEAD_MS));
      const opened = [...streams].filter(([, stream]) => stream.opened).map(([id]) => id);
      streamer.startGroup(opened, t0 as unknown as number);
    },
    resume: setT0,
    endTarget: (target) => streamer.end(idOf(target)),
    stop() {
      for (const id of streams.keys()) streamer.end(id);
      close();
    },
  };
}

function createOpenStream(): OpenStream {
  let hasStarted = (): void => {};
  let hasEnded = (_error: UpstreamError): void => {};
  const started = new Promise<void>((resolve, reject) => {
    hasStarted = resolve;
    hasEnded = reject;
  });
  // Whoever waits hears of it; often nobody does.
  started.catch(() => {});
  return { opened: false, started, hasStarted, hasEnded };
}

function soundIsOver(): UpstreamError {
  return new UpstreamError("upstream", "The sound of the message is over.");
}
