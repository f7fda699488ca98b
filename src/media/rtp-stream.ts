import { createSocket, type Socket } from "node:dgram";
import { isIPv6 } from "node:net";
import type { Clock } from "../lib/clock.ts";
import {
  addressTowards,
  connectUdp,
  externalAddresses,
  externalScopes,
  interfaceAddress,
  interfaceScope,
  isMulticastAddress,
  linkProblem,
  NetworkUnreachableError,
  noRouteError,
} from "../lib/network-route.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { PacedTask } from "./pacer.ts";
import { encodeRtpPacket, initialRtpState, PACKET_BYTES } from "./rtp.ts";
import { createSrtpEncryptor } from "./srtp.ts";
import type { StreamEnded, StreamSpec } from "./streamer-messages.ts";

/** A packet later than this counts as late; phones' jitter buffers hold tens of ms. */
const LATE_THRESHOLD_MS = 5;

/** An open stream: a paced task that sends one packet per tick. */
export interface RtpStream extends PacedTask {
  readonly streamId: string;
  readonly spec: StreamSpec;
  /** Where packets come from; null while nothing can leave. */
  readonly path: string | null;
  /** Sends through this socket from the next packet on; null while nothing can leave: packets then count as refused. */
  setPath(path: RtpPath | null): void;
  /** Changes how often the payload is sent in total; effective until the last packet has left. */
  setRepeats(repeats: number): void;
  /** Plays `parts` once instead of the payload, from the next packet on; packet numbers continue. */
  play(parts: readonly Uint8Array[]): void;
  /** Closes the socket and returns the statistics. */
  close(reason: StreamEnded["reason"]): StreamEnded;
}

/** Callbacks: `onFirstPacket` when the system has accepted a packet, `onFinished` once every send has completed. */
export interface RtpStreamDeps {
  clock: Clock;
  onFirstPacket(stream: RtpStream, firstPacketAt: number): void;
  onFinished(stream: RtpStream): void;
}

/** What a stream's local end depends on. */
export type RtpDestination = Pick<StreamSpec, "group" | "port" | "ttl" | "networkInterface" | "sourcePort">;

/** Local end of a stream. */
export interface RtpPath {
  socket: Socket;
  /** The address that packets come from. */
  address: string;
  /** What joins a group on the same interface: its IPv4 address, or `::%eth0`. */
  membership: string;
}

/**
 * A socket for the spec's address. Rejects with NetworkUnreachableError when nothing could leave, with the system's
 * error when the address cannot be used.
 */
export async function openRtpPath(spec: RtpDestination): Promise<RtpPath> {
  return spec.sourcePort === undefined ? openConnectedPath(spec) : openSharedPortPath(spec, spec.sourcePort);
}

/**
 * A socket on a port shared with another process's socket that is bound to one address: incoming datagrams go to that
 * more specific one as long as this one is neither connected nor bound to an address.
 */
async function openSharedPortPath(spec: RtpDestination, port: number): Promise<RtpPath> {
  const address = await addressTowards(spec.group);
  // Addresses are numeric; a look-up would cost a turn of the event loop per packet.
  const socket = createSocket({
    type: "udp4",
    reuseAddr: true,
    lookup: (address, _options, done) => done(null, address, 4),
  });
  await prepare(socket, () => new Promise<void>((resolve) => void socket.bind(port, "0.0.0.0", resolve)));
  return { socket, address, membership: address };
}

/** The chosen interface is that of multicast; to a single host the system's routes lead. */
async function openConnectedPath(spec: RtpDestination): Promise<RtpPath> {
  try {
    if (!isMulticastAddress(spec.group)) return await connectFrom(null, spec);
    const { networkInterface } = spec;
    const scopeOf = isIPv6(spec.group) ? interfaceScope : interfaceAddress;
    if (networkInterface !== null) return await connectFrom(scopeOf(networkInterface), spec);
    return await connectMulticastByRoute(spec);
  } catch (error) {
    throw isRouteError(error) ? noRouteError(spec.group, error) : error;
  }
}

async function connectMulticastByRoute(spec: RtpDestination): Promise<RtpPath> {
  const path = await connectFrom(null, spec).catch((error: unknown) => {
    // Without any route for it the first external interface is still able to send multicast.
    if ((error as NodeJS.ErrnoException).code !== "ENETUNREACH") throw error;
    const [first] = isIPv6(spec.group) ? externalScopes() : externalAddresses();
    if (first === undefined) throw error;
    return connectFrom(first, spec);
  });
  const isLocal = path.address.startsWith("127.") || path.address === "::1";
  const problem = isLocal ? sentence("error.it-leads-to-this-machine-only") : linkProblem(path.address);
  if (problem === null) return path;
  path.socket.close();
  throw new NetworkUnreachableError(sentence("library.no-network-route-because", { host: spec.group, problem }), {
    group: spec.group,
  });
}

/** `from`: IPv4 address or IPv6 scope of an interface; null: as the system's routes lead. */
async function connectFrom(from: string | null, spec: RtpDestination): Promise<RtpPath> {
  const isV6 = isIPv6(spec.group);
  const socket = createSocket(isV6 ? "udp6" : "udp4");
  await prepare(socket, async () => {
    const local = isV6 ? "::" : (from ?? "0.0.0.0");
    await new Promise<void>((resolve) => void socket.bind(0, local, resolve));
    // Before connecting: the system selects the outgoing interface on connect.
    if (from !== null) socket.setMulticastInterface(from);
    socket.setMulticastTTL(spec.ttl);
    socket.setMulticastLoopback(true);
    await connectUdp(socket, spec.port, spec.group);
  });
  if (!isV6) {
    const address = from ?? socket.address().address;
    return { socket, address, membership: address };
  }
  const { address } = socket.address();
  return { socket, address, membership: from ?? interfaceScope(address.replace(/%.*$/, "")) };
}

/** Closes the socket when it cannot be prepared. */
async function prepare(socket: Socket, steps: () => Promise<void>): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      steps().then(resolve, reject);
    });
  } catch (error) {
    socket.close();
    throw error;
  }
  socket.removeAllListeners("error");
}

/** Kernel errors of a destination without a usable route. @source Linux man page ip(7), connect(2) */
const ROUTE_ERRORS: ReadonlySet<unknown> = new Set(["ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EACCES", "EINVAL"]);

function isRouteError(error: unknown): boolean {
  return ROUTE_ERRORS.has((error as NodeJS.ErrnoException).code);
}

/** `given` null: nothing can leave yet. */
export function createRtpStream(spec: StreamSpec, given: RtpPath | null, deps: RtpStreamDeps): RtpStream {
  let path: RtpPath | null = null;
  const origin = initialRtpState(spec.ssrc);
  const encrypt = spec.secrecy && createSrtpEncryptor(spec.secrecy);
  const rolloverOf = (index: number): number => Math.floor((origin.sequence + index) / 0x10000);
  const rolloverBase = rolloverOf(spec.heardFrom ?? spec.offsetPackets);
  const packetsPerPass = spec.payload.length / PACKET_BYTES;
  const statistics = { firstPacketAt: null as number | null, packets: 0, sendErrors: 0, lateMaxMs: 0, latePackets: 0 };
  let total = packetsPerPass * spec.repeats;
  let pendingSends = 0;
  let done = false;
  const onSent = (error: Error | null): void => {
    pendingSends--;
    if (error) statistics.sendErrors++;
    else statistics.packets++;
    if (!error && statistics.firstPacketAt === null) {
      statistics.firstPacketAt = deps.clock.now();
      deps.onFirstPacket(stream, statistics.firstPacketAt);
    }
    if (done && pendingSends === 0) deps.onFinished(stream);
  };
  const setPath = (next: RtpPath | null): void => {
    path?.socket.close();
    path = next;
    // A single host that does not listen reports it by ICMP later.
    path?.socket.on("error", () => statistics.sendErrors++);
  };
  setPath(given);

  const sendDatagram = (packet: Buffer): void => {
    if (path === null) {
      pendingSends--;
      statistics.sendErrors++;
    } else if (spec.sourcePort === undefined) path.socket.send(packet, onSent);
    else path.socket.send(packet, spec.port, spec.group, onSent);
  };

  let playing: { part: Uint8Array; at: number }[] = [];
  let markNext = false;

  /** The audio of a packet: from what is being played, else from the payload. */
  const payloadAt = (index: number): Uint8Array => {
    const [now] = playing;
    if (!now) {
      const at = (index % packetsPerPass) * PACKET_BYTES;
      return spec.payload.subarray(at, at + PACKET_BYTES);
    }
    const sound = now.part.subarray(now.at, now.at + PACKET_BYTES);
    now.at += PACKET_BYTES;
    if (now.at >= now.part.length) playing.shift();
    return sound;
  };

  const send = (index: number): void => {
    const packet = encodeRtpPacket(
      {
        payloadType: spec.payloadType,
        // A resumed stream continues as after packet loss.
        marker: index === 0 || markNext,
        sequence: origin.sequence + index,
        timestamp: origin.timestamp + index * PACKET_BYTES,
        ssrc: spec.ssrc,
      },
      payloadAt(index),
    );
    markNext = false;
    pendingSends++;
    sendDatagram(encrypt ? encrypt(packet, rolloverOf(index) - rolloverBase) : packet);
  };

  const stream: RtpStream = {
    streamId: spec.streamId,
    spec,
    get path() {
      return path?.address ?? null;
    },
    setPath,
    tick(n, lateMs) {
      const index = spec.offsetPackets + n;
      if (index < total) send(index);
      statistics.lateMaxMs = Math.max(statistics.lateMaxMs, lateMs);
      if (lateMs > LATE_THRESHOLD_MS) statistics.latePackets++;
      if (index + 1 < total) return true;
      done = true;
      if (pendingSends === 0) deps.onFinished(stream);
      return false;
    },
    setRepeats(repeats) {
      total = packetsPerPass * repeats;
    },
    play(parts) {
      playing = parts.filter(({ length }) => length > 0).map((part) => ({ part, at: 0 }));
      markNext = true;
    },
    close(reason) {
      setPath(null);
      return { streamId: spec.streamId, reason, ...statistics };
    },
  };
  return stream;
}
