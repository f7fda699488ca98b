import { isIP, Socket } from "node:net";
import { createAddressSet } from "./address-set.ts";
import { UpstreamError } from "./errors.ts";

/**
 * Addresses at which clouds give machines their credentials. Nothing that Carillon talks to is there, so no setting allows them.
 * @source docs/decisions/0486-one-address-policy.md
 */
const METADATA_ADDRESSES = createAddressSet([
  ...["169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.0.23"],
  ...["100.100.100.200", "168.63.129.16", "192.0.0.192"],
  ...["fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"],
]);

/** IPv6 networks whose addresses contain an IPv4 address: name, bits before it. */
const EMBEDDING_NETWORKS: readonly (readonly [network: string, bits: number])[] = [
  // IPv4-compatible, IPv4-mapped, IPv4-translated (RFC 4291, RFC 2765).
  ["::/96", 96],
  ["::ffff:0:0/96", 96],
  ["::ffff:0:0:0/96", 96],
  // NAT64 (RFC 6052, RFC 8215), and 6to4 (RFC 3056).
  ["64:ff9b::/96", 96],
  ["64:ff9b:1::/48", 96],
  ["2002::/16", 16],
];

/** The address itself and the IPv4 address in it, if there is one: a gateway or the system may take one for the other. */
export function addressForms(address: string): string[] {
  const bare = address.split("%")[0] ?? "";
  if (isIP(bare) !== 6) return [bare];
  const forms = [bare];
  const words = ipv6Words(bare);
  for (const [network, bits] of EMBEDDING_NETWORKS) {
    if (!createAddressSet([network]).has(bare) && !(network === "::ffff:0:0/96" && isMapped(words))) continue;
    const at = bits / 16;
    const [high = 0, low = 0] = words.slice(at, at + 2);
    forms.push([high >> 8, high & 255, low >> 8, low & 255].join("."));
  }
  return forms;
}

function isMapped(words: readonly number[]): boolean {
  return words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff;
}

/** The eight groups of an IPv6 address. */
function ipv6Words(address: string): number[] {
  const host = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = "", tail] = host.split("::");
  const read = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const [first, last] = [read(head), tail === undefined ? [] : read(tail)];
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
}

/** True for an address at which a cloud gives out credentials, in any spelling. */
export function isMetadataAddress(address: string): boolean {
  return addressForms(address).some((form) => METADATA_ADDRESSES.has(form));
}

const GUARDED = Symbol.for("carillon.metadata-addresses-refused");

/**
 * Refuses all TCP connections of this thread to metadata addresses from now on, also those of libraries and of plugins that open
 * sockets themselves. The error is that of a host without a route, so it tells nothing about what is there.
 */
export function refuseMetadataAddresses(): void {
  const prototype = Socket.prototype as Socket & { [GUARDED]?: true };
  if (prototype[GUARDED]) return;
  prototype[GUARDED] = true;
  const { connect } = prototype;
  prototype.connect = function guarded(this: Socket, ...args: unknown[]): Socket {
    const refuse = (address: unknown): void => {
      if (typeof address !== "string" || isIP(address.split("%")[0] ?? "") === 0 || !isMetadataAddress(address)) return;
      const error = new UpstreamError("upstream", `connect EHOSTUNREACH ${address}`);
      this.destroy(Object.assign(error, { code: "EHOSTUNREACH", address }));
    };
    // Each address of a name is reported before the connection is opened.
    this.on("lookup", (_error, address) => refuse(address));
    const result = (connect as (...given: unknown[]) => Socket).apply(this, args);
    refuse(hostIn(args));
    return result;
  } as Socket["connect"];
}

/** The host of the arguments of `connect`: options, `port, host`, or the array that `net.connect` makes of them. */
function hostIn(args: readonly unknown[]): unknown {
  const [first, second] = args;
  if (Array.isArray(first)) return hostIn(first as unknown[]);
  if (typeof first === "object" && first !== null) return (first as { host?: unknown }).host;
  return second;
}
