/** Telephone keys by event code. @source RFC 4733 table 3 */
const DTMF_KEYS = "0123456789*#";
const EVENT_BYTES = 4;
const MIN_HEADER_BYTES = 12;

/** Parses an RTP packet; null if invalid. @source RFC 3550 §5.1 */
export function parseMediaPacket(
  packet: Buffer,
): { type: number; timestamp: number; ssrc: number; payload: Buffer } | null {
  if (packet.length < MIN_HEADER_BYTES || packet.readUInt8(0) >> 6 !== 2) return null;
  const head = packet.readUInt8(0);
  let at = MIN_HEADER_BYTES + (head & 15) * 4;
  if (head & 16) {
    if (packet.length < at + 4) return null;
    at += 4 + packet.readUInt16BE(at + 2) * 4;
  }
  const end = packet.length - (head & 32 ? packet.readUInt8(packet.length - 1) : 0);
  if (at > end) return null;
  return {
    type: packet.readUInt8(1) & 0x7f,
    timestamp: packet.readUInt32BE(4),
    ssrc: packet.readUInt32BE(8),
    payload: packet.subarray(at, end),
  };
}

/**
 * Detects keys from telephone events. A key is reported at its first packet: each event is repeated with the same
 * timestamp, and its end three more times, of which any may be lost.
 * @source RFC 4733 §2.5
 */
export function createDtmfDetector(onKey: (key: string) => void): (timestamp: number, payload: Buffer) => void {
  let last: number | null = null;
  return (timestamp, payload) => {
    const key = payload.length >= EVENT_BYTES ? DTMF_KEYS[payload.readUInt8(0)] : undefined;
    if (key === undefined || timestamp === last) return;
    last = timestamp;
    onKey(key);
  };
}

/** Key of a SIP INFO; null if it has none. Supports both common content types. */
export function dtmfKeyOfInfo(contentType: string, body: string): string | null {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase();
  const signal =
    type === "application/dtmf-relay"
      ? /^\s*Signal\s*=\s*(\S{1,2})/im.exec(body)?.[1]
      : type === "application/dtmf"
        ? body.trim()
        : undefined;
  const key = signal === "10" ? "*" : signal === "11" ? "#" : signal;
  return key !== undefined && key.length === 1 && DTMF_KEYS.includes(key) ? key : null;
}
