import type { Clock } from "../base/clock.ts";
import type { AgentEvent, Command, Settings } from "./appliance.ts";
import type { Heard } from "./ears.ts";
import { keyOf } from "./ears.ts";
import type { Microphone } from "./microphone.ts";
import { createPlayback, type Playback, type PlaybackReport } from "./playback.ts";
import type { OpenOutput } from "./player.ts";

type Play = Extract<Command, { kind: "play" }>;

/** What a speaker plays at the moment. */
export interface Stage {
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
}

interface Act {
  /** Null for what came by a zone, of which nobody is told. */
  deliveryId: number | null;
  ssrc: number;
  zone: string | null;
  priority: number;
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
  const enter = (own: Pick<Act, "deliveryId" | "ssrc" | "zone" | "priority">, volume: number, delayMs: number): Act => {
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
      say(deliveryId, "failed", fault);
    });
    return mine;
  };
  const over = async (mine: Act, report: PlaybackReport, ending: Promise<string | null>): Promise<void> => {
    if (act === mine) act = null;
    mine.microphone?.close();
    const fault = await ending;
    if (fault !== null) return say(mine.deliveryId, "failed", fault);
    if (mine.microphone && !mine.hasHeard) say(mine.deliveryId, "unheard", "it plays, but does not hear itself");
    const lossy = report.missing > report.played * MOST_MISSING;
    say(mine.deliveryId, "ended", lossy ? `${report.missing} of ${report.played} packets did not come` : "");
  };
  const play = ({ deliveryId, ssrc, priority, volume, delayMs }: Play): void => {
    const mine = enter({ deliveryId, ssrc, zone: null, priority }, volume, delayMs);
    say(deliveryId, "accepted");
    clock.after(COMES_WITHIN_MS, () => act === mine && !mine.playback.hasBegun() && leave(), { background: true });
  };
  return {
    take(command) {
      if (command.kind === "play") play(command);
      else if (act?.deliveryId === command.deliveryId) leave();
    },
    hear(packet) {
      if (act?.ssrc === packet.ssrc && act.zone === packet.zone) return act.playback.push(packet);
      const zone = packet.zone === null ? undefined : settings.zones.find((each) => keyOf(each) === packet.zone);
      // The same message by two ways sounds once; of two messages the more urgent one does.
      if (!zone || act?.ssrc === packet.ssrc || (act && act.priority <= zone.priority)) return;
      const own = { deliveryId: null, ssrc: packet.ssrc, zone: packet.zone, priority: zone.priority };
      enter(own, settings.volume, settings.delayMs).playback.push(packet);
    },
    set(given) {
      settings = given;
    },
    close: leave,
  };
}
