import { lookup } from "node:dns/promises";
import { isIPv4 } from "node:net";
import type { SipUri } from "./sip-uri.ts";

/** How messages travel. */
export type SipProtocol = "udp" | "tcp" | "tls";

/** The next machine on a message's way. */
export interface Hop {
  protocol: SipProtocol;
  /** IPv4 address. */
  host: string;
  port: number;
  /** What its certificate must say, for TLS. */
  name?: string;
}

/** @source RFC 3261 §19.1.2 */
const DEFAULT_PORT = { udp: 5060, tcp: 5060, tls: 5061 } as const;

/**
 * The hop that an address leads to; rejects in words. Ports and protocols are as the address says, else the usual ones:
 * records of names beside addresses (SRV, NAPTR) are not asked for.
 */
export async function resolveHop(uri: SipUri): Promise<Hop> {
  const protocol = protocolForUri(uri);
  const host = isIPv4(uri.host) ? uri.host : await resolveAddress(uri.host);
  return {
    protocol,
    host,
    port: uri.port ?? DEFAULT_PORT[protocol],
    ...(protocol === "tls" ? { name: uri.host } : {}),
  };
}

/** The protocol that an address asks for. */
function protocolForUri({ scheme, params }: SipUri): SipProtocol {
  if (scheme === "sips") return "tls";
  const asked = params.get("transport")?.toLowerCase();
  return asked === "tcp" || asked === "tls" ? asked : "udp";
}

async function resolveAddress(name: string): Promise<string> {
  try {
    return (await lookup(name, { family: 4 })).address;
  } catch {
    throw new SipError(`the address of ${name} is not known`);
  }
}

/** Something that SIP does not get through, in words for people. */
export class SipError extends Error {
  override readonly name = "SipFault";
}
