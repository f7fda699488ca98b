import { isIP, isIPv4 } from "node:net";

/** A listen address. */
export interface ListenAddress {
  /** An IP address or a host name, without brackets. */
  host: string;
  /** 0 lets the operating system choose. */
  port: number;
}

/** Parses `HOST:PORT`, IPv6 in brackets (`[::1]:8080`); null if it is invalid. */
export function parseListenAddress(text: string): ListenAddress | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/i.exec(text);
  if (!match) return null;
  const host = match[1] ?? (match[2] as string);
  const port = Number(match[3]);
  if (port > 65_535 || (match[1] !== undefined && isIP(host) !== 6)) return null;
  return { host, port };
}

/** Inverse of `parseListenAddress`; also the authority part of a URL. */
export function formatListenAddress({ host, port }: ListenAddress): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/** True for an IPv4 network in CIDR notation within the multicast block. @source RFC 5771 §3 */
export function isMulticastRange(text: string): boolean {
  const match = /^([0-9.]+)\/(\d{1,2})$/.exec(text);
  if (!match || !isIPv4(match[1] as string)) return false;
  const first = Number((match[1] as string).split(".")[0]);
  const prefix = Number(match[2]);
  return first >= 224 && first <= 239 && prefix >= 8 && prefix <= 32;
}

/**
 * True for a valid entry of `network.allowedTargets`: an IP address, an IP network in CIDR notation, or a host name.
 */
export function isTargetPattern(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  const version = isIP(address);
  if (rest.length > 0) return false;
  if (prefix !== undefined) {
    return version !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128);
  }
  return version !== 0 || /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,62})(\.[a-z0-9][a-z0-9-]{0,62})*$/i.test(address);
}

/** True for an IP address or an IP network in CIDR notation. */
export function isAddressOrNetwork(text: string): boolean {
  return isTargetPattern(text) && isIP(text.split("/")[0] ?? "") !== 0;
}

/** True for an IP address or a host name. */
export function isHostOrAddress(text: string): boolean {
  return !text.includes("/") && isTargetPattern(text);
}

/** First and last address of an IPv4 network in CIDR notation; host bits are ignored. */
export function networkBounds(network: string): { first: string; last: string } {
  const [address = "", prefix = "32"] = network.split("/");
  const size = 2 ** (32 - Number(prefix));
  const number = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  const first = Math.floor(number / size) * size;
  return { first: addressText(first), last: addressText(first + size - 1) };
}

function addressText(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");
}
