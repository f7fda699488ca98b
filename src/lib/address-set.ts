import { BlockList, isIP } from "node:net";

/** IP addresses and networks. */
export interface AddressSet {
  /** False for a text that is no address. */
  has(address: string): boolean;
}

/**
 * Creates a set of addresses and networks in CIDR notation; other texts, such as host names, are left out. It is built when it is
 * first asked: Node's first look at an IPv6 address compiles its pattern, 10 ms of every start.
 */
export function createAddressSet(entries: Iterable<string>): AddressSet {
  const texts = [...entries];
  let list: BlockList | null = null;
  return {
    has(address) {
      if (isIP(address) === 0) return false;
      list ??= blockListOf(texts);
      return list.check(address, familyOf(address));
    },
  };
}

function blockListOf(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/");
    const version = isIP(address);
    if (version === 0) continue;
    list.addSubnet(address, prefix === undefined ? (version === 4 ? 32 : 128) : Number(prefix), familyOf(address));
  }
  return list;
}

/** True for an address, or a network in CIDR notation. */
export function isNetwork(text: string): boolean {
  const [address = "", prefix, ...more] = text.split("/");
  const version = isIP(address);
  if (version === 0 || address.includes("%") || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
