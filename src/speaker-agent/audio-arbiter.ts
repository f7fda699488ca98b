import type { Clock } from "../lib/clock.ts";
import { PACKET_BYTES, PACKET_MS } from "../media/rtp.ts";
import type { AgentCommand, AgentEvent, AgentSettings } from "./appliance-client.ts";
import type { OpenAudioOutput } from "./audio-output.ts";
import { createPlayback, type Playback, type PlaybackReport } from "./playback.ts";
import type { RoomMicrophone } from "./room-microphone.ts";
import type { ReceivedPacket } from "./rtp-receiver.ts";
import { groupKey } from "./rtp-receiver.ts";

type PlayCommand = Extract<AgentCommand, { kind: "play" }>;

/** A ring that is played without a stream. */
export interface RingPlayback {
  /** That of the stream it would come by. */
  ssrc: number;
  /** 0 to 100. */
  volume: number;
  delayMs: number;
  priority: number;
  /** G.711 µ-law. */
  payload: Uint8Array;
  /** Its player could not, in words. */
  onFailed(words: string): void;
}

/** What a speaker plays at the moment. */
export interface AudioArbiter {
  /** True when nothing as urgent is playing. */
  canPlay(priority: number): boolean;
  /** Plays a ring from now on. */
  playRing(ring: RingPlayback): void;
  handleCommand(command: AgentCommand): void;
  handlePacket(packet: ReceivedPacket): void;
  /** How it sounds from now on. */
  applySettings(settings: AgentSettings): void;
  /** Falls silent. */
  close(): void;
}

/** What a stage needs. */
export interface AudioArbiterDeps {
  clock: Clock;
  open: OpenAudioOutput;
  /** Listens to the room; null without a microphone. */
  listen: ((onHeard: () => void) => RoomMicrophone) | null;
  /** ms by which the first packet is held back against those that are late. */
  bufferMs: number;
  /** Something happened to a delivery, at a moment of the monotonic clock. */
  onEvent(event: Omit<AgentEvent, "at"> & { at: number | null }): void;
  /** The message of this stream has sounded here without the appliance: it does not sound again. */
  hasPlayedOffline(ssrc: number): boolean;
  /** A stream of the appliance begins to sound. */
  onStreamStarted(ssrc: number): void;
}

interface ActivePlayback {
  /** Null for what came by a zone, of which nobody is told. */
  deliveryId: number | null;
  ssrc: number;
  zone: string | null;
  priority: number;
  /** Played without a stream: its player failed. Null for what comes by one. */
  onFailed: ((words: string) => void) | null;
  playback: Playback;
  microphone: RoomMicrophone | null;
  hasHeard: boolean;
}

/** own choice: a stream without loss worth telling. */
const MAX_MISSING_SHARE = 0.02;
/** A message whose stream does not come is given up. */
const STREAM_TIMEOUT_MS = 10_000;

/** Makes a silent stage: one stream at a time, the more urgent one instead of the other. */
export function createAudioArbiter(needs: AudioArbiterDeps): AudioArbiter {
  const { clock, onEvent } = needs;
  let settings: AgentSettings = { volume: 80, delayMs: 0, zones: [] };
  let active: ActivePlayback | null = null;

  const stopActive = (): void => {
    active?.playback.stop();
    active?.microphone?.close();
    active = null;
  };
  const emit = (deliveryId: number | null, kind: AgentEvent["kind"], words = "", at: number | null = null): void => {
    if (deliveryId !== null) onEvent({ kind, deliveryId, at, words });
  };
  const startPlayback = (
    own: Omit<ActivePlayback, "playback" | "microphone" | "hasHeard">,
    volume: number,
    delayMs: number,
  ): ActivePlayback => {
    stopActive();
    const output = needs.open();
    const { deliveryId } = own;
    const microphone =
      deliveryId === null || !needs.listen
        ? null
        : needs.listen(() => {
            mine.hasHeard = true;
            emit(deliveryId, "heard");
          });
    const playback = createPlayback({
      ...{ clock, output, volume, bufferMs: needs.bufferMs + delayMs },
      onStarted(at) {
        microphone?.begin();
        if (own.onFailed === null) needs.onStreamStarted(own.ssrc);
        emit(deliveryId, "started", "", at);
      },
      onEnded(report) {
        output.end();
        void finishPlayback(mine, report, output.ended);
      },
    });
    const mine: ActivePlayback = { ...own, playback, microphone, hasHeard: false };
    active = mine;
    // Nothing is heard of a message whose player has failed.
    void output.ended.then((fault) => {
      if (fault === null || active !== mine) return;
      stopActive();
      own.onFailed?.(fault);
      emit(deliveryId, "failed", fault);
    });
    return mine;
  };
  const finishPlayback = async (
    mine: ActivePlayback,
    report: PlaybackReport,
    ending: Promise<string | null>,
  ): Promise<void> => {
    if (active === mine) active = null;
    mine.microphone?.close();
    const fault = await ending;
    if (fault !== null) {
      mine.onFailed?.(fault);
      return emit(mine.deliveryId, "failed", fault);
    }
    if (mine.microphone && !mine.hasHeard) emit(mine.deliveryId, "unheard", "it plays, but does not hear itself");
    const lossy = report.missing > report.played * MAX_MISSING_SHARE;
    emit(mine.deliveryId, "ended", lossy ? `${report.missing} of ${report.played} packets did not come` : "");
  };
  const play = ({ deliveryId, ssrc, priority, volume, delayMs }: PlayCommand): void => {
    if (needs.hasPlayedOffline(ssrc)) {
      emit(deliveryId, "alone");
      return;
    }
    const mine = startPlayback({ deliveryId, ssrc, zone: null, priority, onFailed: null }, volume, delayMs);
    emit(deliveryId, "accepted");
    clock.after(STREAM_TIMEOUT_MS, () => active === mine && !mine.playback.hasReceivedPackets() && stopActive(), {
      background: true,
    });
  };
  const feedPayload = (mine: ActivePlayback, payload: Uint8Array): void => {
    const beganAt = clock.monotonicMs();
    let sequence = 0;
    const push = (): void => {
      for (; active === mine && sequence * PACKET_MS <= clock.monotonicMs() - beganAt; sequence++) {
        const at = sequence * PACKET_BYTES;
        if (at >= payload.length) return;
        mine.playback.push({ sequence: sequence & 0xffff, payload: payload.subarray(at, at + PACKET_BYTES) });
      }
      if (active === mine) clock.after(PACKET_MS, push);
    };
    push();
  };
  return {
    canPlay: (priority) => active === null || active.priority > priority,
    playRing({ ssrc, priority, volume, delayMs, payload, onFailed }) {
      feedPayload(startPlayback({ deliveryId: null, ssrc, zone: null, priority, onFailed }, volume, delayMs), payload);
    },
    handleCommand(command) {
      if (command.kind === "play") play(command);
      else if (active?.deliveryId === command.deliveryId) stopActive();
    },
    handlePacket(packet) {
      if (needs.hasPlayedOffline(packet.ssrc)) return;
      if (active?.ssrc === packet.ssrc && active.zone === packet.zone) return active.playback.push(packet);
      const zone = packet.zone === null ? undefined : settings.zones.find((each) => groupKey(each) === packet.zone);
      // The same message by two ways sounds once; of two messages the more urgent one does.
      if (!zone || active?.ssrc === packet.ssrc || (active && active.priority <= zone.priority)) return;
      const own = { deliveryId: null, ssrc: packet.ssrc, zone: packet.zone, priority: zone.priority, onFailed: null };
      startPlayback(own, settings.volume, settings.delayMs).playback.push(packet);
    },
    applySettings(given) {
      settings = given;
    },
    close: stopActive,
  };
}
