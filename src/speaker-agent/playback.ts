import type { Clock, Timer } from "../lib/clock.ts";
import { decodeMuLaw } from "../media/mu-law.ts";
import { PACKET_BYTES, PACKET_MS } from "../media/rtp.ts";
import type { AudioOutput } from "./audio-output.ts";

/** Result of a playback. */
export interface PlaybackReport {
  played: number;
  /** Lost or late packets. */
  missing: number;
}

/** Playback of one stream. */
export interface Playback {
  push(packet: { sequence: number; payload: Uint8Array }): void;
  /** True once a packet arrived. */
  hasReceivedPackets(): boolean;
  /** Stops at once. */
  stop(): void;
}

/** Times are monotonic. */
export interface PlaybackDeps {
  clock: Clock;
  output: AudioOutput;
  /** 0 to 100. */
  volume: number;
  /** Delay after the first packet. */
  bufferMs: number;
  /** The first packet plays, or is overdue. */
  onStarted(monotonicMs: number): void;
  /** The stream ended: no packet for two seconds. Not called after `stop`. */
  onEnded(report: PlaybackReport): void;
}

/** The stream ends after this time without packets. */
const END_OF_STREAM_MS = 2_000;

/**
 * Plays packets in sequence on the schedule set by the earliest arrivals: one delayed packet does not delay the others,
 * and a lost packet plays as silence.
 */
export function createPlayback(deps: PlaybackDeps): Playback {
  const { clock, output } = deps;
  const frames = new Map<number, Int16Array>();
  const gain = (deps.volume / 100) ** 2;
  let first: number | null = null;
  /** Earliest due time of packet `first`. */
  let firstDueAt = 0;
  let next = 0;
  let lastAt = 0;
  let missing = 0;
  /** Lost packets at the end, which are the end of the stream. */
  let trailingSilentPackets = 0;
  let hasStarted = false;
  let timer: Timer | null = null;
  let isOver = false;

  const end = (): void => {
    isOver = true;
    timer?.cancel();
  };
  const tick = (): void => {
    const now = clock.monotonicMs();
    while (!isOver && now >= dueAt(next)) playNext();
    if (isOver) return;
    if (now - lastAt > END_OF_STREAM_MS) {
      end();
      deps.onEnded({ played: next - trailingSilentPackets, missing: missing - trailingSilentPackets });
    } else scheduleTick(Math.max(1, dueAt(next) - now));
  };
  // Deferred, so that packets received while the process was blocked are not counted as lost.
  const scheduleTick = (ms: number): void => {
    timer = clock.after(ms, () => clock.defer(tick));
  };
  const dueAt = (index: number): number => firstDueAt + deps.bufferMs + index * PACKET_MS;
  const playNext = (): void => {
    const frame = frames.get(next);
    frames.delete(next);
    if (!hasStarted) deps.onStarted(Math.max(clock.monotonicMs(), dueAt(next)));
    hasStarted = true;
    output.write(frame ?? new Int16Array(PACKET_BYTES));
    if (!frame) missing++;
    trailingSilentPackets = frame ? 0 : trailingSilentPackets + 1;
    next++;
  };
  return {
    push({ sequence, payload }) {
      if (isOver || payload.length !== PACKET_BYTES) return;
      const now = clock.monotonicMs();
      lastAt = now;
      first ??= sequence;
      // Signed distance of a 16-bit sequence number. @source RFC 3550 A.1
      const index = next + ((((sequence - first - next) & 0xffff) << 16) >> 16);
      if (index < next) return;
      const due = now - index * PACKET_MS;
      if (timer === null) {
        firstDueAt = due;
        frames.set(index, applyGain(decodeMuLaw(payload), gain));
        scheduleTick(deps.bufferMs);
        return;
      }
      if (!hasStarted) firstDueAt = Math.min(firstDueAt, due);
      frames.set(index, applyGain(decodeMuLaw(payload), gain));
    },
    hasReceivedPackets: () => first !== null,
    stop() {
      end();
      output.abort();
    },
  };
}

function applyGain(pcm: Int16Array, gain: number): Int16Array {
  if (gain !== 1) for (let at = 0; at < pcm.length; at++) pcm[at] = Math.round((pcm[at] as number) * gain);
  return pcm;
}
