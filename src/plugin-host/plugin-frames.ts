import { deserialize, serialize } from "node:v8";
import { UpstreamError } from "../lib/errors.ts";

/** Messages between the host and a plugin's process: a length of 4 bytes, then a structured clone. */
const HEADER_BYTES = 4;
/** The longest message that is taken from a plugin's process. */
export const MAX_PLUGIN_FRAME_BYTES = 16_777_216;

/** The bytes of a message. Throws if it cannot be cloned. */
export function encodeFrame(message: unknown): Buffer {
  const body = serialize(message);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + body.length);
  frame.writeUInt32LE(body.length, 0);
  body.copy(frame, HEADER_BYTES);
  return frame;
}

/**
 * Creates a reader of a stream of frames: it takes the next bytes and calls `onFrame` for each complete message. Throws for a
 * message that is longer than `maxBytes` or is no structured clone; the stream is useless from then on.
 */
export function createFrameReader(
  maxBytes: number,
  onFrame: (message: unknown, bytes: number) => void,
): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let held = 0;
  /** Bytes of the message that is under way, with its length; null until its length is known. */
  let wanted: number | null = null;
  return (chunk) => {
    parts.push(chunk);
    held += chunk.length;
    if (held < (wanted ?? HEADER_BYTES)) return;
    let rest = parts.length === 1 ? chunk : Buffer.concat(parts, held);
    for (;;) {
      wanted = rest.length < HEADER_BYTES ? null : HEADER_BYTES + rest.readUInt32LE(0);
      if (wanted !== null && wanted > HEADER_BYTES + maxBytes) throw new UpstreamError("upstream", "too long");
      if (wanted === null || rest.length < wanted) break;
      const body = rest.subarray(HEADER_BYTES, wanted);
      rest = rest.subarray(wanted);
      onFrame(deserialize(body), body.length);
    }
    parts = rest.length === 0 ? [] : [rest];
    held = rest.length;
  };
}
