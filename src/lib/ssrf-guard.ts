import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { createAddressSet } from "./address-set.ts";
import { CallerError, UpstreamError } from "./errors.ts";
import { addressForms, isMetadataAddress } from "./metadata-addresses.ts";
import { ownAddresses } from "./network-route.ts";
import { sentence } from "./sentences/sentences.ts";

/** One address of a host name. */
export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

export interface SsrfGuardDeps {
  /** Addresses, networks (`10.0.0.0/8`) and host names that are always allowed, except for metadata addresses of clouds. */
  allowedTargets: readonly string[];
  /** This machine's addresses; read for each decision, since they change. */
  localAddresses?: () => readonly string[];
  /** All addresses of a host name. */
  resolve?: (host: string) => Promise<ResolvedAddress[]>;
}

/** Decides where URLs given by users may lead. @source docs/decisions/0024-network.md */
export interface SsrfGuard {
  /**
   * The one address to connect to. The name is resolved once, so that a second look-up cannot change the target. Throws
   * UpstreamError when the name has no address or only refused ones. IPv6 literals may have brackets.
   */
  resolveAllowed(host: string): Promise<ResolvedAddress>;
  /** Whether a connection to this IP address is allowed; false for a text that is no address. */
  isAllowed(address: string): boolean;
}

/** Loopback, link-local, multicast, unspecified and broadcast networks. @source RFC 6890 */
const BLOCKED_NETWORKS = [
  "0.0.0.0/8",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "224.0.0.0/4",
  "255.255.255.255/32",
  "::/128",
  "::1/128",
  "fe80::/10",
  "ff00::/8",
];

/** Creates the guard; without `resolve` and `localAddresses` it uses those of this machine. */
export function createSsrfGuard(deps: SsrfGuardDeps): SsrfGuard {
  const { localAddresses = localMachineAddresses, resolve = resolveAll } = deps;
  const refused = createAddressSet(BLOCKED_NETWORKS);
  const allowed = createAddressSet(deps.allowedTargets);
  const names = new Set(deps.allowedTargets.map((target) => target.toLowerCase()));
  const isAllowed = (address: string): boolean => {
    if (isIP(address.split("%")[0] ?? "") === 0 || isMetadataAddress(address)) return false;
    if (allowed.has(address)) return true;
    const own = createAddressSet(localAddresses());
    // An IPv6 address may contain a refused IPv4 address, which a gateway connects to.
    return addressForms(address).every((form) => allowed.has(form) || (!refused.has(form) && !own.has(form)));
  };
  return {
    isAllowed,
    async resolveAllowed(host) {
      const name = host.replace(/^\[(.*)\]$/, "$1");
      const version = isIP(name);
      const found: ResolvedAddress[] =
        version === 0 ? await resolve(name) : [{ address: name, family: version === 4 ? 4 : 6 }];
      const isNamed = names.has(name.toLowerCase());
      const chosen = found.find(({ address }) => (isNamed && !isMetadataAddress(address)) || isAllowed(address));
      if (chosen) return chosen;
      const code = found.length === 0 ? "fetch.no-address" : "fetch.address-refused";
      throw new UpstreamError("upstream", sentence(code, { host }), { host });
    },
  };
}

/**
 * Refuses a host given in `field` if it is a refused address or this machine. Names are checked when they are called,
 * since their addresses change. Throws CallerError.
 */
export async function assertHostAllowed(field: string, host: string, policy: SsrfGuard): Promise<void> {
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  if (isIP(bare) === 0 && !/^localhost\.?$/i.test(bare)) return;
  await policy.resolveAllowed(bare).catch((error: Error) => {
    const message = `Field ${field} is not valid. ${error.message}`;
    throw new CallerError("invalid-value", `Field ${field} is not valid.`, [{ field, type: "invalid-value", message }]);
  });
}

function localMachineAddresses(): string[] {
  return ownAddresses().map(({ address }) => address);
}

async function resolveAll(host: string): Promise<ResolvedAddress[]> {
  try {
    const found = await lookup(host, { all: true });
    return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
  } catch (error) {
    throw new UpstreamError("upstream", sentence("fetch.unresolved", { host }), { host }, error);
  }
}
