import { encodeALaw } from "./a-law.ts";
import { createG722Encoder, G722_SILENCE } from "./g722.ts";
import { encodeMuLaw } from "./mu-law.ts";
import { PAYLOAD_TYPE_PCMU } from "./rtp.ts";
import { SAMPLE_RATE_HZ, WIDEBAND_RATE_HZ } from "./samples.ts";

/** How sound is encoded on the wire: G.711 µ-law, G.711 A-law or G.722. All send 160 bytes every 20 ms with an RTP clock of 8,000. */
export type Codec = "PCMU" | "PCMA" | "G722";

/** What is to be known of a codec. */
export interface CodecDefinition {
  /** @source RFC 3551 table 4 */
  payloadType: number;
  /** Samples per second that go in; 8,000 bytes a second come out. */
  rateHz: number;
  /** A byte that is heard as silence when nothing else comes. */
  silenceByte: number;
  /** An encoder of one stream: pieces that follow each other, as 16-bit samples. */
  createEncoder(): (pcm: Int16Array) => Uint8Array;
}

/** All codecs that the streamer can be given. */
export const CODECS: Readonly<Record<Codec, CodecDefinition>> = {
  PCMU: {
    payloadType: PAYLOAD_TYPE_PCMU,
    rateHz: SAMPLE_RATE_HZ,
    silenceByte: 0xff,
    createEncoder: () => (pcm) => encodeMuLaw(pcm),
  },
  PCMA: { payloadType: 8, rateHz: SAMPLE_RATE_HZ, silenceByte: 0xd5, createEncoder: () => (pcm) => encodeALaw(pcm) },
  G722: {
    payloadType: 9,
    rateHz: WIDEBAND_RATE_HZ,
    silenceByte: G722_SILENCE,
    createEncoder() {
      const encoder = createG722Encoder();
      return (pcm) => encoder.encode(pcm);
    },
  },
};

/** Whether a word from outside names one of them. */
export function isCodec(word: unknown): word is Codec {
  return typeof word === "string" && Object.hasOwn(CODECS, word);
}
