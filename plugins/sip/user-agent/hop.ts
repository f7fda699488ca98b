import { lookup } from "node:dns/promises";
import { isIPv4 } from "node:net";
import { sentence } from "../sentences.ts";
import type { SipUri } from "./sip-uri.ts";

/** Transport protocols. */
export type SipProtocol = "udp" | "tcp" | "tls";

/** Next hop of a message. */
export interface Hop {
  protocol: SipProtocol;
  /** IPv4 address. */
  host: string;
  port: number;
  /** Expected certificate name, for TLS. */
  name?: string;
}

/** @source RFC 3261 §19.1.2 */
const DEFAULT_PORT = { udp: 5060, tcp: 5060, tls: 5061 } as const;

/**
 * Resolves a SIP URI; rejects with SipError. Port and transport come from the URI or the defaults; SRV and NAPTR
 * records are not used.
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

/** Transport of a SIP URI. */
function protocolForUri({ scheme, params }: SipUri): SipProtocol {
  if (scheme === "sips") return "tls";
  const asked = params.get("transport")?.toLowerCase();
  return asked === "tcp" || asked === "tls" ? asked : "udp";
}

async function resolveAddress(name: string): Promise<string> {
  try {
    return (await lookup(name, { family: 4 })).address;
  } catch {
    throw new SipError(sentence("host-unknown", { name }));
  }
}

/** A SIP error with a message for people. */
export class SipError extends Error {
  override readonly name = "SipError";
}
