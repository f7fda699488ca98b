import { createCipheriv, createHmac, timingSafeEqual } from "node:crypto";

/** SRTP and SRTCP crypto suites. @source RFC 4568 §6.2 */
export const SRTP_SUITES = ["AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32"] as const;

/** Master key of one direction of a call; plain values, since it crosses threads. */
export interface SrtpMasterKey {
  suite: (typeof SRTP_SUITES)[number];
  /** Key and salt, 30 bytes, base64, as exchanged in SDP. */
  key: string;
}

/** Length of key and salt together. */
export const SRTP_MASTER_KEY_BYTES = 30;

/** True for 30 bytes in base64. */
export function isSrtpKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{40}$/.test(text);
}

const KEY_BYTES = 16;
const SALT_BYTES = 14;
const AUTH_BYTES = 20;
const CIPHER = "aes-128-ctr";
/** Authentication tag of SRTCP. @source RFC 4568 §6.2.2 */
const SRTCP_TAG_BYTES = 10;
const MIN_RTP_BYTES = 12;
const RTCP_HEADER_BYTES = 8;
const INDEX_BYTES = 4;
const IS_ENCRYPTED = 0x80000000;
const SEQUENCE_COUNT = 0x10000;
const WINDOW = 64;
const MAX_SOURCES = 8;

/** Session keys of one direction, for RTP or RTCP. */
export interface SrtpSessionKeys {
  key: Buffer;
  auth: Buffer;
  salt: Buffer;
}

/**
 * Derives session keys; `first` is the label of the first key: 0 for RTP, 3 for RTCP. @source RFC 3711 §4.3.1, §4.3.2
 */
export function deriveSrtpSessionKeys({ key }: SrtpMasterKey, first: 0 | 3): SrtpSessionKeys {
  const master = Buffer.from(key, "base64");
  const derive = (label: number, bytes: number): Buffer => {
    const start = Buffer.alloc(KEY_BYTES);
    master.copy(start, 0, KEY_BYTES, SRTP_MASTER_KEY_BYTES);
    start.writeUInt8(start.readUInt8(7) ^ label, 7);
    return createCipheriv(CIPHER, master.subarray(0, KEY_BYTES), start).update(Buffer.alloc(bytes));
  };
  return { key: derive(first, KEY_BYTES), auth: derive(first + 1, AUTH_BYTES), salt: derive(first + 2, SALT_BYTES) };
}

/** Encrypts or decrypts the payload of packet `index` of a source. @source RFC 3711 §4.1.1 */
export function applySrtpKeystream(
  { key, salt }: SrtpSessionKeys,
  ssrc: number,
  index: number,
  content: Uint8Array,
): Buffer {
  const start = Buffer.alloc(KEY_BYTES);
  start.writeUInt32BE(ssrc, 4);
  start.writeUIntBE(index, 8, 6);
  for (let at = 0; at < SALT_BYTES; at++) start.writeUInt8(start.readUInt8(at) ^ salt.readUInt8(at), at);
  return createCipheriv(CIPHER, key, start).update(content);
}

function authenticationTag(auth: Buffer, bytes: number, ...signed: Uint8Array[]): Buffer {
  const hmac = createHmac("sha1", auth);
  for (const part of signed) hmac.update(part);
  return hmac.digest().subarray(0, bytes);
}

function authenticationTagBytes({ suite }: SrtpMasterKey): number {
  return suite === "AES_CM_128_HMAC_SHA1_32" ? 4 : 10;
}

function uint32Bytes(number: number): Buffer {
  const word = Buffer.alloc(INDEX_BYTES);
  word.writeUInt32BE(number);
  return word;
}

/**
 * Creates an encryptor for RTP packets with a 12-byte header; `rollover` is the rollover counter. @source RFC 3711 §3.3
 */
export function createSrtpEncryptor(master: SrtpMasterKey): (packet: Buffer, rollover: number) => Buffer {
  const keys = deriveSrtpSessionKeys(master, 0);
  const tagBytes = authenticationTagBytes(master);
  return (packet, rollover) => {
    const index = rollover * SEQUENCE_COUNT + packet.readUInt16BE(2);
    const head = packet.subarray(0, MIN_RTP_BYTES);
    const ciphertext = applySrtpKeystream(keys, packet.readUInt32BE(8), index, packet.subarray(MIN_RTP_BYTES));
    return Buffer.concat([
      head,
      ciphertext,
      authenticationTag(keys.auth, tagBytes, head, ciphertext, uint32Bytes(rollover)),
    ]);
  };
}

/** Replay protection. @source RFC 3711 §3.3.2 */
function createReplayWindow(): { highest: number; isNew(index: number): boolean; note(index: number): void } {
  const seen: number[] = [];
  const guard = {
    highest: -1,
    isNew: (index: number): boolean => index > guard.highest - WINDOW && seen[index % WINDOW] !== index,
    note(index: number): void {
      seen[index % WINDOW] = index;
      guard.highest = Math.max(guard.highest, index);
    },
  };
  return guard;
}

/** The most likely rollover counter of a sequence number. @source RFC 3711 §3.3.1 */
function estimateRolloverCounter(sequence: number, highest: number): number {
  if (highest < 0) return 0;
  const rollover = Math.floor(highest / SEQUENCE_COUNT);
  const last = highest % SEQUENCE_COUNT;
  if (last < SEQUENCE_COUNT / 2) return sequence - last > SEQUENCE_COUNT / 2 ? rollover - 1 : rollover;
  return last - SEQUENCE_COUNT / 2 > sequence ? rollover + 1 : rollover;
}

/**
 * Creates a decryptor for RTP; it returns null for a packet that is forged, replayed or malformed. @source RFC 3711
 * §3.3
 */
export function createSrtpDecryptor(master: SrtpMasterKey): (packet: Buffer) => Buffer | null {
  const keys = deriveSrtpSessionKeys(master, 0);
  const tagBytes = authenticationTagBytes(master);
  const sources = new Map<number, ReturnType<typeof createReplayWindow>>();
  return (packet) => {
    const end = packet.length - tagBytes;
    const headBytes = rtpHeaderLength(packet);
    if (headBytes === null || end < headBytes) return null;
    const [sequence, ssrc] = [packet.readUInt16BE(2), packet.readUInt32BE(8)];
    const guard = sources.get(ssrc) ?? createReplayWindow();
    const isAuthentic = (counter: number): boolean =>
      timingSafeEqual(
        authenticationTag(keys.auth, tagBytes, packet.subarray(0, end), uint32Bytes(counter)),
        packet.subarray(end),
      );
    const estimate = estimateRolloverCounter(sequence, guard.highest);
    if (estimate < 0 || !guard.isNew(estimate * SEQUENCE_COUNT + sequence)) return null;
    // If the first packets were lost, the first one that arrives may come after a rollover.
    const isFirst = guard.highest < 0 && sequence < SEQUENCE_COUNT / 2;
    const rollover = [estimate, ...(isFirst ? [estimate + 1] : [])].find(isAuthentic);
    if (rollover === undefined) return null;
    const index = rollover * SEQUENCE_COUNT + sequence;
    // Only holders of the key get here, so an attacker cannot exhaust the memory.
    if (!sources.has(ssrc) && sources.size >= MAX_SOURCES) return null;
    sources.set(ssrc, guard);
    guard.note(index);
    return Buffer.concat([
      packet.subarray(0, headBytes),
      applySrtpKeystream(keys, ssrc, index, packet.subarray(headBytes, end)),
    ]);
  };
}

/** Length of the RTP header with CSRCs and extension; null for a malformed packet. @source RFC 3550 §5.1 */
function rtpHeaderLength(packet: Buffer): number | null {
  if (packet.length < MIN_RTP_BYTES || packet.readUInt8(0) >> 6 !== 2) return null;
  const first = packet.readUInt8(0);
  const end = MIN_RTP_BYTES + (first & 15) * 4;
  if ((first & 16) === 0) return end;
  return packet.length < end + 4 ? null : end + 4 + packet.readUInt16BE(end + 2) * 4;
}

/**
 * Creates a decryptor for RTCP; it returns null for a packet that is forged, replayed or malformed. @source RFC 3711
 * §3.4
 */
export function createSrtcpDecryptor(master: SrtpMasterKey): (packet: Buffer) => Buffer | null {
  const keys = deriveSrtpSessionKeys(master, 3);
  const guard = createReplayWindow();
  return (packet) => {
    const signedEnd = packet.length - SRTCP_TAG_BYTES;
    const end = signedEnd - INDEX_BYTES;
    if (end < RTCP_HEADER_BYTES) return null;
    const expected = authenticationTag(keys.auth, SRTCP_TAG_BYTES, packet.subarray(0, signedEnd));
    if (!timingSafeEqual(expected, packet.subarray(signedEnd))) return null;
    const mark = packet.readUInt32BE(end);
    const index = mark % IS_ENCRYPTED;
    if (!guard.isNew(index)) return null;
    guard.note(index);
    const head = packet.subarray(0, RTCP_HEADER_BYTES);
    const content = packet.subarray(RTCP_HEADER_BYTES, end);
    return Buffer.concat([
      head,
      mark < IS_ENCRYPTED ? content : applySrtpKeystream(keys, packet.readUInt32BE(4), index, content),
    ]);
  };
}
