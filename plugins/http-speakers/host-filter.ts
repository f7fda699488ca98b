import { BlockList, isIP } from "node:net";

/** True for an allowed host. */
export type HostFilter = (host: string) => boolean;

/** Parses names, addresses and networks (`10.0.0.0/24`); null if invalid. */
export function parseHosts(given: unknown): HostFilter | null {
  if (!Array.isArray(given) || given.length === 0) return null;
  const names = new Set<string>();
  const addresses = new BlockList();
  for (const entry of given as unknown[]) {
    if (typeof entry !== "string" || entry === "") return null;
    const [address = "", bits] = entry.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (isIP(address) === 0 && bits === undefined) names.add(address.toLowerCase());
    else if (isIP(address) === 0 || (bits !== undefined && !isPrefixLength(bits, family))) return null;
    else if (bits === undefined) addresses.addAddress(address, family);
    else addresses.addSubnet(address, Number(bits), family);
  }
  return (host) => {
    const bare = host.replace(/^\[|\]$/g, "").toLowerCase();
    if (isIP(bare) === 0) return names.has(bare);
    return addresses.check(bare, isIP(bare) === 6 ? "ipv6" : "ipv4");
  };
}

function isPrefixLength(bits: string, family: "ipv4" | "ipv6"): boolean {
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (family === "ipv6" ? 128 : 32);
}
