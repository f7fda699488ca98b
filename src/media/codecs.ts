import { decodeALaw, encodeALaw } from "./a-law.ts";
import { createG722Encoder, createG722VoiceDecoder, G722_SILENCE } from "./g722.ts";
import { decodeMuLaw, encodeMuLaw } from "./mu-law.ts";
import { PAYLOAD_TYPE_PCMU } from "./rtp.ts";
import { SAMPLE_RATE_HZ, WIDEBAND_RATE_HZ } from "./samples.ts";

/**
 * Codec on the wire: G.711 µ-law, G.711 A-law or G.722. Each sends 160 bytes every 20 ms with an RTP clock of 8,000.
 */
export type Codec = "PCMU" | "PCMA" | "G722";

export interface CodecDefinition {
  /** @source RFC 3551 table 4 */
  payloadType: number;
  /** Input samples per second; the output is 8,000 bytes per second. */
  rateHz: number;
  /** A byte that decodes to silence when repeated. */
  silenceByte: number;
  /** Creates an encoder for one stream: consecutive pieces of 16-bit samples. */
  createEncoder(): (pcm: Int16Array) => Uint8Array;
  /** Creates a decoder for one stream of a voice: 16-bit samples of 8 kHz, one for each byte. */
  createVoiceDecoder(): (codes: Uint8Array) => Int16Array;
}

/** The supported codecs. */
export const CODECS: Readonly<Record<Codec, CodecDefinition>> = {
  PCMU: {
    payloadType: PAYLOAD_TYPE_PCMU,
    rateHz: SAMPLE_RATE_HZ,
    silenceByte: 0xff,
    createEncoder: () => (pcm) => encodeMuLaw(pcm),
    createVoiceDecoder: () => decodeMuLaw,
  },
  PCMA: {
    payloadType: 8,
    rateHz: SAMPLE_RATE_HZ,
    silenceByte: 0xd5,
    createEncoder: () => (pcm) => encodeALaw(pcm),
    createVoiceDecoder: () => decodeALaw,
  },
  G722: {
    payloadType: 9,
    rateHz: WIDEBAND_RATE_HZ,
    silenceByte: G722_SILENCE,
    createEncoder() {
      const encoder = createG722Encoder();
      return (pcm) => encoder.encode(pcm);
    },
    createVoiceDecoder: createG722VoiceDecoder,
  },
};

/** True for the name of a supported codec. */
export function isCodec(word: unknown): word is Codec {
  return typeof word === "string" && Object.hasOwn(CODECS, word);
}
