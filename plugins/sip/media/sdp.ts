import { isIPv4 } from "node:net";
import type { AudioCodec } from "#plugin-api";
import { formatCryptoLine, type NegotiatedSrtp, negotiateSrtp, type SrtpOffer } from "./srtp-negotiation.ts";

/** Media of the remote side. */
export interface RemoteMedia {
  address: string;
  port: number;
  codec: AudioCodec;
  /** Payload type of telephone events; null if not supported. @source RFC 4733 */
  dtmfPayloadType: number | null;
  /** Null without encryption. */
  secrecy: NegotiatedSrtp | null;
}

/** The remote media, or an error message. */
export type SdpAnswerResult = { media: RemoteMedia; error?: never } | { error: string; media?: never };

export interface SdpOffer {
  address: string;
  port: number;
  /** Session id. */
  id: number;
  /** In order of preference. */
  codecs: readonly AudioCodec[];
  secrecy: SrtpOffer | null;
}

/** Static payload types; the RTP clock of G.722 is 8000 for historical reasons. @source RFC 3551 table 4, §4.5.2 */
const PAYLOAD_TYPES: Readonly<Record<AudioCodec, number>> = { PCMU: 0, PCMA: 8, G722: 9 };
/** Dynamic payload type offered for telephone events. */
const DTMF_PAYLOAD_TYPE = 101;
const MAX_LINES = 400;

/**
 * Formats an offer of audio in both directions and telephone events. Some devices play nothing that is offered as
 * `sendonly`.
 * @source RFC 4566, RFC 3264
 */
export function formatSdpOffer(offer: SdpOffer): string {
  const { secrecy } = offer;
  const lines = secrecy?.masterKeys.map((master, at) => formatCryptoLine(at + 1, master)) ?? [];
  return formatDescription(offer, secrecy?.isRequired ? SECURE : PLAIN, lines);
}

/** Formats the answer to a re-offer, with the SRTP key that the remote side chose, if any. */
export function formatSdpAnswer(offer: SdpOffer, remoteOffer: string): string {
  const { profile, section } = audioSection(remoteOffer);
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

/** The audio section of a description, and the session section before it. */
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

/** Parses an answer; the remote side's first codec counts. `own` is our SRTP offer. */
export function parseSdpAnswer(
  description: string,
  offered: readonly AudioCodec[],
  own: SrtpOffer | null = null,
): SdpAnswerResult {
  const { port, profile, formats, before, section } = audioSection(description);
  if (Number(port) === 0) return { error: "the remote side refused audio" };
  const codec = formats.flatMap((format) => offered.find((each) => String(PAYLOAD_TYPES[each]) === format) ?? [])[0];
  const secrecy = own && negotiateSrtp(section, own);
  if (![PLAIN, SECURE].includes(profile) || codec === undefined) return { error: "no common codec" };
  if (!secrecy && (own?.isRequired || profile === SECURE)) return { error: "SRTP negotiation failed" };
  const address = connectionAddress(section) ?? connectionAddress(before);
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (address === null || !isHost(address) || number < 1 || number > 65_535) return { error: "invalid media address" };
  return { media: { address, port: number, codec, dtmfPayloadType: dtmfPayloadTypeIn(section, formats), secrecy } };
}

/** True if target, codec and key are unchanged. */
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

/** True for a unicast address. */
function isHost(address: string): boolean {
  const first = Number(address.split(".", 1)[0]);
  return isIPv4(address) && first > 0 && first < 224;
}
