import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { createAddressSet } from "../lib/address-set.ts";

/** The client of a request, which a trusted proxy may have named. */
export interface RequestClient {
  address: string | null;
  /** True when the client's connection is encrypted, by TLS here or at the proxy. */
  secure: boolean;
}

/** A request whose proxies were looked at. */
type ForwardedRequest = IncomingMessage & { forwardedClient?: RequestClient };

/** A longer chain is not followed. */
const MAX_HOPS = 10;

/** Notes the client of a request that comes from a trusted proxy; returns whether it does. */
export type ForwardedClientReader = (raw: IncomingMessage) => boolean;

/**
 * Reads who is behind trusted proxies, from `Forwarded`, else `X-Forwarded-For` and `X-Forwarded-Proto`: the last address that is
 * not a trusted proxy itself. What clients add comes further to the left and is never reached. `trusted` are addresses and
 * networks. @source RFC 7239; docs/decisions/0480-login-throttle.md, Proxies
 */
export function createForwardedClientReader(trusted: readonly string[]): ForwardedClientReader {
  if (trusted.length === 0) return () => false;
  const proxies = createAddressSet(trusted);
  return (raw) => {
    const own = socketClient(raw);
    if (own.address === null || !proxies.has(own.address)) return false;
    let client = own;
    for (const hop of hopsOf(raw).reverse().slice(0, MAX_HOPS)) {
      // The proxy does not say who it was.
      if (hop.address === null) break;
      client = { address: hop.address, secure: hop.secure ?? own.secure };
      if (!proxies.has(hop.address)) break;
    }
    (raw as ForwardedRequest).forwardedClient = client;
    return true;
  };
}

/** The client of a request: as a trusted proxy named it, else that of the connection. */
export function clientOf(raw: IncomingMessage): RequestClient {
  return (raw as ForwardedRequest).forwardedClient ?? socketClient(raw);
}

/** Client IP address; IPv4-mapped addresses are converted to IPv4. */
export function clientAddress(raw: IncomingMessage): string | null {
  return clientOf(raw).address;
}

function socketClient({ socket }: IncomingMessage): RequestClient {
  return { address: plainAddress(socket.remoteAddress), secure: "encrypted" in socket };
}

interface Hop {
  address: string | null;
  /** Null if unknown. */
  secure: boolean | null;
}

/**
 * Hops as the headers list them, the client first. Most proxies write one of the headers and pass the other one on as the
 * client sent it: none is believed where they name different last hops.
 */
function hopsOf({ headers }: IncomingMessage): Hop[] {
  const listed = listedHops(headers);
  if (headers.forwarded === undefined) return listed;
  const forwarded = headers.forwarded.split(",").map(forwardedHop);
  const agree = listed.length === 0 || listed.at(-1)?.address === forwarded.at(-1)?.address;
  return agree ? forwarded : [];
}

function listedHops(headers: IncomingMessage["headers"]): Hop[] {
  const proto = textOf(headers["x-forwarded-proto"]).split(",").at(-1)?.trim().toLowerCase();
  const secure = proto ? proto === "https" : null;
  const addresses = textOf(headers["x-forwarded-for"]);
  if (addresses === "") return [];
  return addresses.split(",").map((each) => ({ address: addressIn(each), secure }));
}

/** Reads `for="[2001:db8::1]:4711";proto=https`. */
function forwardedHop(element: string): Hop {
  const pairs = new Map(
    element.split(";").map((pair) => {
      const [name = "", value = ""] = pair.split(/=(.*)/s);
      return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, "$1")] as const;
    }),
  );
  const proto = pairs.get("proto")?.toLowerCase();
  return { address: addressIn(pairs.get("for") ?? ""), secure: proto === undefined ? null : proto === "https" };
}

/** An address with or without port; null for `unknown` and names that a proxy invents. */
function addressIn(text: string): string | null {
  const match = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+)(?::\d+)?$|^([\da-f:.]+)$/i.exec(text.trim());
  return plainAddress(match?.[1] ?? match?.[2] ?? match?.[3]);
}

function plainAddress(address: string | undefined): string | null {
  const plain = address?.replace(/^::ffff:(?=\d+\.)/i, "");
  return plain !== undefined && isIP(plain) !== 0 ? plain : null;
}

function textOf(header: string | string[] | undefined): string {
  return Array.isArray(header) ? header.join(",") : (header ?? "");
}
