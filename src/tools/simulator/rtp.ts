/** A parsed RTP packet; `payload` is a view into the datagram. */
export interface RtpPacket {
  payloadType: number;
  marker: boolean;
  sequence: number;
  timestamp: number;
  ssrc: number;
  payload: Buffer;
}

/** Payload type of G.711 µ-law, the only codec that the phones play. @source RFC 3551 §6 */
export const PCMU = 0;

/** Parses a datagram; null unless it is a complete packet of RTP version 2. @source RFC 3550 §5.1 */
export function parseRtp(datagram: Buffer): RtpPacket | null {
  const first = datagram[0];
  const second = datagram[1];
  if (first === undefined || second === undefined || datagram.length < 12 || first >> 6 !== 2) return null;
  let start = 12 + (first & 0x0f) * 4;
  if (first & 0x10) {
    if (datagram.length < start + 4) return null;
    start += 4 + datagram.readUInt16BE(start + 2) * 4;
  }
  const padding = first & 0x20 ? (datagram[datagram.length - 1] ?? 0) : 0;
  const end = datagram.length - padding;
  if (end < start) return null;
  return {
    payloadType: second & 0x7f,
    marker: (second & 0x80) !== 0,
    sequence: datagram.readUInt16BE(2),
    timestamp: datagram.readUInt32BE(4),
    ssrc: datagram.readUInt32BE(8),
    payload: datagram.subarray(start, end),
  };
}
