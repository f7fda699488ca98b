import { PACKET_BYTES, PACKET_MS } from "../audio/rtp.ts";
import type { Clock } from "../base/clock.ts";
import type { AgentEvent, Command, Settings } from "./appliance.ts";
import type { Heard } from "./ears.ts";
import { keyOf } from "./ears.ts";
import type { Microphone } from "./microphone.ts";
import { createPlayback, type Playback, type PlaybackReport } from "./playback.ts";
import type { OpenOutput } from "./player.ts";

type Play = Extract<Command, { kind: "play" }>;

/** A ring that is played without a stream. */
export interface OwnRing {
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
export interface Stage {
  /** True when nothing as urgent is playing. */
  isFreeFor(priority: number): boolean;
  /** Plays a ring from now on. */
  ring(ring: OwnRing): void;
  take(command: Command): void;
  hear(packet: Heard): void;
  /** How it sounds from now on. */
  set(settings: Settings): void;
  /** Falls silent. */
  close(): void;
}

/** What a stage needs. */
export interface StageNeeds {
  clock: Clock;
  open: OpenOutput;
  /** Listens to the room; null without a microphone. */
  listen: ((onHeard: () => void) => Microphone) | null;
  /** ms by which the first packet is held back against those that are late. */
  bufferMs: number;
  /** Something happened to a delivery, at a moment of the monotonic clock. */
  tell(event: Omit<AgentEvent, "at"> & { at: number | null }): void;
  /** The message of this stream has sounded here without the appliance: it does not sound again. */
  hasRung(ssrc: number): boolean;
  /** A stream of the appliance begins to sound. */
  onStream(ssrc: number): void;
}

interface Act {
  /** Null for what came by a zone, of which nobody is told. */
  deliveryId: number | null;
  ssrc: number;
  zone: string | null;
  priority: number;
  /** Played without a stream: its player failed. Null for what comes by one. */
  onFailed: ((words: string) => void) | null;
  playback: Playback;
  microphone: Microphone | null;
  hasHeard: boolean;
}

/** own choice: a stream without loss worth telling. */
const MOST_MISSING = 0.02;
/** A message whose stream does not come is given up. */
const COMES_WITHIN_MS = 10_000;

/** Makes a silent stage: one stream at a time, the more urgent one instead of the other. */
export function createStage(needs: StageNeeds): Stage {
  const { clock, tell } = needs;
  let settings: Settings = { volume: 80, delayMs: 0, zones: [] };
  let act: Act | null = null;

  const leave = (): void => {
    act?.playback.stop();
    act?.microphone?.close();
    act = null;
  };
  const say = (deliveryId: number | null, kind: AgentEvent["kind"], words = "", at: number | null = null): void => {
    if (deliveryId !== null) tell({ kind, deliveryId, at, words });
  };
  const enter = (own: Omit<Act, "playback" | "microphone" | "hasHeard">, volume: number, delayMs: number): Act => {
    leave();
    const output = needs.open();
    const { deliveryId } = own;
    const microphone =
      deliveryId === null || !needs.listen
        ? null
        : needs.listen(() => {
            mine.hasHeard = true;
            say(deliveryId, "heard");
          });
    const playback = createPlayback({
      ...{ clock, output, volume, bufferMs: needs.bufferMs + delayMs },
      onStarted(at) {
        microphone?.begin();
        if (own.onFailed === null) needs.onStream(own.ssrc);
        say(deliveryId, "started", "", at);
      },
      onOver(report) {
        output.end();
        void over(mine, report, output.ended);
      },
    });
    const mine: Act = { ...own, playback, microphone, hasHeard: false };
    act = mine;
    // Nothing is heard of a message whose player has failed.
    void output.ended.then((fault) => {
      if (fault === null || act !== mine) return;
      leave();
      own.onFailed?.(fault);
      say(deliveryId, "failed", fault);
    });
    return mine;
  };
  const over = async (mine: Act, report: PlaybackReport, ending: Promise<string | null>): Promise<void> => {
    if (act === mine) act = null;
    mine.microphone?.close();
    const fault = await ending;
    if (fault !== null) {
      mine.onFailed?.(fault);
      return say(mine.deliveryId, "failed", fault);
    }
    if (mine.microphone && !mine.hasHeard) say(mine.deliveryId, "unheard", "it plays, but does not hear itself");
    const lossy = report.missing > report.played * MOST_MISSING;
    say(mine.deliveryId, "ended", lossy ? `${report.missing} of ${report.played} packets did not come` : "");
  };
  const play = ({ deliveryId, ssrc, priority, volume, delayMs }: Play): void => {
    if (needs.hasRung(ssrc)) {
      say(deliveryId, "alone");
      return;
    }
    const mine = enter({ deliveryId, ssrc, zone: null, priority, onFailed: null }, volume, delayMs);
    say(deliveryId, "accepted");
    clock.after(COMES_WITHIN_MS, () => act === mine && !mine.playback.hasBegun() && leave(), { background: true });
  };
  const feed = (mine: Act, payload: Uint8Array): void => {
    const beganAt = clock.monotonicMs();
    let sequence = 0;
    const push = (): void => {
      for (; act === mine && sequence * PACKET_MS <= clock.monotonicMs() - beganAt; sequence++) {
        const at = sequence * PACKET_BYTES;
        if (at >= payload.length) return;
        mine.playback.push({ sequence: sequence & 0xffff, payload: payload.subarray(at, at + PACKET_BYTES) });
      }
      if (act === mine) clock.after(PACKET_MS, push);
    };
    push();
  };
  return {
    isFreeFor: (priority) => act === null || act.priority > priority,
    ring({ ssrc, priority, volume, delayMs, payload, onFailed }) {
      feed(enter({ deliveryId: null, ssrc, zone: null, priority, onFailed }, volume, delayMs), payload);
    },
    take(command) {
      if (command.kind === "play") play(command);
      else if (act?.deliveryId === command.deliveryId) leave();
    },
    hear(packet) {
      if (needs.hasRung(packet.ssrc)) return;
      if (act?.ssrc === packet.ssrc && act.zone === packet.zone) return act.playback.push(packet);
      const zone = packet.zone === null ? undefined : settings.zones.find((each) => keyOf(each) === packet.zone);
      // The same message by two ways sounds once; of two messages the more urgent one does.
      if (!zone || act?.ssrc === packet.ssrc || (act && act.priority <= zone.priority)) return;
      const own = { deliveryId: null, ssrc: packet.ssrc, zone: packet.zone, priority: zone.priority, onFailed: null };
      enter(own, settings.volume, settings.delayMs).playback.push(packet);
    },
    set(given) {
      settings = given;
    },
    close: leave,
  };
}
