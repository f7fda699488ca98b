import { isIPv4 } from "node:net";

/** Where the other side of a call listens. */
export interface RemoteMedia {
  address: string;
  port: number;
}

/** What was read, or in words why no sound can be sent. */
export type MediaReading = { media: RemoteMedia; fault?: never } | { fault: string; media?: never };

/** Payload type that is offered for pressed keys. own choice */
const KEYS = 101;
const MOST_LINES = 400;

/**
 * Describes what is offered: G.711 µ-law in both directions, and pressed keys. Some devices play nothing that is offered as
 * `sendonly`; what they send is thrown away. @source RFC 4566, RFC 3264
 */
export function describeOffer({ address, port, id }: { address: string; port: number; id: number }): string {
  return [
    "v=0",
    `o=carillon ${id} 1 IN IP4 ${address}`,
    "s=Carillon",
    `c=IN IP4 ${address}`,
    "t=0 0",
    `m=audio ${port} RTP/AVP 0 ${KEYS}`,
    "a=rtpmap:0 PCMU/8000",
    `a=rtpmap:${KEYS} telephone-event/8000`,
    `a=fmtp:${KEYS} 0-15`,
    "a=ptime:20",
    "a=sendrecv",
    "",
  ].join("\r\n");
}

/** Reads what the other side takes of the offer. */
export function readAnswer(description: string): MediaReading {
  const lines = description.split(/\r?\n/, MOST_LINES);
  const at = lines.findIndex((line) => line.startsWith("m=audio "));
  const [, port = "", profile = "", ...formats] = (lines[at] ?? "").slice(2).split(" ");
  if (at < 0 || Number(port) === 0) return { fault: "it takes no sound" };
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => line.startsWith("m="));
  const section = end < 0 ? rest : rest.slice(0, end);
  if (profile !== "RTP/AVP" || !formats.includes("0")) return { fault: "it takes no G.711 µ-law" };
  const own = connectionIn(section) ?? connectionIn(lines.slice(0, at));
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (own === null || !isHost(own) || number < 1 || number > 65_535)
    return { fault: "the address where it listens can't be used" };
  return { media: { address: own, port: number } };
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
