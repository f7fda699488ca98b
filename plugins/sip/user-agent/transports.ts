import { createSocket } from "node:dgram";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Clock } from "#plugin-api";
import { type Hop, SipError, type SipProtocol } from "./hop.ts";
import { parseSipMessage, type SipMessage } from "./sip-message.ts";
import { bindToPort, connectToHop, listenOnPort, localAddressTowards } from "./sockets.ts";
import { createSipStreamParser } from "./stream-framing.ts";

/** A message that has arrived. */
export interface IncomingSipMessage {
  message: SipMessage;
  /** Where it came from, and where an answer goes. */
  from: Hop;
  /** Sends an answer on the way that the message came; never throws, for nobody waits for it. */
  reply(bytes: Buffer): void;
}

/** The sockets of a user agent. */
export interface SipTransports {
  /** Sends to a hop, opening a connection where one is needed; rejects with SipFault. */
  send(hop: Hop, bytes: Buffer): Promise<void>;
  /** Own address as a host sees it. */
  localAddressFor(host: string): Promise<string>;
  /** Where it listens. */
  readonly ports: Readonly<Record<SipProtocol, number>>;
  close(): Promise<void>;
}

/** What transports need. */
export interface SipTransportDeps {
  clock: Clock;
  /** For UDP and TCP; 0 lets the system choose. */
  port: number;
  /** Null without a certificate of its own: then nothing listens for TLS. */
  tls: { port: number; certificate: string; key: string } | null;
  /** Whom to believe for TLS, in PEM; the system's unless given. */
  authority: string | null;
  /** Own address that others reach; found by the system's routes unless given. */
  address: string | null;
  onMessage(arrival: IncomingSipMessage): void;
  onError(error: Error): void;
}

const MAX_CONNECTIONS = 2_048;
/** Of one machine, lest it keep all others out; devices behind one address of a router share it. own choice */
const MAX_CONNECTIONS_PER_HOST = 256;
/** A peer that leaves so many bytes of answers unread, above what the system keeps for it, is let go. own choice */
const MAX_UNREAD_BYTES = 262_144;
const HANDSHAKE_TIMEOUT_MS = 10_000;
const SWEEP_MS = 60_000;
/** A connection without a word for so long is closed; one that never said anything after the first of these. own choice */
const IDLE_TIMEOUT_MS = 7_200_000;
const MAX_ADDRESSES = 10_000;
/** How often the system is asked for a port that is free for both. own choice */
const MAX_PORT_ATTEMPTS = 10;
const PONG = "\r\n";

interface SipConnection {
  socket: Socket;
  hop: Hop;
  heardAt: number;
  hasSentMessage: boolean;
}

/** Opens the sockets; rejects when a port can't be had. */
export async function openSipTransports(needs: SipTransportDeps): Promise<SipTransports> {
  const { clock, onMessage, onError } = needs;
  const connections = new Map<string, SipConnection>();
  const opening = new Map<string, Promise<SipConnection>>();
  const addresses = new Map<string, Promise<string>>();
  const udp = createSocket("udp4");
  let closed = false;

  /** What a stranger's message sets off must not end the calls of all others. */
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
      // One is enough to show that the connection stands, however many signs of life came at once.
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
  /** Counted from the first packet on: for TLS, many that never speak would else keep others out. */
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
    const made = connectToHop(hop, needs).then((socket) => {
      if (closed) socket.destroy();
      return register(socket, hop);
    });
    opening.set(hopKey(hop), made);
    return made.finally(() => opening.delete(hopKey(hop)));
  };

  udp.on("message", (bytes, { address: host, port }) => {
    // Nothing can be sent to port 0, which only a forged datagram comes from.
    const message = port === 0 ? null : parseSipMessage(bytes);
    const from: Hop = { protocol: "udp", host, port };
    const reply = (bytes: Buffer): void => {
      if (!closed) udp.send(bytes, port, host);
    };
    if (message) dispatch({ message, from, reply });
  });
  /** TCP first: where the system chooses, far more of its ports are taken than of UDP's; but that one may be, too. */
  const openBoth = async (tries: number): Promise<Server> => {
    const tcp = await serve(createServer(acceptConnection("tcp")), needs.port);
    try {
      await bindToPort(udp, (tcp.address() as { port: number }).port);
      return tcp;
    } catch (error) {
      await new Promise<void>((resolve) => tcp.close(() => resolve()));
      if (needs.port !== 0 || tries <= 1) throw error;
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
    if (needs.tls) {
      const { certificate: cert, key } = needs.tls;
      const server = await serve(
        createTlsServer({ cert, key, handshakeTimeout: HANDSHAKE_TIMEOUT_MS }, acceptConnection("tls")),
        needs.tls.port,
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
      if (hop.protocol !== "udp") {
        (await connect(hop)).socket.write(bytes);
        return;
      }
      await new Promise<void>((resolve, reject) =>
        udp.send(bytes, hop.port, hop.host, (error) =>
          error ? reject(new SipError(`nothing can be sent to ${hop.host}: ${error.message}`)) : resolve(),
        ),
      );
    },
    localAddressFor(host) {
      if (needs.address !== null) return Promise.resolve(needs.address);
      const found = addresses.get(host);
      if (found !== undefined) return found;
      if (addresses.size >= MAX_ADDRESSES) addresses.clear();
      const asked = localAddressTowards(host);
      addresses.set(host, asked);
      // Routes come and go with networks.
      asked.catch(() => addresses.delete(host));
      return asked;
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

function hopKey({ protocol, host, port }: Hop): string {
  return `${protocol} ${host}:${port}`;
}

/** Addresses of IPv4 as sockets for both say them. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:/, "");
}
