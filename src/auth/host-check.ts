import { hostname } from "node:os";
import { parseListenAddress } from "../settings/network-addresses.ts";

/** The target of a request. */
export interface HostCheckInput {
  /** The Host header. */
  host: string | null;
  /** The local address of the connection. */
  localAddress: string | undefined;
}

/** True when the Host header names this appliance. */
export type HostCheck = (direction: HostCheckInput) => boolean;

/**
 * Creates the check of Host headers, which prevents DNS rebinding. Accepted are the local address of the connection,
 * loopback addresses, `localhost`, the machine's names (also below `.local`), the host of `listen`, and `hosts`. Ports
 * are ignored. A request without a Host header is accepted because browsers always send one.
 */
export function createHostCheck(settings: { listen: string; hosts: readonly string[] }): HostCheck {
  const own = hostname().toLowerCase();
  const short = own.split(".")[0] as string;
  const listened = parseListenAddress(settings.listen)?.host.toLowerCase() ?? "";
  const names = new Set(
    ["localhost", "127.0.0.1", "::1", own, short, `${short}.local`, listened, ...settings.hosts].map(normalizeHost),
  );
  return ({ host, localAddress }) => {
    if (host === null) return true;
    const name = normalizeHost(host);
    return names.has(name) || (localAddress !== undefined && name === normalizeAddress(localAddress));
  };
}

/** CSRF check: true when `origin` is the server that `host` names. With TLS, a plain HTTP origin does not match. */
export function isSameOrigin(origin: string | null, host: string | null, secure: boolean): boolean {
  if (origin === null || host === null || !URL.canParse(origin)) return false;
  const { protocol, host: from } = new URL(origin);
  if (protocol !== "https:" && (secure || protocol !== "http:")) return false;
  const target = `${protocol}//${host}`;
  return URL.canParse(target) && new URL(target).host === from;
}

/** Host without port, brackets and trailing dot, in lower case. */
function normalizeHost(host: string): string {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.trim().toLowerCase());
  return match ? (match[1] ?? (match[2] as string).replace(/\.$/, "")) : host.trim().toLowerCase();
}

function normalizeAddress(address: string): string {
  return address
    .toLowerCase()
    .replace(/^::ffff:(?=\d+\.)/, "")
    .replace(/%.*$/, "");
}
