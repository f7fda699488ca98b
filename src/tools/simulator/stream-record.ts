import { FRAME_BYTES } from "./expected-audio.ts";
import { PCMU, type RtpPacket } from "./rtp.ts";

/** A larger forward jump means that the sender has restarted. @source RFC 3550 A.1 */
const MAX_DROPOUT = 3000;
/** A larger backward jump means that the sender has restarted. @source RFC 3550 A.1 */
const MAX_MISORDER = 100;

/**
 * Everything one sender sent to one address, stored once for all listeners. Slot n is the packet n sequence numbers after the
 * first one; a slot whose `arrivedAt` is NaN never arrived.
 */
export interface StreamRecord {
  readonly ssrc: number;
  readonly firstSequence: number;
  /** The first packet had the marker bit: it started a talk burst. */
  readonly startsWithMarker: boolean;
  slots: number;
  arrivedAt: Float64Array;
  payload: Uint8Array;
  duplicates: number;
}

/** True for G.711 µ-law in frames of 20 ms, which the phones play. */
export function isPlayable(packet: RtpPacket): boolean {
  return packet.payloadType === PCMU && packet.payload.length === FRAME_BYTES;
}

/** Creates the record of a stream whose first packet is `packet`, received at `at`. */
export function createStreamRecord(packet: RtpPacket, at: number): StreamRecord {
  const stream: StreamRecord = {
    ssrc: packet.ssrc,
    firstSequence: packet.sequence,
    startsWithMarker: packet.marker,
    slots: 0,
    arrivedAt: new Float64Array(64).fill(Number.NaN),
    payload: new Uint8Array(64 * FRAME_BYTES),
    duplicates: 0,
  };
  storePacket(stream, 0, packet, at);
  return stream;
}

/** Adds a packet of the same sender; false if the sender has restarted, so the packet belongs to a new stream. */
export function addPacket(stream: StreamRecord, packet: RtpPacket, at: number): boolean {
  const lastSequence = (stream.firstSequence + stream.slots - 1) & 0xffff;
  const ahead = ((packet.sequence - lastSequence) << 16) >> 16;
  if (ahead > MAX_DROPOUT || ahead < -MAX_MISORDER) return false;
  const slot = stream.slots - 1 + ahead;
  // A late packet from before the first one has no slot; a listener would have dropped it, too.
  if (slot < 0 || !Number.isNaN(stream.arrivedAt[slot] ?? Number.NaN)) stream.duplicates++;
  else storePacket(stream, slot, packet, at);
  return true;
}

function storePacket(stream: StreamRecord, slot: number, packet: RtpPacket, at: number): void {
  if (slot >= stream.arrivedAt.length) grow(stream, Math.max(slot + 1, stream.arrivedAt.length * 2));
  stream.arrivedAt[slot] = at;
  stream.payload.set(packet.payload, slot * FRAME_BYTES);
  stream.slots = Math.max(stream.slots, slot + 1);
}

function grow(stream: StreamRecord, slots: number): void {
  const arrivedAt = new Float64Array(slots).fill(Number.NaN);
  arrivedAt.set(stream.arrivedAt);
  const payload = new Uint8Array(slots * FRAME_BYTES);
  payload.set(stream.payload);
  stream.arrivedAt = arrivedAt;
  stream.payload = payload;
}
