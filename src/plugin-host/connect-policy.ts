import { isIP } from "node:net";
import { createAddressSet, isNetwork } from "../lib/address-set.ts";
import { isMetadataAddress } from "../lib/metadata-addresses.ts";
import { createSsrfGuard } from "../lib/ssrf-guard.ts";

/** Where a plugin's process may connect to. */
export interface ConnectPolicy {
  /** Adds the host of a URL, of `host:port` or of an address, as the administrator entered it. */
  addTarget(text: string): void;
  /** Whether this host name may be resolved; addresses need no resolution. */
  permitsName(name: string): boolean;
  /** Notes an address of a permitted name. */
  resolved(name: string, address: string): void;
  permitsAddress(address: string): boolean;
}

const FIRST_MULTICAST_OCTET = 224;
const LAST_MULTICAST_OCTET = 239;

/**
 * Creates the policy over the hosts that the manifest declares. Names below `*.example.org`, networks and addresses are
 * permitted as declared. This machine, loopback and link-local addresses need an entry in `network.allowedTargets` besides.
 */
export function createConnectPolicy(hosts: readonly string[], allowedTargets: readonly string[]): ConnectPolicy {
  const ssrfGuard = createSsrfGuard({ allowedTargets });
  const trustedNames = new Set(allowedTargets.map((target) => target.toLowerCase()));
  const declared = createAddressSet(hosts.filter(isNetwork));
  const names = new Set<string>();
  const suffixes: string[] = [];
  const addresses = new Set<string>();
  const trustedAddresses = new Set<string>();
  const addHost = (host: string): void => {
    const bare = plainName(host);
    if (isIP(bare) !== 0) addresses.add(bare);
    else if (bare.startsWith("*.")) suffixes.push(bare.slice(1));
    else if (bare !== "" && !isNetwork(bare)) names.add(bare);
  };
  for (const host of hosts) addHost(host);
  return {
    addTarget(text) {
      const host = hostOf(text);
      if (host !== null && !host.startsWith("*")) addHost(host);
    },
    permitsName(name) {
      const bare = plainName(name);
      return names.has(bare) || suffixes.some((suffix) => bare.endsWith(suffix) && bare.length > suffix.length);
    },
    resolved(name, address) {
      addresses.add(address);
      if (trustedNames.has(plainName(name))) trustedAddresses.add(address);
    },
    permitsAddress(address) {
      if (isIP(address) === 0 || isMetadataAddress(address)) return false;
      if (!declared.has(address) && !addresses.has(address)) return false;
      return trustedAddresses.has(address) || isMulticast(address) || ssrfGuard.isAllowed(address);
    },
  };
}

/** The host of a URL, of `host:port`, of `user@host` or of an address; null if there is none. */
function hostOf(text: string): string | null {
  const given = text.trim();
  if (isIP(given) !== 0) return given;
  const [, authority = ""] = /^(?:[a-z][a-z0-9+.-]*:\/\/|sips?:)?(?:[^/@]*@)?([^/?#;,]*)/i.exec(given) ?? [];
  const [, address] = /^\[([^\]]+)\](?::\d+)?$/.exec(authority) ?? [];
  const host = address ?? authority.replace(/:\d+$/, "");
  return isIP(host) !== 0 || /^[a-z0-9_*]([a-z0-9_.-]*[a-z0-9_.])?$/i.test(host) ? host : null;
}

function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
}

function isMulticast(address: string): boolean {
  const first = Number(address.split(".")[0]);
  return isIP(address) === 4 && first >= FIRST_MULTICAST_OCTET && first <= LAST_MULTICAST_OCTET;
}
