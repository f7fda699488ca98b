/** Ends of alerts, with any prefix. */
const END = /<\/(?:[\w.-]+:)?alert\s*>/;
const START = /<(?:[\w.-]+:)?alert[\s>]/g;
/** The longest end that may be cut off by a chunk. */
const LONGEST_END = 64;

/** Documents of a stream, and how many bytes belonged to none. */
export interface StreamFrames {
  documents: Uint8Array[];
  skippedBytes: number;
}

/**
 * Splits a stream into alerts, which follow one another without any frame. Bytes before an alert's beginning, such as the rest of
 * one that was cut off, are skipped. Each byte is searched once, however the network splits the stream.
 */
export function createStreamFramer(maxBytes: number) {
  // One character per byte, whatever the encoding; all marks are ASCII.
  let parts: string[] = [];
  let length = 0;
  let tail = "";
  return {
    /** Throws RangeError if an alert is longer than the limit. */
    push(chunk: Uint8Array): StreamFrames {
      const frames: StreamFrames = { documents: [], skippedBytes: 0 };
      let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1");
      for (;;) {
        const found = END.exec(tail + rest);
        if (!found) break;
        // The end may have begun in the chunk before.
        const at = found.index + found[0].length - tail.length;
        const document = parts.join("") + rest.slice(0, at);
        rest = rest.slice(at);
        reset();
        const from = beginningOf(document);
        frames.skippedBytes += from;
        if (from < document.length) frames.documents.push(Buffer.from(document.slice(from), "latin1"));
      }
      parts.push(rest);
      length += rest.length;
      tail = (tail + rest).slice(-LONGEST_END);
      if (length > maxBytes) {
        reset();
        throw new RangeError(`an alert of the stream is longer than ${maxBytes} bytes`);
      }
      return frames;
    },
  };

  function reset(): void {
    parts = [];
    length = 0;
    tail = "";
  }
}

/** Where the document's declaration or last alert begins; its length if none begins. */
function beginningOf(document: string): number {
  const starts = [...document.matchAll(START)];
  const start = starts.at(-1)?.index;
  if (start === undefined) return document.length;
  const declaration = document.lastIndexOf("<?xml", start);
  // Only blanks and comments stand between a declaration and its alert.
  return declaration >= 0 && /^<\?xml[^>]*\?>(?:\s|<!--[\s\S]*?-->)*$/.test(document.slice(declaration, start))
    ? declaration
    : start;
}
