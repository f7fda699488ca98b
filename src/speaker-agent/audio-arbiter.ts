import { setBounded } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { PACKET_BYTES, PACKET_MS, parseRtpPacket } from "../media/rtp.ts";
import type { AgentCommand, AgentEvent, AgentSettings } from "./appliance-client.ts";
import type { OpenAudioOutput } from "./audio-output.ts";
import { createPlayback, type Playback, type PlaybackReport } from "./playback.ts";
import type { MicrophoneResult, OpenRoomMicrophone, RoomMicrophone } from "./room-microphone.ts";
import type { ReceivedPacket } from "./rtp-receiver.ts";
import { createStrangerLog, type StrangerReport } from "./stranger-log.ts";
import { createStreamGuard, STREAM_SUITE, type StreamGuard } from "./stream-guard.ts";
import { createZoneAdmission, type ZonePacket } from "./zone-admission.ts";

type PlayCommand = Extract<AgentCommand, { kind: "play" }>;

/** A ring played from a stored sound. */
export interface RingPlayback {
  /** SSRC of the equivalent stream from the appliance. */
  ssrc: number;
  /** 0 to 100. */
  volume: number;
  delayMs: number;
  priority: number;
  /** G.711 µ-law. */
  payload: Uint8Array;
  /** Called if the audio player failed. */
  onFailed(reason: string): void;
}

/** Decides what the speaker plays: one stream at a time, by priority. */
export interface AudioArbiter {
  /** True if nothing of the same or a higher priority is playing. */
  canPlay(priority: number): boolean;
  playRing(ring: RingPlayback): void;
  handleCommand(command: AgentCommand): void;
  handlePacket(packet: ReceivedPacket): void;
  /** Applies to later playbacks. */
  applySettings(settings: AgentSettings): void;
  /** Packets that were not played since the last call, because nothing announced them; null if there were none. */
  takeStrangers(): StrangerReport | null;
  /** Stops playback. */
  close(): void;
}

export interface AudioArbiterDeps {
  clock: Clock;
  open: OpenAudioOutput;
  /** Opens the room microphone; null without one. */
  listen: OpenRoomMicrophone | null;
  /** Jitter buffer in ms: delay of the first packet. */
  bufferMs: number;
  /** Receives delivery events; `at` is monotonic time. */
  onEvent(event: Omit<AgentEvent, "at"> & { at: number | null }): void;
  /** True if this stream's message was already played offline and must not play again. */
  hasPlayedOffline(ssrc: number): boolean;
  /** Called when a stream from the appliance starts playing. */
  onStreamStarted(ssrc: number): void;
}

interface ActivePlayback {
  /** Null for zone audio, which is not reported. */
  deliveryId: number | null;
  ssrc: number;
  zone: string | null;
  /** Null for zone audio and offline rings. */
  guard: StreamGuard | null;
  priority: number;
  /** Set for offline rings; null for streams. */
  onFailed: ((reason: string) => void) | null;
  playback: Playback;
  microphone: RoomMicrophone | null;
}

/** Packet loss up to this share is not reported. */
const MAX_MISSING_SHARE = 0.02;
/** A message without packets for this long is abandoned. */
const STREAM_TIMEOUT_MS = 10_000;
/** Streams whose packets are known for a while after they were replaced. */
const MAX_ANNOUNCED = 32;

/** Creates the arbiter: one stream at a time; a higher priority replaces a lower one. */
export function createAudioArbiter(deps: AudioArbiterDeps): AudioArbiter {
  const { clock, onEvent } = deps;
  let settings: AgentSettings = { volume: 80, delayMs: 0, zones: [] };
  let active: ActivePlayback | null = null;
  const strangers = createStrangerLog();
  const zones = createZoneAdmission(clock, ({ sender, zone }) => strangers.note(sender, zone));
  /** Sources of announced streams: what of them comes late or was replaced is of no strangers. */
  const announced = new Map<number, string | null>();

  const stopActive = (): void => {
    active?.playback.stop();
    active?.microphone?.close();
    active = null;
  };
  const emit = (deliveryId: number | null, kind: AgentEvent["kind"], text = "", at: number | null = null): void => {
    if (deliveryId !== null) onEvent({ kind, deliveryId, at, words: text });
  };
  const startPlayback = (
    own: Omit<ActivePlayback, "playback" | "microphone">,
    volume: number,
    delayMs: number,
  ): ActivePlayback => {
    stopActive();
    const output = deps.open();
    const { deliveryId } = own;
    const microphone =
      deliveryId === null || !deps.listen
        ? null
        : deps.listen((detection) => onEvent({ kind: "heard", deliveryId, at: null, words: "", detection }));
    const tappedOutput = {
      ...output,
      write(pcm: Int16Array) {
        output.write(pcm);
        microphone?.addPlayed(pcm);
      },
    };
    const playback = createPlayback({
      ...{ clock, output: tappedOutput, volume, bufferMs: deps.bufferMs + delayMs },
      onStarted(at) {
        microphone?.begin();
        if (own.onFailed === null) deps.onStreamStarted(own.ssrc);
        emit(deliveryId, "started", "", at);
      },
      onEnded(report) {
        output.end();
        void finishPlayback(current, report, output.ended);
      },
    });
    const current: ActivePlayback = { ...own, playback, microphone };
    active = current;
    // Stop if the player fails.
    void output.ended.then((error) => {
      if (error === null || active !== current) return;
      stopActive();
      own.onFailed?.(error);
      emit(deliveryId, "failed", error);
    });
    return current;
  };
  const finishPlayback = async (
    current: ActivePlayback,
    report: PlaybackReport,
    ended: Promise<string | null>,
  ): Promise<void> => {
    if (active === current) active = null;
    const listening = current.microphone?.finish() ?? Promise.resolve(null);
    const error = await ended;
    if (error !== null) {
      current.onFailed?.(error);
      return emit(current.deliveryId, "failed", error);
    }
    const result = await listening;
    if (result && current.deliveryId !== null) reportUnheard(current.deliveryId, result);
    const lossy = report.missing > report.played * MAX_MISSING_SHARE;
    emit(current.deliveryId, "ended", lossy ? `${report.missing} of ${report.played} packets lost` : "");
  };
  const reportUnheard = (deliveryId: number, { isHeard, hasRecorded, detection }: MicrophoneResult): void => {
    if (isHeard) return;
    const words = hasRecorded
      ? "playing, but the microphone does not hear it"
      : "playing, but the microphone recorded nothing";
    onEvent({ kind: "unheard", deliveryId, at: null, words, ...(detection && { detection }) });
  };
  const play = ({
    deliveryId,
    ssrc,
    priority,
    volume,
    delayMs,
    source = null,
    secrecy = null,
  }: Omit<PlayCommand, "secrecy"> & { secrecy?: PlayCommand["secrecy"] | null }): void => {
    if (deps.hasPlayedOffline(ssrc)) {
      emit(deliveryId, "alone");
      return;
    }
    if (secrecy !== null && secrecy.suite !== STREAM_SUITE) {
      emit(deliveryId, "failed", `the encryption ${secrecy.suite} is not supported`);
      return;
    }
    setBounded(announced, ssrc, source, MAX_ANNOUNCED);
    const guard = createStreamGuard(clock, { ssrc, source, secrecy });
    const current = startPlayback({ deliveryId, ssrc, zone: null, guard, priority, onFailed: null }, volume, delayMs);
    emit(deliveryId, "accepted");
    clock.after(STREAM_TIMEOUT_MS, () => active === current && !current.playback.hasReceivedPackets() && stopActive(), {
      background: true,
    });
  };
  const handleUnicast = (packet: ReceivedPacket): void => {
    const opened = active?.guard?.open(packet);
    if (opened) {
      active?.playback.push(opened);
      return;
    }
    const ssrc = parseRtpPacket(packet.datagram)?.ssrc;
    const source = ssrc === undefined ? undefined : announced.get(ssrc);
    if (source === undefined || (source !== null && source !== packet.sender) || ssrc === active?.ssrc)
      strangers.note(packet.sender, null);
  };
  const playZonePacket = (packet: ZonePacket): void => {
    const { ssrc, zone, priority } = packet;
    if (deps.hasPlayedOffline(ssrc)) return;
    if (active?.ssrc === ssrc && active.zone === zone) {
      active.playback.push(packet);
      return;
    }
    // A message that arrives by two routes plays once; of two messages the higher priority plays.
    if (active?.ssrc === ssrc || (active && active.priority <= priority)) return;
    const own = { deliveryId: null, ssrc, zone, guard: null, priority, onFailed: null };
    startPlayback(own, settings.volume, settings.delayMs).playback.push(packet);
  };
  const feedPayload = (current: ActivePlayback, payload: Uint8Array): void => {
    const beganAt = clock.monotonicMs();
    let sequence = 0;
    const push = (): void => {
      for (; active === current && sequence * PACKET_MS <= clock.monotonicMs() - beganAt; sequence++) {
        const at = sequence * PACKET_BYTES;
        if (at >= payload.length) return;
        current.playback.push({ sequence: sequence & 0xffff, payload: payload.subarray(at, at + PACKET_BYTES) });
      }
      if (active === current) clock.after(PACKET_MS, push);
    };
    push();
  };
  return {
    canPlay: (priority) => active === null || active.priority > priority,
    playRing({ ssrc, priority, volume, delayMs, payload, onFailed }) {
      const own = { deliveryId: null, ssrc, zone: null, guard: null, priority, onFailed };
      feedPayload(startPlayback(own, volume, delayMs), payload);
    },
    handleCommand(command) {
      if (command.kind === "play") play(command);
      else if (command.kind === "stop" && active?.deliveryId === command.deliveryId) stopActive();
    },
    handlePacket(packet) {
      if (packet.zone === null) return handleUnicast(packet);
      const admitted = zones.admit(packet);
      if (admitted) playZonePacket(admitted);
    },
    applySettings(given) {
      settings = given;
      for (const packet of zones.setZones(given.zones)) playZonePacket(packet);
    },
    takeStrangers: strangers.take,
    close: stopActive,
  };
}
