import type { Clock, Timer } from "../lib/clock.ts";
import { decodeMuLaw } from "../media/mu-law.ts";
import { PACKET_BYTES, PACKET_MS } from "../media/rtp.ts";
import type { AudioOutput } from "./audio-output.ts";

/** What became of a message that was played. */
export interface PlaybackReport {
  played: number;
  /** Packets that did not come in time. */
  missing: number;
}

/** One stream while it sounds. */
export interface Playback {
  push(packet: { sequence: number; payload: Uint8Array }): void;
  /** Packets have come. */
  hasReceivedPackets(): boolean;
  /** Silent at once. */
  stop(): void;
}

/** What playing needs; times are of the monotonic clock. */
export interface PlaybackDeps {
  clock: Clock;
  output: AudioOutput;
  /** 0 to 100. */
  volume: number;
  /** Held back so long after the first packet. */
  bufferMs: number;
  /** The first packet sounds, or would by now. */
  onStarted(monotonicMs: number): void;
  /** The stream is over: nothing came for two seconds. Not called after `stop`. */
  onEnded(report: PlaybackReport): void;
}

/** The stream is over when nothing came for so long. own choice */
const END_OF_STREAM_MS = 2_000;

/**
 * Plays packets in their order, at the times that the earliest of them sets: a packet that was delayed does not delay the
 * others, what is missing is silence.
 */
export function createPlayback(needs: PlaybackDeps): Playback {
  const { clock, output } = needs;
  const frames = new Map<number, Int16Array>();
  const gain = (needs.volume / 100) ** 2;
  let first: number | null = null;
  /** When packet `first` was due at the earliest. */
  let firstDueAt = 0;
  let next = 0;
  let lastAt = 0;
  let missing = 0;
  /** Of what is missing, what nothing follows. */
  let trailingSilentPackets = 0;
  let hasStarted = false;
  let timer: Timer | null = null;
  let over = false;

  const end = (): void => {
    over = true;
    timer?.cancel();
  };
  const tick = (): void => {
    const now = clock.monotonicMs();
    while (!over && now >= dueAt(next)) playNext();
    if (over) return;
    if (now - lastAt > END_OF_STREAM_MS) {
      end();
      needs.onEnded({ played: next - trailingSilentPackets, missing: missing - trailingSilentPackets });
    } else scheduleTick(Math.max(1, dueAt(next) - now));
  };
  // What came while the process stood still is taken in before it is missed.
  const scheduleTick = (ms: number): void => {
    timer = clock.after(ms, () => clock.defer(tick));
  };
  const dueAt = (index: number): number => firstDueAt + needs.bufferMs + index * PACKET_MS;
  const playNext = (): void => {
    const frame = frames.get(next);
    frames.delete(next);
    if (!hasStarted) needs.onStarted(Math.max(clock.monotonicMs(), dueAt(next)));
    hasStarted = true;
    output.write(frame ?? new Int16Array(PACKET_BYTES));
    if (!frame) missing++;
    trailingSilentPackets = frame ? 0 : trailingSilentPackets + 1;
    next++;
  };
  return {
    push({ sequence, payload }) {
      if (over || payload.length !== PACKET_BYTES) return;
      const now = clock.monotonicMs();
      lastAt = now;
      first ??= sequence;
      // The distance by which a 16-bit number lies ahead. @source RFC 3550 A.1
      const index = next + ((((sequence - first - next) & 0xffff) << 16) >> 16);
      if (index < next) return;
      const due = now - index * PACKET_MS;
      if (timer === null) {
        firstDueAt = due;
        frames.set(index, applyGain(decodeMuLaw(payload), gain));
        scheduleTick(needs.bufferMs);
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
