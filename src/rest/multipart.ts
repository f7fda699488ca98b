import { CallerError } from "../base/errors.ts";
import { malformed, type PartHead, readPartHead } from "./part-head.ts";

/** One part of a multipart body; its bytes must be read (or left) before the next part is asked for. */
export interface Part extends PartHead {
  /** The content as it arrives, with back-pressure on the sender. May be read once. */
  bytes: AsyncIterable<Uint8Array>;
}

/** Reads a multipart body part by part. */
export interface MultipartReader {
  /** The next part, null after the last one. What is left of the current part is skipped. */
  next(): Promise<Part | null>;
}

const MOST_PARTS = 10_000;
const MOST_HEAD_BYTES = 16_384;
const LONGEST_BOUNDARY = 200;
const CRLF = Buffer.from("\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");

/** The boundary that a Content-Type names. Throws CallerError when there is none. @source RFC 2046 §5.1.1 */
export function boundaryOf(contentType: string): string {
  const match = /;\s*boundary=(?:"([^"]*)"|([^\s;]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2] ?? "";
  if (boundary === "" || boundary.length > LONGEST_BOUNDARY) throw malformed();
  return boundary;
}

/**
 * Starts reading `source`. Every read is bounded: a header block of 16 KiB, 10,000 parts; what precedes the first
 * boundary is skipped. Throws CallerError for a malformed body, also for one that ends before its closing boundary.
 */
export function readMultipart(source: AsyncIterable<Buffer>, boundary: string): MultipartReader {
  const bytes = createBytes(source, Buffer.from(`\r\n--${boundary}`, "latin1"));
  let parts = 0;
  let started = false;
  let ended = false;
  return {
    async next() {
      if (ended) return null;
      if (!started) await bytes.skipBody();
      else if (bytes.insideBody()) await bytes.skipBody();
      started = true;
      ended = await bytes.endsHere();
      if (ended) return null;
      parts += 1;
      if (parts > MOST_PARTS) throw new CallerError("too-large", `A body may have at most ${MOST_PARTS} parts.`);
      const head = readPartHead(await bytes.head());
      return { ...head, bytes: bytes.body() };
    },
  };
}

/** A window over the body: what has arrived and is not consumed yet. */
function createBytes(source: AsyncIterable<Buffer>, delimiter: Buffer) {
  const chunks = source[Symbol.asyncIterator]();
  // The first boundary may stand at the very begin, without the line end that precedes all others.
  let window: Buffer = CRLF;
  let inBody = true;

  const more = async (): Promise<void> => {
    const { value, done } = await chunks.next();
    if (done) throw malformed();
    window = window.length === 0 ? value : Buffer.concat([window, value]);
  };
  const take = (length: number): Buffer => {
    const taken = window.subarray(0, length);
    window = window.subarray(length);
    return taken;
  };

  async function* body(): AsyncGenerator<Uint8Array> {
    while (inBody) {
      const at = window.indexOf(delimiter);
      if (at >= 0) {
        const last = take(at);
        take(delimiter.length);
        inBody = false;
        if (last.length > 0) yield last;
        return;
      }
      const sure = window.length - delimiter.length + 1;
      if (sure > 0) yield take(sure);
      await more();
    }
  }

  return {
    body,
    insideBody: () => inBody,
    async skipBody(): Promise<void> {
      for await (const _chunk of body());
    },
    /** After a delimiter: true when it was the closing one. */
    async endsHere(): Promise<boolean> {
      while (window.length < 2) await more();
      if (window.toString("latin1", 0, 2) === "--") return true;
      const line = await until(CRLF, 256);
      if (line.trim() !== "") throw malformed();
      return false;
    },
    async head(): Promise<string> {
      inBody = true;
      if (window.length < 2) await more();
      // A part without any header has only the empty line.
      if (window.subarray(0, 2).equals(CRLF)) throw malformed();
      return until(HEAD_END, MOST_HEAD_BYTES);
    },
  };

  async function until(mark: Buffer, most: number): Promise<string> {
    for (let at = window.indexOf(mark); ; at = window.indexOf(mark)) {
      if (at > most || (at < 0 && window.length > most)) throw malformed();
      if (at >= 0) {
        const text = take(at).toString("utf8");
        take(mark.length);
        return text;
      }
      await more();
    }
  }
}
