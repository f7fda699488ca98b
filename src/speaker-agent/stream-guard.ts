import type { Clock } from "../lib/clock.ts";
import { fullBucket, type TokenBucketRate, takeToken } from "../lib/token-bucket.ts";
import { PACKET_BYTES, PAYLOAD_TYPE_PCMU, parseRtpPacket } from "../media/rtp.ts";
import { createSrtpDecryptor, type SrtpMasterKey } from "../media/srtp.ts";
import type { ReceivedPacket } from "./rtp-receiver.ts";

/** The suite of streams to agents: its tag has 80 bits. */
export const STREAM_SUITE: SrtpMasterKey["suite"] = "AES_CM_128_HMAC_SHA1_80";

/** A stream as the appliance announces it. */
export interface AnnouncedStream {
  ssrc: number;
  /** Address that its packets come from; null if unknown. */
  source: string | null;
  /** Null from an appliance of an earlier version, which does not encrypt. */
  secrecy: SrtpMasterKey | null;
}

export type AudioPacket = NonNullable<ReturnType<typeof parseRtpPacket>>;

/** Tells the packets of one announced stream from those of others. */
export interface StreamGuard {
  /** The packet in clear; null if it is not of this stream. */
  open(packet: ReceivedPacket): AudioPacket | null;
}

const TAG_BYTES = 10;
const HEADER_BYTES = 12;
/** Sequence numbers that follow the newest packet: 30 s of audio, and some that are late. */
const EXPECTED_AHEAD = 1_500;
const EXPECTED_BEHIND = 64;
/** Failed authentications before a packet that looks right is dropped unchecked; a stream has 50 packets/s. */
const FAILURES_OF_SENDER: TokenBucketRate = { capacity: 500, perMs: 0.5 };
/** The same for packets of another address or far off in sequence, of which few are right. */
const FAILURES_OF_OTHERS: TokenBucketRate = { capacity: 100, perMs: 0.1 };

/**
 * Creates the guard of a stream. A stream that is encrypted is accepted from another address, too, once a packet from
 * there is authentic: the appliance's address may change while it sends. `decrypt` is for tests.
 * @source docs/decisions/0763-encrypted-audio-to-agents.md, Agent
 */
export function createStreamGuard(
  clock: Pick<Clock, "monotonicMs">,
  { ssrc, source, secrecy }: AnnouncedStream,
  decrypt: (packet: Buffer) => Buffer | null = secrecy === null ? (packet) => packet : createSrtpDecryptor(secrecy),
): StreamGuard {
  const expectedBytes = HEADER_BYTES + PACKET_BYTES + (secrecy === null ? 0 : TAG_BYTES);
  const ofSender = fullBucket(FAILURES_OF_SENDER, clock.monotonicMs());
  const ofOthers = fullBucket(FAILURES_OF_OTHERS, clock.monotonicMs());
  let knownSource = source;
  let newest: number | null = null;
  const isExpected = (sequence: number): boolean =>
    newest === null || ((sequence - newest + EXPECTED_BEHIND) & 0xffff) <= EXPECTED_AHEAD + EXPECTED_BEHIND;
  const authenticate = (datagram: Buffer, sender: string, sequence: number): Buffer | null => {
    const isLikely = sender === knownSource && isExpected(sequence);
    const [bucket, rate] = isLikely ? [ofSender, FAILURES_OF_SENDER] : [ofOthers, FAILURES_OF_OTHERS];
    if (takeToken(bucket, rate, clock.monotonicMs()) > 0) return null;
    const clear = decrypt(datagram);
    if (clear === null) return null;
    bucket.left += 1;
    knownSource = sender;
    if (newest === null || ((sequence - newest) & 0xffff) < 0x8000) newest = sequence;
    return clear;
  };
  return {
    open({ datagram, sender }) {
      if (datagram.length !== expectedBytes || ((datagram[1] ?? 0) & 0x7f) !== PAYLOAD_TYPE_PCMU) return null;
      const header = parseRtpPacket(datagram);
      if (header?.ssrc !== ssrc) return null;
      if (secrecy === null) return source === null || sender === source ? header : null;
      const clear = authenticate(datagram, sender, header.sequence);
      return clear === null ? null : parseRtpPacket(clear);
    },
  };
}
