import { isIPv4 } from "node:net";
import type { AudioCodec } from "#plugin-api";
import { chooseSecrecy, cryptoLine, type OwnSecrecy, type Secrecy } from "./secrecy.ts";

/** Where the other side of a call listens, and what it takes. */
export interface RemoteMedia {
  address: string;
  port: number;
  codec: AudioCodec;
  /** Payload type by which it tells pressed keys; null where it doesn't. @source RFC 4733 */
  keys: number | null;
  /** Null where nothing is encrypted. */
  secrecy: Secrecy | null;
}

/** What was read, or in words why no sound can be sent. */
export type MediaReading = { media: RemoteMedia; fault?: never } | { fault: string; media?: never };

/** What is offered. */
export interface Offer {
  address: string;
  port: number;
  /** Names the session. */
  id: number;
  /** The best first. */
  codecs: readonly AudioCodec[];
  secrecy: OwnSecrecy | null;
}

/** Payload types that need no agreement; the RTP clock of G.722 is 8000, as it always was. @source RFC 3551 table 4, §4.5.2 */
const TYPES: Readonly<Record<AudioCodec, number>> = { PCMU: 0, PCMA: 8, G722: 9 };
/** Payload type that is offered for pressed keys. own choice */
const KEYS = 101;
const MOST_LINES = 400;

/**
 * Describes what is offered: sound in both directions, and pressed keys. Some devices play nothing that is offered as
 * `sendonly`. @source RFC 4566, RFC 3264
 */
export function describeOffer(offer: Offer): string {
  const { secrecy } = offer;
  const lines = secrecy?.masters.map((master, at) => cryptoLine(at + 1, master)) ?? [];
  return describe(offer, secrecy?.isRequired ? SECURE : PLAIN, lines);
}

/** Describes the same in answer to what the other side wants to change: with the secret that it has chosen, if it has. */
export function describeAnswer(offer: Offer, theirs: string): string {
  const { profile, section } = soundIn(theirs);
  const chosen = offer.secrecy && chooseSecrecy(section, offer.secrecy);
  return describe(offer, chosen ? profile : PLAIN, chosen ? [cryptoLine(chosen.tag, chosen.own)] : []);
}

const PLAIN = "RTP/AVP";
const SECURE = "RTP/SAVP";

function describe({ address, port, id, codecs }: Offer, profile: string, lines: readonly string[]): string {
  return [
    "v=0",
    `o=carillon ${id} 1 IN IP4 ${address}`,
    "s=Carillon",
    `c=IN IP4 ${address}`,
    "t=0 0",
    `m=audio ${port} ${profile} ${codecs.map((codec) => TYPES[codec]).join(" ")} ${KEYS}`,
    ...codecs.map((codec) => `a=rtpmap:${TYPES[codec]} ${codec}/8000`),
    `a=rtpmap:${KEYS} telephone-event/8000`,
    `a=fmtp:${KEYS} 0-15`,
    "a=ptime:20",
    ...lines,
    "a=sendrecv",
    "",
  ].join("\r\n");
}

/** The part of a description that is about sound, and what stands before it. */
function soundIn(description: string): {
  port: string;
  profile: string;
  formats: string[];
  before: string[];
  section: string[];
} {
  const lines = description.split(/\r?\n/, MOST_LINES);
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
export function readAnswer(
  description: string,
  offered: readonly AudioCodec[],
  own: OwnSecrecy | null = null,
): MediaReading {
  const { port, profile, formats, before, section } = soundIn(description);
  if (Number(port) === 0) return { fault: "it takes no sound" };
  const codec = formats.flatMap((format) => offered.find((each) => String(TYPES[each]) === format) ?? [])[0];
  const secrecy = own && chooseSecrecy(section, own);
  if (![PLAIN, SECURE].includes(profile) || codec === undefined) return { fault: "it takes none of the codecs" };
  if (!secrecy && (own?.isRequired || profile === SECURE))
    return { fault: "it does not agree on encrypted sound (SRTP)" };
  const address = connectionIn(section) ?? connectionIn(before);
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (address === null || !isHost(address) || number < 1 || number > 65_535)
    return { fault: "the address where it listens can't be used" };
  return { media: { address, port: number, codec, keys: keysIn(section, formats), secrecy } };
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

function keysIn(section: readonly string[], formats: readonly string[]): number | null {
  const [, type] = section.flatMap((line) => /^a=rtpmap:(\d{1,3}) telephone-event\/8000/i.exec(line) ?? []);
  return type !== undefined && formats.includes(type) ? Number(type) : null;
}

function connectionIn(lines: readonly string[]): string | null {
  const line = lines.find((each) => each.startsWith("c=IN IP4 "));
  return line ? (line.slice("c=IN IP4 ".length).split("/", 1)[0] ?? "").trim() : null;
}

/** A single machine: neither nobody nor a group. */
function isHost(address: string): boolean {
  const first = Number(address.split(".", 1)[0]);
  return isIPv4(address) && first > 0 && first < 224;
}
