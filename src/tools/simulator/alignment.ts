import { type ExpectedAudio, FRAME_BYTES } from "./expected-audio.ts";
import type { StreamRecord } from "./stream-record.ts";

/** Alignment of a stream with the expected audio, and the packets that differ from it. */
export interface StreamAlignment {
  /** Frame of the expected audio that slot 0 carries. */
  offset: number;
  /**
   * When frame 0 was due, ms of the simulator's clock: computed from the packet with the least delay, since a busy simulator may
   * delay all others.
   */
  beganAt: number;
  /** `wrongBefore[n]`: received slots below n whose bytes differ; has one entry more than there are slots. */
  wrongBefore: Int32Array;
}

const FRAME_MS = 20;
const MISSING_FRAME = -1;
const UNKNOWN_FRAME = -2;

/**
 * Aligns a stream with the repeated expected audio at the offset with the fewest differences. A stream that starts with the
 * marker of a talk burst starts with frame 0.
 */
export function alignStream(stream: StreamRecord, programme: ExpectedAudio): StreamAlignment {
  const numbers = new Map<string, number>();
  const wanted = numberFrames(programme.payload, programme.frames, (key) => {
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  });
  const heard = numberFrames(stream.payload, stream.slots, (key) => numbers.get(key) ?? UNKNOWN_FRAME);
  for (let slot = 0; slot < stream.slots; slot++) if (Number.isNaN(stream.arrivedAt[slot])) heard[slot] = MISSING_FRAME;
  const offset = bestOffset(heard, wanted, stream.startsWithMarker);
  return { offset, beganAt: startTime(stream, offset), wrongBefore: countWrong(heard, wanted, offset) };
}

function startTime(stream: StreamRecord, offset: number): number {
  let beganAt = Number.POSITIVE_INFINITY;
  for (let slot = 0; slot < stream.slots; slot++) {
    const at = (stream.arrivedAt[slot] ?? Number.NaN) - (offset + slot) * FRAME_MS;
    if (at < beganAt) beganAt = at;
  }
  return beganAt;
}

/** Numbers equal frames equally, so that comparing two frames means comparing two integers. */
function numberFrames(payload: Uint8Array, frames: number, number: (key: string) => number): Int32Array {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  return Int32Array.from({ length: frames }, (_, frame) =>
    number(bytes.toString("latin1", frame * FRAME_BYTES, (frame + 1) * FRAME_BYTES)),
  );
}

function bestOffset(heard: Int32Array, wanted: Int32Array, fixed: boolean): number {
  let best = { offset: 0, wrong: differences(heard, wanted, 0, heard.length) };
  if (fixed) return 0;
  for (let offset = 1; offset < wanted.length && best.wrong > 0; offset++) {
    if (heard[0] !== wanted[offset]) continue;
    const wrong = differences(heard, wanted, offset, best.wrong);
    if (wrong < best.wrong) best = { offset, wrong };
  }
  return best.offset;
}

/** Number of received slots that differ; stops counting at `limit`. */
function differences(heard: Int32Array, wanted: Int32Array, offset: number, limit: number): number {
  let wrong = 0;
  for (let slot = 0; slot < heard.length && wrong < limit; slot++) {
    if (heard[slot] !== MISSING_FRAME && heard[slot] !== wanted[(offset + slot) % wanted.length]) wrong++;
  }
  return wrong;
}

function countWrong(heard: Int32Array, wanted: Int32Array, offset: number): Int32Array {
  const before = new Int32Array(heard.length + 1);
  for (let slot = 0; slot < heard.length; slot++) {
    const differs = heard[slot] !== MISSING_FRAME && heard[slot] !== wanted[(offset + slot) % wanted.length];
    before[slot + 1] = (before[slot] ?? 0) + (differs ? 1 : 0);
  }
  return before;
}
