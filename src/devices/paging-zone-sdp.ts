import { isIPv4 } from "node:net";

/** A paging zone, as far as a listener needs it. */
export interface PagingZone {
  deviceIdentifier: string;
  description: string;
  attributes: Readonly<Record<string, string>>;
}

/** Payload types and clock rates. @source RFC 3551 table 4: G.722 has a clock rate of 8,000 regardless of its sample rate */
const FORMATS: Readonly<Record<string, string>> = { PCMU: "0 PCMU/8000", PCMA: "8 PCMA/8000", G722: "9 G722/8000" };
const DEFAULT_TTL = "16";
const ADDRESS = /=(?:([\d.]+):)?(\d{1,5})/g;

/** SDP of a paging zone, one stream for each of its addresses; null for a device that is not a paging zone. @source RFC 8866 */
export function pagingZoneSdp({ description, deviceIdentifier, attributes }: PagingZone): string | null {
  const {
    Group: group = "",
    Port: port = "",
    Codec: codec = "PCMU",
    TTL: ttl = DEFAULT_TTL,
    Priorities = "",
  } = attributes;
  const [payloadType, encoding] = (FORMATS[codec] ?? "").split(" ");
  if (!isIPv4(group) || port === "" || !payloadType) return null;
  const others = [...Priorities.matchAll(ADDRESS)].map(([, other = group, at = port]) => `${other} ${at}`);
  const media = [...new Set([`${group} ${port}`, ...others])].flatMap((address) => {
    const [to = "", at = ""] = address.split(" ");
    return [
      `m=audio ${at} RTP/AVP ${payloadType}`,
      `c=IN IP4 ${to}/${ttl}`,
      `a=rtpmap:${payloadType} ${encoding}`,
      "a=ptime:20",
    ];
  });
  const name = (description || deviceIdentifier).replace(/\p{Cc}/gu, " ").trim() || "-";
  return [...["v=0", "o=- 0 0 IN IP4 0.0.0.0", `s=${name}`, "t=0 0"], ...media, ""].join("\r\n");
}
