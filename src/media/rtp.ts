import { createHash } from "node:crypto";

/** Audio per packet, ms. @source RFC 3551 §4.2 (default packetization) */
export const PACKET_MS = 20;

/** Payload bytes per packet, which is also the step of the RTP timestamp: G.711 and G.722 share both. @source RFC 3551 §4.5.2 */
export const PACKET_BYTES = 160;

/** Static payload type of G.711 µ-law. @source RFC 3551 table 4 */
export const PAYLOAD_TYPE_PCMU = 0;

const HEADER_BYTES = 12;

/** The fields that differ between packets of one stream. */
export interface RtpHeader {
  payloadType: number;
  /** True on the first packet of a talk-burst. */
  marker: boolean;
  /** Taken modulo 2^16. */
  sequence: number;
  /** Taken modulo 2^32, in units of 1/8000 s. */
  timestamp: number;
  ssrc: number;
}

/**
 * Encodes one datagram in a new buffer: sending is asynchronous, so a reused one would be overwritten. @source RFC 3550
 * §5.1
 */
export function encodeRtpPacket(header: RtpHeader, payload: Uint8Array): Buffer {
  const packet = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  packet[0] = 0x80;
  packet[1] = (header.marker ? 0x80 : 0) | header.payloadType;
  packet.writeUInt16BE(header.sequence % 0x10000, 2);
  packet.writeUInt32BE(header.timestamp % 0x100000000, 4);
  packet.writeUInt32BE(header.ssrc, 8);
  packet.set(payload, HEADER_BYTES);
  return packet;
}

/** Parses a packet without CSRC or extension; null for anything else. `payload` is a view. @source RFC 3550 §5.1 */
export function parseRtpPacket(datagram: Buffer): { sequence: number; ssrc: number; payload: Buffer } | null {
  if (datagram.length < HEADER_BYTES || datagram[0] !== 0x80) return null;
  const [sequence, ssrc] = [datagram.readUInt16BE(2), datagram.readUInt32BE(8)];
  return { sequence, ssrc, payload: datagram.subarray(HEADER_BYTES) };
}

/** The SSRC of a broadcast: the same after a restart, different between broadcasts. */
export function ssrcOf(notificationId: string): number {
  return createHash("sha256").update(`ssrc/${notificationId}`).digest().readUInt32BE(0);
}

/**
 * Sequence number and timestamp of a stream's packet 0. Derived from the SSRC instead of random, so that a new process
 * resumes a stream as after packet loss without stored state; as hard to guess as RFC 3550 §5.1 asks for.
 */
export function initialRtpState(ssrc: number): { sequence: number; timestamp: number } {
  const digest = createHash("sha256").update(`origin/${ssrc}`).digest();
  return { sequence: digest.readUInt16BE(0), timestamp: digest.readUInt32BE(2) };
}
