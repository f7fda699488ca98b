import { randomBytes } from "node:crypto";
import {
  createSrtcpDecryptor,
  createSrtpDecryptor,
  isSrtpKey,
  SRTP_MASTER_KEY_BYTES,
  SRTP_SUITES,
  type SrtpMasterKey,
} from "#plugin-api";
import { sentence } from "../sentences.ts";
import { type Hop, SipError } from "../user-agent/hop.ts";

/** SRTP policy: off, if the remote side supports it, or required. */
export type SrtpPolicy = "off" | "offer" | "require";

/** Our offer: a master key per suite, the stronger suite first. */
export interface SrtpOffer {
  isRequired: boolean;
  masterKeys: readonly SrtpMasterKey[];
}

/** Negotiated keys of both sides. */
export interface NegotiatedSrtp {
  /** Tag of the chosen crypto line. */
  tag: string;
  own: SrtpMasterKey;
  theirs: SrtpMasterKey;
}

/**
 * Creates master keys for a call; null without encryption. Throws SipError if encryption is required but the
 * signalling, which carries the keys, is not encrypted.
 */
export function createSrtpOffer(choice: SrtpPolicy, { protocol }: Pick<Hop, "protocol">): SrtpOffer | null {
  if (choice === "require" && protocol !== "tls") throw new SipError(sentence("srtp-needs-tls"));
  if (choice === "off" || protocol !== "tls") return null;
  return renewSrtpOffer({ isRequired: choice === "require" });
}

/** The same offer with new master keys. */
export function renewSrtpOffer({ isRequired }: Pick<SrtpOffer, "isRequired">): SrtpOffer {
  const randomKey = (): string => randomBytes(SRTP_MASTER_KEY_BYTES).toString("base64");
  return { isRequired, masterKeys: SRTP_SUITES.map((suite) => ({ suite, key: randomKey() })) };
}

/** Formats a crypto attribute. @source RFC 4568 §9.1 */
export function formatCryptoLine(tag: number | string, { suite, key }: SrtpMasterKey): string {
  return `a=crypto:${tag} ${suite} inline:${key}`;
}

const LINE = /^a=crypto:(\d{1,9}) (\S{1,64}) inline:([A-Za-z0-9+/]{40})(?:\|(?:2\^)?\d{1,15})?[ \t]{0,8}$/;

/** Selects the first usable crypto line of the remote side: without MKI and session parameters. */
export function negotiateSrtp(lines: readonly string[], { masterKeys }: SrtpOffer): NegotiatedSrtp | null {
  for (const line of lines) {
    const [, tag = "", suite, key = ""] = LINE.exec(line) ?? [];
    const own = masterKeys.find((each) => each.suite === suite);
    if (own && isSrtpKey(key)) return { tag, own, theirs: { suite: own.suite, key } };
  }
  return null;
}

/** Decrypts packets of a call; both return null for invalid packets. */
export interface MediaDecryptor {
  decryptRtp(packet: Buffer): Buffer | null;
  decryptRtcp(packet: Buffer): Buffer | null;
}

/** Creates the decryptor; without SRTP packets pass unchanged. */
export function createMediaDecryptor(secrecy: NegotiatedSrtp | null): MediaDecryptor {
  if (!secrecy) return { decryptRtp: (packet) => packet, decryptRtcp: (packet) => packet };
  return { decryptRtp: createSrtpDecryptor(secrecy.theirs), decryptRtcp: createSrtcpDecryptor(secrecy.theirs) };
}
