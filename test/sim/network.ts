import type { Frame, FrameTransport } from "../../src/sync/protocol/frames.ts";
import { createPriorityMultiplexer } from "../../src/sync/transport/priority-multiplexer.ts";
import type { RandomSource } from "./seeded-random.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** One end of a connection, as the process behind it takes part. */
export interface ConnectionEnd {
  /** Whether anybody was there to take it. */
  frame(value: unknown): boolean;
  /** This end learns that the connection is gone, maybe long after. */
  closed(code: string): void;
}

/** What the network saw. */
export interface NetworkStatistics {
  cuts: number;
  frames: number;
  /** Connections that a side closed since a frame did not follow on. */
  gaps: number;
  /** Frames that arrived as something else. */
  garbled: number;
}

/** The network between an appliance and the cloud. */
export interface Network {
  isUp: boolean;
  /** Bytes a ms. */
  bandwidth: number;
  latencyMs: number;
  /** Connects two ends; `attach` gives each its wire. */
  connect(attach: (site: FrameTransport, cloud: FrameTransport) => { site: ConnectionEnd; cloud: ConnectionEnd }): void;
  /** What is on its way is lost; each end learns of it at a time of its own. So it is, too, when a process ends. */
  cut(): void;
  /** The next frame arrives as what is none; whoever gets it must close the connection. */
  garble(): void;
  /** The next page of a feed does not arrive, and those after it do: whoever gets them must close the connection. */
  lose(): void;
  /** All works from now on, over a new connection: after a page that was lost nothing may come that shows it. */
  heal(): void;
}

/** One of its members is of another kind. */
function garbled(frame: Frame, dice: RandomSource): unknown {
  return { ...frame, [dice.pick(Object.keys(frame))]: { other: 1 } };
}

/** Rough, since writing each frame out would take most of the time. */
function sizeOf(frame: Frame): number {
  return frame.t === "rows" || frame.t === "snap" || frame.t === "repair" ? 150 + frame.rows.length * 200 : 150;
}

function isBulk(frame: Frame): boolean {
  return frame.t === "snap" || frame.t === "repair" || (frame.t === "rows" && frame.feed !== "up.hot");
}

/** Makes it. `violated` is told when a command waits for bulk that was not yet on its way. */
export function createNetwork(
  time: VirtualTime,
  dice: RandomSource,
  figures: NetworkStatistics,
  violated: (what: string) => void,
): Network {
  let cutCurrent: (() => void) | null = null;
  let mustGarble = false;
  let mustLose = false;

  const network: Network = {
    isUp: true,
    bandwidth: 1000,
    latencyMs: 5,
    connect(attach) {
      cutCurrent?.();
      let isUp = true;
      let ends: { site: ConnectionEnd; cloud: ConnectionEnd } | null = null;

      const over = (code: string, isQuick: boolean): void => {
        if (!isUp) return;
        isUp = false;
        if (code === "gap") figures.gaps += 1;
        for (const end of [ends?.site, ends?.cloud]) {
          const isHalfOpen = !isQuick && dice.happens(0.05);
          time.in(isHalfOpen ? dice.next() * 45_000 : dice.next() * 300, () => end?.closed(code));
        }
      };
      const pipe = (to: () => ConnectionEnd | undefined): FrameTransport => {
        let bulkStarted = 0;
        let arrives = 0;
        const queuedAt = new Map<Frame, number>();
        const lanes = createPriorityMultiplexer({
          transmit(frame, done) {
            if (frame.t === "cmd" && bulkStarted > (queuedAt.get(frame) ?? 0))
              violated("I9: a command waited for bulk");
            if (isBulk(frame)) bulkStarted += 1;
            figures.frames += 1;
            const takes = sizeOf(frame) / network.bandwidth;
            arrives = Math.max(arrives, time.now() + takes + network.latencyMs * (0.5 + dice.next()));
            time.in(takes, () => isUp && done());
            if (mustLose && frame.t === "rows") {
              mustLose = false;
              return;
            }
            const isGarbled = mustGarble;
            mustGarble = false;
            time.at(arrives, () => {
              if (!isUp) return;
              const isTaken = to()?.frame(isGarbled ? garbled(frame, dice) : frame);
              if (isGarbled) figures.garbled += 1;
              if (isGarbled && isTaken && isUp) violated(`the door: a garbled ${frame.t} was let in`);
            });
          },
          close: (code) => over(code, true),
        });
        return {
          send(frame) {
            if (frame.t === "cmd") queuedAt.set(frame, bulkStarted);
            lanes.send(frame);
          },
          close: lanes.close,
        };
      };
      ends = attach(
        pipe(() => ends?.cloud),
        pipe(() => ends?.site),
      );
      cutCurrent = () => over("cut", false);
    },
    cut() {
      if (cutCurrent) figures.cuts += 1;
      cutCurrent?.();
      cutCurrent = null;
    },
    garble() {
      mustGarble = true;
    },
    lose() {
      mustLose = true;
    },
    heal() {
      mustGarble = false;
      mustLose = false;
      Object.assign(network, { isUp: true, bandwidth: 1000, latencyMs: 5 });
      network.cut();
    },
  };
  return network;
}
