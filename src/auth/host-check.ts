import { hostname } from "node:os";
import { parseListenAddress } from "../settings/network-addresses.ts";

/** What a request says of where it goes and where it comes from. */
export interface HostCheckInput {
  /** Its Host header. */
  host: string | null;
  /** The own address that the connection was made to. */
  localAddress: string | undefined;
}

/** True when a request's Host is one of this appliance. */
export type HostCheck = (direction: HostCheckInput) => boolean;

/**
 * Makes the check of Host headers, against pages of other sites that bend their own name to this machine. Taken are the
 * address that the connection was made to, loopback addresses, `localhost`, the machine's names (also below `.local`),
 * what `listen` names, and `hosts`. Ports don't count. A request without the header comes from no browser.
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

/** True when `origin` is the page of the very server that `host` names. Under TLS a page without it is another one. */
export function isSameOrigin(origin: string | null, host: string | null, secure: boolean): boolean {
  if (origin === null || host === null || !URL.canParse(origin)) return false;
  const { protocol, host: from } = new URL(origin);
  if (protocol !== "https:" && (secure || protocol !== "http:")) return false;
  const target = `${protocol}//${host}`;
  return URL.canParse(target) && new URL(target).host === from;
}

/** Host without port, brackets and final dot, in lower case. */
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
