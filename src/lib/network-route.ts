import { createSocket, type Socket } from "node:dgram";
import { isIP, isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { UpstreamError } from "./errors.ts";

/** An address of a network interface that is up and has a link. */
export interface OwnAddress {
  /** Name of the interface, such as `eth0`. */
  name: string;
  address: string;
  family: "IPv4" | "IPv6";
  /** On the loopback interface. */
  internal: boolean;
}

/** Nothing can leave the appliance: no address, no link or no route. */
export class NetworkUnreachableError extends UpstreamError {
  constructor(message: string, context: Record<string, unknown> = {}, cause?: unknown) {
    super("upstream", message, context, cause);
  }
}

/** Node's codes for a missing network; a host that does not answer has others. */
const UNREACHABLE_CODES: ReadonlySet<unknown> = new Set(["ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL"]);

/** Whether an error says that nothing could leave the appliance, so that a try after a network change may succeed. */
export function isNetworkUnreachable(error: unknown): boolean {
  return error instanceof NetworkUnreachableError || UNREACHABLE_CODES.has((error as { code?: unknown } | null)?.code);
}

/** The error for a destination without a route. */
export function noRouteError(host: string, cause?: unknown): NetworkUnreachableError {
  return new NetworkUnreachableError(`No network route to ${host}.`, { host }, cause);
}

/** The addresses of this machine now, loopback included. */
export function ownAddresses(): OwnAddress[] {
  return Object.entries(networkInterfaces()).flatMap(([name, list]) =>
    (list ?? []).map(({ address, family, internal }) => ({ name, address, family, internal })),
  );
}

/** Whether a socket's local address is one of these; IPv4 in IPv6 notation is understood. */
export function isOwnAddress(addresses: readonly OwnAddress[], local: string): boolean {
  const plain = local.replace(/^::ffff:/, "").replace(/%.*$/, "");
  return addresses.some(({ address }) => address === plain);
}

/** External IPv4 addresses of this machine now. */
export function externalAddresses(): string[] {
  return ownAddresses().flatMap(({ family, internal, address }) => (family === "IPv4" && !internal ? address : []));
}

/** Whether a text can name a network interface: an IP address or a Linux interface name. @source docs/decisions/0425-network-changes.md */
export function isInterfaceName(text: string): boolean {
  return isIP(text) !== 0 || /^(?!\.{1,2}$)[^\s/:]{1,15}$/.test(text);
}

/**
 * The IPv4 address of an interface that is up, given by its name or by this address. Throws NetworkUnreachableError
 * when there is none.
 */
export function interfaceAddress(wanted: string): string {
  const own = ownAddresses().filter(({ family }) => family === "IPv4");
  const found = own.find(({ address, name }) => address === wanted || name === wanted);
  if (found) return found.address;
  const problem =
    isIP(wanted) === 0 ? `interface ${wanted} has no address` : `${wanted} is not an address of this machine`;
  throw new NetworkUnreachableError(`Network unreachable: ${problem}, or its link is down.`, { wanted });
}

/**
 * Whether packets to an address go to a group: 224.0.0.0/4, or ff00::/8 with a scope beyond the link, since groups of a
 * link differ by interface.
 */
export function isMulticastAddress(address: string): boolean {
  if (isIPv6(address)) return /^ff[0-9a-f][3-9a-e]:/i.test(address);
  const first = Number(address.split(".", 1)[0]);
  return isIPv4(address) && first >= 224 && first <= 239;
}

/**
 * How sockets of IPv6 name an interface (`::%eth0`) that is up, given by its name or by one of its addresses. Throws
 * NetworkUnreachableError when there is none.
 */
export function interfaceScope(wanted: string): string {
  const found = ownAddresses().find(
    ({ family, address, name }) => (family === "IPv6" && name === wanted) || address === wanted,
  );
  if (found) return `::%${found.name}`;
  const problem =
    isIP(wanted) === 0 ? `interface ${wanted} has no IPv6 address` : `${wanted} is not an address of this machine`;
  throw new NetworkUnreachableError(`Network unreachable: ${problem}, or its link is down.`, { wanted });
}

/** External interfaces with an IPv6 address, as sockets name them. */
export function externalScopes(): string[] {
  return ownAddresses().flatMap(({ family, internal, name }) => (family === "IPv6" && !internal ? `::%${name}` : []));
}

/** Why packets to a host would not leave from this address; null when they would. */
export function linkProblem(address: string): string | null {
  const plain = address.replace(/%.*$/, "");
  return ownAddresses().some((own) => own.address === plain) ? null : `the link of ${address} is down`;
}

/** Connects a UDP socket; rejects with the system's error, which Node passes to the callback instead of emitting it. */
export function connectUdp(socket: Socket, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.connect(port, host, ((error?: Error) => (error ? reject(error) : resolve())) as () => void);
  });
}

/** The local IPv4 address from which the system would send to a host; rejects with NetworkUnreachableError. */
export async function addressTowards(host: string): Promise<string> {
  const socket = createSocket("udp4");
  try {
    await connectUdp(socket, 9, host);
    const { address } = socket.address();
    const problem = address.startsWith("127.") ? null : linkProblem(address);
    if (problem === null) return address;
    throw new NetworkUnreachableError(`No network route to ${host}: ${problem}.`, { host });
  } catch (error) {
    throw error instanceof NetworkUnreachableError ? error : noRouteError(host, error);
  } finally {
    socket.close();
  }
}
