import { createSocket } from "node:dgram";
import { createServer, isIPv4, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { addressTowards, type Clock, interfaceAddress, isOwnAddress, type OwnAddress } from "#plugin-api";
import { sentence } from "../sentences.ts";
import { type Hop, SipError, type SipProtocol } from "./hop.ts";
import { parseSipMessage, type SipMessage } from "./sip-message.ts";
import { bindToPort, connectToHop, listenOnPort } from "./sockets.ts";
import { createSipStreamParser } from "./stream-framing.ts";

/** A received message. */
export interface IncomingSipMessage {
  message: SipMessage;
  /** Source of the message and target of the response. */
  from: Hop;
  /** Sends a response on the same path; never throws. */
  reply(bytes: Buffer): void;
}

export interface SipTransports {
  /** Sends to a hop, connecting if necessary; rejects with SipError. */
  send(hop: Hop, bytes: Buffer): Promise<void>;
  /** Local address as seen by a host; rejects with NetworkUnreachableError without a route. */
  localAddressFor(host: string): Promise<string>;
  /** The machine's addresses or routes changed: local addresses are looked up again, connections from lost ones end. */
  networkChanged(addresses: readonly OwnAddress[]): void;
  /** Listen ports. */
  readonly ports: Readonly<Record<SipProtocol, number>>;
  close(): Promise<void>;
}

export interface SipTransportDeps {
  clock: Clock;
  /** UDP and TCP port; 0 lets the system choose. */
  port: number;
  /** TLS listener; null without a certificate. */
  tls: { port: number; certificate: string; key: string } | null;
  /** Trusted CA for TLS in PEM; null for the system's CAs. */
  authority: string | null;
  /** Local address that others can reach, or the interface that has it; null to use the system's routes. */
  address: string | null;
  /** Address policy; default: every address. Devices and redirections name addresses. */
  isTargetAllowed?(address: string): boolean;
  onMessage(arrival: IncomingSipMessage): void;
  onError(error: Error): void;
}

const MAX_CONNECTIONS = 2_048;
/** Limit per address, so that one machine cannot lock out others; devices behind a NAT share an address. */
const MAX_CONNECTIONS_PER_HOST = 256;
/** A peer that leaves more unread response bytes than this is disconnected. */
const MAX_UNREAD_BYTES = 262_144;
const HANDSHAKE_TIMEOUT_MS = 10_000;
const SWEEP_MS = 60_000;
/** Idle timeout of connections; a connection that never sent a message is closed at the first sweep. */
const IDLE_TIMEOUT_MS = 7_200_000;
const MAX_ADDRESSES = 10_000;
/** Attempts to find a port that is free for UDP and TCP. */
const MAX_PORT_ATTEMPTS = 10;
const PONG = "\r\n";

interface SipConnection {
  socket: Socket;
  hop: Hop;
  heardAt: number;
  hasSentMessage: boolean;
}

/** Opens the sockets; rejects if a port is not available. */
export async function openSipTransports(deps: SipTransportDeps): Promise<SipTransports> {
  const { clock, onMessage, onError } = deps;
  const connections = new Map<string, SipConnection>();
  const opening = new Map<string, Promise<SipConnection>>();
  const addresses = new Map<string, Promise<string>>();
  const udp = createSocket("udp4");
  let closed = false;

  /** An exception caused by one message must not end the calls of others. */
  const dispatch = (arrival: IncomingSipMessage): void => {
    try {
      onMessage(arrival);
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const write = (socket: Socket, bytes: Buffer | string): void => {
    if (socket.writableLength > MAX_UNREAD_BYTES) socket.destroy();
    else socket.write(bytes);
  };
  const register = (socket: Socket, hop: Hop): SipConnection => {
    const connection: SipConnection = { socket, hop, heardAt: clock.monotonicMs(), hasSentMessage: false };
    const key = hopKey(hop);
    const frames = createSipStreamParser();
    connections.set(key, connection);
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => {
      connection.heardAt = clock.monotonicMs();
      const heard = frames.push(bytes);
      if (!heard) return void socket.destroy();
      // One pong suffices for any number of pings.
      if (heard.pings > 0) write(socket, PONG);
      connection.hasSentMessage ||= heard.messages.length > 0;
      for (const message of heard.messages) dispatch({ message, from: hop, reply: (bytes) => write(socket, bytes) });
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      if (connections.get(key) === connection) connections.delete(key);
    });
    return connection;
  };
  /** Counted from the TCP handshake on; otherwise silent TLS connections could lock out others. */
  const connectionsPerHost = new Map<string, number>();
  const admit = (socket: Socket): void => {
    const host = plainAddress(socket.remoteAddress ?? "");
    const ofOne = connectionsPerHost.get(host) ?? 0;
    if (host === "" || ofOne >= MAX_CONNECTIONS_PER_HOST) return void socket.destroy();
    connectionsPerHost.set(host, ofOne + 1);
    socket.once("close", () => {
      const left = (connectionsPerHost.get(host) ?? 1) - 1;
      if (left > 0) connectionsPerHost.set(host, left);
      else connectionsPerHost.delete(host);
    });
  };
  const acceptConnection = (protocol: SipProtocol) => (socket: Socket) => {
    const host = plainAddress(socket.remoteAddress ?? "");
    if (host === "" || socket.destroyed) return void socket.destroy();
    register(socket, { protocol, host, port: socket.remotePort ?? 0 });
  };
  const serve = (server: Server, port: number): Promise<Server> => {
    server.maxConnections = MAX_CONNECTIONS;
    server.prependListener("connection", admit);
    return listenOnPort(server, port);
  };
  const connect = async (hop: Hop): Promise<SipConnection> => {
    const known = connections.get(hopKey(hop));
    if (known) return known;
    const under = opening.get(hopKey(hop));
    if (under !== undefined) return under;
    const connected = connectToHop(hop, deps).then((socket) => {
      if (closed) socket.destroy();
      return register(socket, hop);
    });
    opening.set(hopKey(hop), connected);
    return connected.finally(() => opening.delete(hopKey(hop)));
  };

  udp.on("message", (bytes, { address: host, port }) => {
    // Port 0 occurs only in forged datagrams and cannot be replied to.
    const message = port === 0 ? null : parseSipMessage(bytes);
    const from: Hop = { protocol: "udp", host, port };
    const reply = (bytes: Buffer): void => {
      if (!closed) udp.send(bytes, port, host);
    };
    if (message) dispatch({ message, from, reply });
  });
  /** TCP first: of ports chosen by the system, many more are taken for TCP than for UDP. */
  const openBoth = async (tries: number): Promise<Server> => {
    const tcp = await serve(createServer(acceptConnection("tcp")), deps.port);
    try {
      await bindToPort(udp, (tcp.address() as { port: number }).port);
      return tcp;
    } catch (error) {
      await new Promise<void>((resolve) => tcp.close(() => resolve()));
      if (deps.port !== 0 || tries <= 1) throw error;
      return openBoth(tries - 1);
    }
  };
  const servers: Server[] = [];
  const ports = { udp: 0, tcp: 0, tls: 0 };
  try {
    const tcp = await openBoth(MAX_PORT_ATTEMPTS);
    servers.push(tcp);
    ports.udp = ports.tcp = (tcp.address() as { port: number }).port;
    udp.on("error", onError);
    if (deps.tls) {
      const { certificate: cert, key } = deps.tls;
      const server = await serve(
        createTlsServer({ cert, key, handshakeTimeout: HANDSHAKE_TIMEOUT_MS }, acceptConnection("tls")),
        deps.tls.port,
      );
      servers.push(server);
      ports.tls = (server.address() as { port: number }).port;
    }
  } catch (error) {
    udp.close();
    for (const server of servers) server.close();
    throw error;
  }
  for (const server of servers) server.on("error", onError);
  const sweep = clock.every(SWEEP_MS, () => {
    for (const { socket, heardAt, hasSentMessage } of connections.values()) {
      if (clock.monotonicMs() - heardAt > (hasSentMessage ? IDLE_TIMEOUT_MS : SWEEP_MS)) socket.destroy();
    }
  });

  return {
    ports,
    async send(hop, bytes) {
      if (deps.isTargetAllowed?.(hop.host) === false)
        throw new SipError(sentence("address-not-allowed", { host: hop.host }));
      if (hop.protocol !== "udp") {
        (await connect(hop)).socket.write(bytes);
        return;
      }
      await new Promise<void>((resolve, reject) =>
        udp.send(bytes, hop.port, hop.host, (error) =>
          error
            ? reject(new SipError(sentence("sending-failed", { host: hop.host, error: error.message })))
            : resolve(),
        ),
      );
    },
    localAddressFor(host) {
      const { address } = deps;
      if (address !== null) return isIPv4(address) ? Promise.resolve(address) : lookUpInterface(address);
      const found = addresses.get(host);
      if (found !== undefined) return found;
      if (addresses.size >= MAX_ADDRESSES) addresses.clear();
      const pending = addressTowards(host);
      addresses.set(host, pending);
      // Routes may change.
      pending.catch(() => addresses.delete(host));
      return pending;
    },
    networkChanged(own) {
      addresses.clear();
      for (const { socket } of connections.values())
        if (socket.localAddress !== undefined && !isOwnAddress(own, socket.localAddress)) socket.destroy();
    },
    async close() {
      closed = true;
      sweep.cancel();
      for (const { socket } of connections.values()) socket.destroy();
      await Promise.all([
        new Promise<void>((resolve) => udp.close(() => resolve())),
        ...servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))),
      ]);
    },
  };
}

async function lookUpInterface(name: string): Promise<string> {
  return interfaceAddress(name);
}

function hopKey({ protocol, host, port }: Hop): string {
  return `${protocol} ${host}:${port}`;
}

/** Strips the IPv4-mapped IPv6 prefix. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:/, "");
}
