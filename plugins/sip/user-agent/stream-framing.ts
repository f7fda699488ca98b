import { contentLength, headerEnd, isHeaderTooLong, parseSipMessage, type SipMessage } from "./sip-message.ts";

const LINE_END = "\r\n";

/** Extracts messages from a byte stream. @source RFC 3261 §18.3, RFC 5626 §3.5.1 */
export interface SipStreamParser {
  /** Parses the next bytes; null once the stream is invalid. */
  push(bytes: Buffer): { messages: SipMessage[]; pings: number } | null;
}

/** Creates the parser of one connection. */
export function createSipStreamParser(): SipStreamParser {
  let rest: Buffer = Buffer.alloc(0);
  let broken = false;

  /** Length of the first message; 0 while incomplete, null if invalid. */
  const nextLength = (): number | null => {
    const end = headerEnd(rest);
    if (end < 0) return isHeaderTooLong(rest.length) ? null : 0;
    const length = contentLength(rest.toString("latin1", 0, end));
    if (isHeaderTooLong(end) || length === null || Number.isNaN(length)) return null;
    return rest.length < end + length ? 0 : end + length;
  };

  return {
    push(bytes) {
      if (broken) return null;
      rest = Buffer.concat([rest, bytes]);
      const messages: SipMessage[] = [];
      let pings = 0;
      while (rest.length > 0) {
        if (rest.toString("latin1", 0, 2) === LINE_END) {
          pings += Number(rest.toString("latin1", 0, 4) === LINE_END + LINE_END);
          rest = rest.subarray(2);
          continue;
        }
        const length = nextLength();
        const message = length ? parseSipMessage(rest.subarray(0, length)) : null;
        if (length === 0) break;
        if (length === null || !message) {
          broken = true;
          return null;
        }
        messages.push(message);
        rest = rest.subarray(length);
      }
      return { messages, pings };
    },
  };
}
