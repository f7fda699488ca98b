import { lookup } from "node:dns/promises";
import { isIPv4 } from "node:net";
import type { SipUri } from "./uri.ts";

/** How messages travel. */
export type Protocol = "udp" | "tcp" | "tls";

/** The next machine on a message's way. */
export interface Hop {
  protocol: Protocol;
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
export async function hopTo(uri: SipUri): Promise<Hop> {
  const protocol = protocolOf(uri);
  const host = isIPv4(uri.host) ? uri.host : await addressOf(uri.host);
  return {
    protocol,
    host,
    port: uri.port ?? DEFAULT_PORT[protocol],
    ...(protocol === "tls" ? { name: uri.host } : {}),
  };
}

/** The protocol that an address asks for. */
function protocolOf({ scheme, params }: SipUri): Protocol {
  if (scheme === "sips") return "tls";
  const asked = params.get("transport")?.toLowerCase();
  return asked === "tcp" || asked === "tls" ? asked : "udp";
}

async function addressOf(name: string): Promise<string> {
  try {
    return (await lookup(name, { family: 4 })).address;
  } catch {
    throw new SipFault(`the address of ${name} is not known`);
  }
}

/** Something that SIP does not get through, in words for people. */
export class SipFault extends Error {
  override readonly name = "SipFault";
}
