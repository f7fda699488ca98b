import { isIPv4 } from "node:net";
import type { AudioCodec } from "#plugin-api";
import { sentence } from "../sentences.ts";
import {
  formatCryptoLine,
  type NegotiatedSrtp,
  negotiateSrtp,
  renewSrtpOffer,
  type SrtpOffer,
} from "./srtp-negotiation.ts";

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

/**
 * The remote media, or an error message. A remote side that holds the call gets no media for now; `media` is then absent
 * if it named no address either.
 */
export type SdpAnswerResult =
  | { media: RemoteMedia; isHeld: boolean; error?: never }
  | { media?: never; isHeld: true; error?: never }
  | { error: string; media?: never; isHeld?: never };

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

/** Directions of a stream, as seen by the side that writes the description. @source RFC 3264 §5.1 */
type Direction = "sendrecv" | "sendonly" | "recvonly" | "inactive";

/** A media section of a description. */
interface SdpSection {
  media: string;
  port: string;
  profile: string;
  formats: string[];
  lines: string[];
}

/** What this side describes. */
interface LocalDescription {
  profile: string;
  direction: Direction;
  /** Crypto lines. */
  keys: readonly string[];
  /** False while the audio stream is disabled. */
  isEnabled: boolean;
  codecs: readonly AudioCodec[];
  /** Payload type of telephone events; null without them. */
  dtmfPayloadType: number | null;
  /** The media lines: ours in its place, the others refused. */
  media: readonly (SdpSection | "ours")[];
}

/** The session of one call: numbers its descriptions, and keeps the place of audio among the media lines. */
export interface SdpSession {
  /** Formats the offer, also once more within the call. */
  offer(): string;
  /** Formats the answer to an offer of the other side; null if its audio is not acceptable. */
  answer(remoteOffer: string): string | null;
  /** Parses the first answer, or what the remote side offered or answered since. */
  parse(description: string): SdpAnswerResult;
}

/**
 * Creates the session of a call. Its offers contain audio in both directions and telephone events: some devices play
 * nothing that is offered as `sendonly`.
 * @source RFC 4566, RFC 3264
 */
export function createSdpSession(offer: SdpOffer): SdpSession {
  let { secrecy } = offer;
  let version = 0;
  let last = "";
  let isEstablished = false;
  let hasSent = false;
  /** Where the stream goes; null while the call is held. */
  let current: RemoteMedia | null = null;
  /** A stream that starts again counts its packets from the beginning, which must not be repeated with the same key. */
  const renewKeys = (next: RemoteMedia | null): void => {
    if (secrecy && hasSent && !(current && next && isSameAddress(current, next))) secrecy = renewSrtpOffer(secrecy);
  };
  let media: LocalDescription["media"] = ["ours"];
  const format = (description: LocalDescription): string => {
    ({ media } = description);
    const text = formatDescription(offer, description);
    // The version counts changes. @source RFC 3264 §8
    if (text !== last) version++;
    last = text;
    return text.replace(VERSION, String(version));
  };
  return {
    offer() {
      if (!current) renewKeys(null);
      return format({
        profile: secrecy?.isRequired ? SECURE : PLAIN,
        direction: "sendrecv",
        keys: secrecy?.masterKeys.map((master, at) => formatCryptoLine(at + 1, master)) ?? [],
        isEnabled: true,
        codecs: offer.codecs,
        dtmfPayloadType: DTMF_PAYLOAD_TYPE,
        media,
      });
    },
    parse(description) {
      const parse = isEstablished ? parseSdpReoffer : parseSdpAnswer;
      const result = parse(description, offer.codecs, secrecy);
      if (result.error !== undefined) return result;
      isEstablished = true;
      current = result.isHeld ? null : result.media;
      hasSent ||= current !== null;
      return result;
    },
    answer(remoteOffer) {
      const remote = parseSections(remoteOffer);
      const result = parseSdpReoffer(remoteOffer, offer.codecs, secrecy);
      if (result.error !== undefined) return null;
      if (result.media && !result.isHeld) renewKeys(result.media);
      const at = chooseAudio(remote, secrecy);
      const section = remote.sections[at];
      if (!section) return null;
      const chosen = secrecy && negotiateSrtp(section.lines, secrecy);
      // A call that begins with an offer of the other side.
      isEstablished = true;
      const codecs = codecsOf(section, offer.codecs);
      return format({
        // A disabled stream needs formats too.
        codecs: codecs.length > 0 ? codecs : offer.codecs,
        dtmfPayloadType: dtmfPayloadTypeIn(section.lines, section.formats),
        profile: section.profile,
        direction: answerDirection(remote, section),
        keys: chosen ? [formatCryptoLine(chosen.tag, chosen.own)] : [],
        isEnabled: portOf(section) !== 0,
        media: remote.sections.map((each, index) => (index === at ? "ours" : each)),
      });
    },
  };
}

const PLAIN = "RTP/AVP";
const SECURE = "RTP/SAVP";
/** With and without feedback; the streamer sends the same either way. @source RFC 4585 §4, RFC 5124 */
const PLAIN_PROFILES = [PLAIN, "RTP/AVPF"];
const SECURE_PROFILES = [SECURE, "RTP/SAVPF"];
/** Place of the version while descriptions are compared. */
const VERSION = "\0";

function formatDescription({ address, port, id }: SdpOffer, description: LocalDescription): string {
  const { profile, direction, keys, isEnabled, codecs, dtmfPayloadType, media } = description;
  const types = [
    ...codecs.map((codec) => PAYLOAD_TYPES[codec]),
    ...(dtmfPayloadType === null ? [] : [dtmfPayloadType]),
  ];
  const events = [`a=rtpmap:${dtmfPayloadType} telephone-event/8000`, `a=fmtp:${dtmfPayloadType} 0-15`];
  const audio = [
    `m=audio ${isEnabled ? port : 0} ${profile} ${types.join(" ")}`,
    ...codecs.map((codec) => `a=rtpmap:${PAYLOAD_TYPES[codec]} ${codec}/8000`),
    ...(dtmfPayloadType === null ? [] : events),
    "a=ptime:20",
    ...keys,
    `a=${direction}`,
  ];
  return [
    "v=0",
    `o=carillon ${id} ${VERSION} IN IP4 ${address}`,
    "s=Carillon",
    `c=IN IP4 ${address}`,
    "t=0 0",
    // Every media line of the other side keeps its place. @source RFC 3264 §6
    ...media.flatMap((section) => (section === "ours" ? audio : refusedMedia(section))),
    "",
  ].join("\r\n");
}

function refusedMedia({ media, profile, formats }: SdpSection): string[] {
  return [`m=${media} 0 ${profile} ${formats.join(" ") || "0"}`];
}

/** A description in sections. */
interface SdpSections {
  /** Lines before the first media line. */
  session: string[];
  sections: SdpSection[];
}

/** Media lines that are answered; no device offers more. */
const MAX_SECTIONS = 16;
const MAX_FORMATS = 40;

function parseSections(description: string): SdpSections {
  const session: string[] = [];
  const sections: SdpSection[] = [];
  for (const line of description.split(/\r?\n/, MAX_LINES)) {
    if (line.startsWith("m=")) {
      const [media = "", port = "", profile = "", ...formats] = line.slice(2).trim().split(/ +/, MAX_FORMATS);
      sections.push({ media, port, profile, formats, lines: [] });
    } else (sections.at(-1)?.lines ?? session).push(line);
  }
  return { session, sections: sections.slice(0, MAX_SECTIONS) };
}

/** Index of the audio to use: devices offer it with and without encryption side by side. -1 without any. */
function chooseAudio({ sections }: SdpSections, own: SrtpOffer | null): number {
  const isAudio = ({ media }: SdpSection): boolean => media === "audio";
  const isUsable = (section: SdpSection, profiles: readonly string[]): boolean =>
    isAudio(section) && portOf(section) !== 0 && profiles.includes(section.profile);
  const preferred = own === null ? [PLAIN_PROFILES] : [SECURE_PROFILES, PLAIN_PROFILES];
  for (const profiles of preferred) {
    const at = sections.findIndex((section) => isUsable(section, profiles));
    if (at >= 0) return at;
  }
  return sections.findIndex(isAudio);
}

/** Port of a media line, of which the first counts; null if invalid. */
function portOf({ port }: Pick<SdpSection, "port">): number | null {
  const [, first] = /^(\d{1,5})(?:\/\d{1,5})?$/.exec(port) ?? [];
  return first === undefined || Number(first) > 65_535 ? null : Number(first);
}

/** Direction of the other side, of the media line or else of the session. @source RFC 4566 §6 */
function directionOf({ session }: SdpSections, { lines }: SdpSection): Direction {
  const find = (among: readonly string[]): Direction | undefined =>
    among.flatMap(
      (line) => (/^a=(sendrecv|sendonly|recvonly|inactive)\s*$/.exec(line)?.[1] as Direction | undefined) ?? [],
    )[0];
  return find(lines) ?? find(session) ?? "sendrecv";
}

/** An address of zeros holds the call, as devices did before RFC 3264. @source RFC 3264 §8.4 */
function isWithoutAddress(remote: SdpSections, section: SdpSection): boolean {
  return addressOf(remote, section) === "0.0.0.0";
}

/** Direction of the answer. @source RFC 3264 §6.1 */
function answerDirection(remote: SdpSections, section: SdpSection): Direction {
  const theirs = directionOf(remote, section);
  const mayReceive = theirs === "sendrecv" || theirs === "sendonly";
  const maySend = (theirs === "sendrecv" || theirs === "recvonly") && !isWithoutAddress(remote, section);
  if (mayReceive) return maySend ? "sendrecv" : "recvonly";
  return maySend ? "sendonly" : "inactive";
}

/** Parses an answer; the remote side's first codec counts. `own` is our SRTP offer. */
export function parseSdpAnswer(
  description: string,
  offered: readonly AudioCodec[],
  own: SrtpOffer | null = null,
): SdpAnswerResult {
  const remote = parseSections(description);
  const section = remote.sections[chooseAudio(remote, own)];
  if (!section || portOf(section) === 0) return { error: sentence("audio-refused") };
  const { profile, formats, lines } = section;
  const [codec] = codecsOf(section, offered);
  const secrecy = own && negotiateSrtp(lines, own);
  const isSecure = SECURE_PROFILES.includes(profile);
  if ((!isSecure && !PLAIN_PROFILES.includes(profile)) || codec === undefined) return { error: sentence("no-codec") };
  if (!secrecy && (own?.isRequired || isSecure)) return { error: sentence("srtp-failed") };
  const [address, port] = [addressOf(remote, section), portOf(section)];
  if (address === null || !isHost(address) || port === null) return { error: sentence("media-address") };
  const direction = directionOf(remote, section);
  return {
    media: { address, port, codec, dtmfPayloadType: dtmfPayloadTypeIn(lines, formats), secrecy },
    isHeld: direction === "sendonly" || direction === "inactive",
  };
}

/** Parses a further offer or answer within the call, by which the remote side may also hold it. */
function parseSdpReoffer(
  description: string,
  offered: readonly AudioCodec[],
  own: SrtpOffer | null = null,
): SdpAnswerResult {
  const remote = parseSections(description);
  const section = remote.sections[chooseAudio(remote, own)];
  if (section && (portOf(section) === 0 || isWithoutAddress(remote, section))) return { isHeld: true };
  return parseSdpAnswer(description, offered, own);
}

/** Codecs of a media line that this side has, in its order of preference. */
function codecsOf({ formats }: SdpSection, known: readonly AudioCodec[]): AudioCodec[] {
  return formats.flatMap((format) => known.find((each) => String(PAYLOAD_TYPES[each]) === format) ?? []);
}

/** True if target, codec and key are unchanged. */
export function isSameMedia(one: RemoteMedia | null, other: RemoteMedia): boolean {
  return one !== null && isSameAddress(one, other) && one.secrecy?.own.key === other.secrecy?.own.key;
}

function isSameAddress(one: RemoteMedia, other: RemoteMedia): boolean {
  return one.address === other.address && one.port === other.port && one.codec === other.codec;
}

function dtmfPayloadTypeIn(section: readonly string[], formats: readonly string[]): number | null {
  const [, type] = section.flatMap((line) => /^a=rtpmap:(\d{1,3}) telephone-event\/8000/i.exec(line) ?? []);
  return type !== undefined && formats.includes(type) ? Number(type) : null;
}

/** Address of a media line, or else of the session; null if missing or not IPv4. */
function addressOf({ session }: SdpSections, { lines }: SdpSection): string | null {
  return connectionAddress(lines) ?? connectionAddress(session);
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
