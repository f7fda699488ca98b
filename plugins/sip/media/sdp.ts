import { isIPv4 } from "node:net";
import type { AudioCodec } from "#plugin-api";
import { formatCryptoLine, type NegotiatedSrtp, negotiateSrtp, type SrtpOffer } from "./srtp-negotiation.ts";

/** Where the other side of a call listens, and what it takes. */
export interface RemoteMedia {
  address: string;
  port: number;
  codec: AudioCodec;
  /** Payload type by which it tells pressed keys; null where it doesn't. @source RFC 4733 */
  dtmfPayloadType: number | null;
  /** Null where nothing is encrypted. */
  secrecy: NegotiatedSrtp | null;
}

/** What was read, or in words why no sound can be sent. */
export type SdpAnswerResult = { media: RemoteMedia; fault?: never } | { fault: string; media?: never };

/** What is offered. */
export interface SdpOffer {
  address: string;
  port: number;
  /** Names the session. */
  id: number;
  /** The best first. */
  codecs: readonly AudioCodec[];
  secrecy: SrtpOffer | null;
}

/** Payload types that need no agreement; the RTP clock of G.722 is 8000, as it always was. @source RFC 3551 table 4, §4.5.2 */
const PAYLOAD_TYPES: Readonly<Record<AudioCodec, number>> = { PCMU: 0, PCMA: 8, G722: 9 };
/** Payload type that is offered for pressed keys. own choice */
const DTMF_PAYLOAD_TYPE = 101;
const MAX_LINES = 400;

/**
 * Describes what is offered: sound in both directions, and pressed keys. Some devices play nothing that is offered as
 * `sendonly`. @source RFC 4566, RFC 3264
 */
export function formatSdpOffer(offer: SdpOffer): string {
  const { secrecy } = offer;
  const lines = secrecy?.masterKeys.map((master, at) => formatCryptoLine(at + 1, master)) ?? [];
  return formatDescription(offer, secrecy?.isRequired ? SECURE : PLAIN, lines);
}

/** Describes the same in answer to what the other side wants to change: with the secret that it has chosen, if it has. */
export function formatSdpAnswer(offer: SdpOffer, theirs: string): string {
  const { profile, section } = audioSection(theirs);
  const chosen = offer.secrecy && negotiateSrtp(section, offer.secrecy);
  return formatDescription(offer, chosen ? profile : PLAIN, chosen ? [formatCryptoLine(chosen.tag, chosen.own)] : []);
}

const PLAIN = "RTP/AVP";
const SECURE = "RTP/SAVP";

function formatDescription({ address, port, id, codecs }: SdpOffer, profile: string, lines: readonly string[]): string {
  return [
    "v=0",
    `o=carillon ${id} 1 IN IP4 ${address}`,
    "s=Carillon",
    `c=IN IP4 ${address}`,
    "t=0 0",
    `m=audio ${port} ${profile} ${codecs.map((codec) => PAYLOAD_TYPES[codec]).join(" ")} ${DTMF_PAYLOAD_TYPE}`,
    ...codecs.map((codec) => `a=rtpmap:${PAYLOAD_TYPES[codec]} ${codec}/8000`),
    `a=rtpmap:${DTMF_PAYLOAD_TYPE} telephone-event/8000`,
    `a=fmtp:${DTMF_PAYLOAD_TYPE} 0-15`,
    "a=ptime:20",
    ...lines,
    "a=sendrecv",
    "",
  ].join("\r\n");
}

/** The part of a description that is about sound, and what stands before it. */
function audioSection(description: string): {
  port: string;
  profile: string;
  formats: string[];
  before: string[];
  section: string[];
} {
  const lines = description.split(/\r?\n/, MAX_LINES);
  const at = lines.findIndex((line) => line.startsWith("m=audio "));
  const [, port = "", profile = "", ...formats] = (lines[at] ?? "").slice(2).trim().split(" ");
  const rest = at < 0 ? [] : lines.slice(at + 1);
  const end = rest.findIndex((line) => line.startsWith("m="));
  return {
    ...{ port: at < 0 ? "0" : port, profile, formats },
    ...{ before: lines.slice(0, Math.max(0, at)), section: end < 0 ? rest : rest.slice(0, end) },
  };
}

/** Reads what the other side takes of the offer: its first choice counts. `own` is what of ours it was told to encrypt with. */
export function parseSdpAnswer(
  description: string,
  offered: readonly AudioCodec[],
  own: SrtpOffer | null = null,
): SdpAnswerResult {
  const { port, profile, formats, before, section } = audioSection(description);
  if (Number(port) === 0) return { fault: "it takes no sound" };
  const codec = formats.flatMap((format) => offered.find((each) => String(PAYLOAD_TYPES[each]) === format) ?? [])[0];
  const secrecy = own && negotiateSrtp(section, own);
  if (![PLAIN, SECURE].includes(profile) || codec === undefined) return { fault: "it takes none of the codecs" };
  if (!secrecy && (own?.isRequired || profile === SECURE))
    return { fault: "it does not agree on encrypted sound (SRTP)" };
  const address = connectionAddress(section) ?? connectionAddress(before);
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (address === null || !isHost(address) || number < 1 || number > 65_535)
    return { fault: "the address where it listens can't be used" };
  return { media: { address, port: number, codec, dtmfPayloadType: dtmfPayloadTypeIn(section, formats), secrecy } };
}

/** True where a description changes nothing of what is sent where. */
export function isSameMedia(one: RemoteMedia | null, other: RemoteMedia): boolean {
  return (
    one?.address === other.address &&
    one.port === other.port &&
    one.codec === other.codec &&
    one.secrecy?.own.key === other.secrecy?.own.key
  );
}

function dtmfPayloadTypeIn(section: readonly string[], formats: readonly string[]): number | null {
  const [, type] = section.flatMap((line) => /^a=rtpmap:(\d{1,3}) telephone-event\/8000/i.exec(line) ?? []);
  return type !== undefined && formats.includes(type) ? Number(type) : null;
}

function connectionAddress(lines: readonly string[]): string | null {
  const line = lines.find((each) => each.startsWith("c=IN IP4 "));
  return line ? (line.slice("c=IN IP4 ".length).split("/", 1)[0] ?? "").trim() : null;
}

/** A single machine: neither nobody nor a group. */
function isHost(address: string): boolean {
  const first = Number(address.split(".", 1)[0]);
  return isIPv4(address) && first > 0 && first < 224;
}
