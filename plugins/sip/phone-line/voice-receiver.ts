import type { AudioCodec } from "#plugin-api";
import { createDtmfDetector, parseMediaPacket } from "../media/dtmf.ts";

/** Codecs by payload type. @source RFC 3551 table 4 */
const CODECS = new Map<number, AudioCodec>([
  [0, "PCMU"],
  [8, "PCMA"],
  [9, "G722"],
]);
/** Comfort noise: the caller is there, but silent. @source RFC 3389 */
const COMFORT_NOISE = 13;
/** Silence of 20 ms in µ-law. */
const SILENCE = new Uint8Array(160).fill(0xff);
/** 200 ms; longer packets are no voice. */
const MAX_PAYLOAD_BYTES = 1_600;
/** Lost packets that are bridged by the one before them; of more, the rest is left out. */
const MAX_BRIDGED = 3;
const SEQUENCES = 0x1_0000;

export interface VoiceReceiver {
  /** Reads a packet; false for anything but RTP. */
  receive(packet: Buffer): boolean;
}

/** Reads a caller's packets in order: late ones are dropped, single lost ones bridged, keys reported once. */
export function createVoiceReceiver(handlers: {
  dtmfPayloadType(): number | null;
  onVoice(codec: AudioCodec, payload: Uint8Array): void;
  onKey(key: string): void;
}): VoiceReceiver {
  const handleEvent = createDtmfDetector(handlers.onKey);
  let source: number | null = null;
  let last: number | null = null;
  let before: Uint8Array | null = null;
  return {
    receive(datagram) {
      const packet = parseMediaPacket(datagram);
      if (!packet) return false;
      const { type, timestamp, ssrc, payload } = packet;
      if (type === handlers.dtmfPayloadType()) {
        handleEvent(timestamp, payload);
        return true;
      }
      const codec = CODECS.get(type);
      if (type === COMFORT_NOISE) handlers.onVoice("PCMU", SILENCE);
      if (!codec || payload.length === 0 || payload.length > MAX_PAYLOAD_BYTES)
        return codec !== undefined || type === COMFORT_NOISE;
      const sequence = datagram.readUInt16BE(2);
      const ahead = ssrc === source && last !== null ? (sequence - last + SEQUENCES) % SEQUENCES : 1;
      // Late or repeated.
      if (ahead === 0 || ahead > SEQUENCES / 2) return true;
      if (before) for (let n = 1; n < Math.min(ahead, MAX_BRIDGED + 1); n++) handlers.onVoice(codec, before);
      [source, last] = [ssrc, sequence];
      // The datagram's memory is not kept.
      before = Uint8Array.from(payload);
      handlers.onVoice(codec, before);
      return true;
    },
  };
}
