import { type ExpectedAudio, FRAME_BYTES } from "./expected-audio.ts";
import type { StreamRecord } from "./stream-record.ts";

/** Where in the programme a stream begins, and which of its packets differ from the programme. */
export interface StreamAlignment {
  /** The programme frame that slot 0 carries. */
  offset: number;
  /**
   * When frame 0 was due, ms of the campus's clock: reckoned back from the packet that was the least delayed, since all
   * others may have waited for a busy campus.
   */
  beganAt: number;
  /** `wrongBefore[n]` counts the received slots below n whose bytes differ; one entry more than slots. */
  wrongBefore: Int32Array;
}

const FRAME_MS = 20;
const MISSING_FRAME = -1;
const UNKNOWN_FRAME = -2;

/**
 * Lays a stream beside the repeated programme at the offset with the fewest differences (0 when it fits).
 * A stream that began with a talk-burst's marker begins with frame 0, whatever else it resembles.
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

/** Gives equal frames equal numbers, so that comparing two frames is comparing two integers. */
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

/** How many received slots differ, counting no further than `limit`. */
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
