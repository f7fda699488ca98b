import { randomBytes } from "node:crypto";
import {
  createSrtcpDecryptor,
  createSrtpDecryptor,
  isSrtpKey,
  SRTP_MASTER_KEY_BYTES,
  SRTP_SUITES,
  type SrtpMasterKey,
} from "#plugin-api";
import { type Hop, SipError } from "../user-agent/hop.ts";

/** Whether sound is encrypted: not at all, where the other side can, or else there is no call. */
export type SrtpPolicy = "off" | "offer" | "require";

/** What we offer: a secret of ours for each suite, the stronger first. */
export interface SrtpOffer {
  isRequired: boolean;
  masterKeys: readonly SrtpMasterKey[];
}

/** What both sides encrypt with. */
export interface NegotiatedSrtp {
  /** Names the line that was chosen. */
  tag: string;
  own: SrtpMasterKey;
  theirs: SrtpMasterKey;
}

/** New secrets for a call; null where none are told. Throws SipFault where they must be told, and anybody could read them. */
export function createSrtpOffer(choice: SrtpPolicy, { protocol }: Pick<Hop, "protocol">): SrtpOffer | null {
  if (choice === "require" && protocol !== "tls")
    throw new SipError("its sound is to be encrypted, and the way to it (TLS) is not");
  if (choice === "off" || protocol !== "tls") return null;
  const draw = (): string => randomBytes(SRTP_MASTER_KEY_BYTES).toString("base64");
  return { isRequired: choice === "require", masterKeys: SRTP_SUITES.map((suite) => ({ suite, key: draw() })) };
}

/** The line that tells a secret. @source RFC 4568 §9.1 */
export function formatCryptoLine(tag: number | string, { suite, key }: SrtpMasterKey): string {
  return `a=crypto:${tag} ${suite} inline:${key}`;
}

const LINE = /^a=crypto:(\d{1,9}) (\S{1,64}) inline:([A-Za-z0-9+/]{40})(?:\|(?:2\^)?\d{1,15})?[ \t]{0,8}$/;

/** The first of their secrets that can be used: without a key's name in each packet, and without other wishes. */
export function negotiateSrtp(lines: readonly string[], { masterKeys }: SrtpOffer): NegotiatedSrtp | null {
  for (const line of lines) {
    const [, tag = "", suite, key = ""] = LINE.exec(line) ?? [];
    const own = masterKeys.find((each) => each.suite === suite);
    if (own && isSrtpKey(key)) return { tag, own, theirs: { suite: own.suite, key } };
  }
  return null;
}

/** Reads what comes in a call; both give null for what is not to be believed. */
export interface MediaDecryptor {
  decryptRtp(packet: Buffer): Buffer | null;
  decryptRtcp(packet: Buffer): Buffer | null;
}

/** Makes it; what comes without secrecy is believed as it is. */
export function createMediaDecryptor(secrecy: NegotiatedSrtp | null): MediaDecryptor {
  if (!secrecy) return { decryptRtp: (packet) => packet, decryptRtcp: (packet) => packet };
  return { decryptRtp: createSrtpDecryptor(secrecy.theirs), decryptRtcp: createSrtcpDecryptor(secrecy.theirs) };
}
