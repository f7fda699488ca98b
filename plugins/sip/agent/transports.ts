import { createSocket } from "node:dgram";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Clock } from "#plugin-api";
import { type Hop, type Protocol, SipFault } from "./hop.ts";
import { readMessage, type SipMessage } from "./message.ts";
import { bound, listening, openSocket, routeTo } from "./sockets.ts";
import { createFrames } from "./stream-frames.ts";

/** A message that has arrived. */
export interface Arrival {
  message: SipMessage;
  /** Where it came from, and where an answer goes. */
  from: Hop;
  /** Sends an answer on the way that the message came; never throws, for nobody waits for it. */
  reply(bytes: Buffer): void;
}

/** The sockets of a user agent. */
export interface Transports {
  /** Sends to a hop, opening a connection where one is needed; rejects with SipFault. */
  send(hop: Hop, bytes: Buffer): Promise<void>;
  /** Own address as a host sees it. */
  addressTo(host: string): Promise<string>;
  /** Where it listens. */
  readonly ports: Readonly<Record<Protocol, number>>;
  close(): Promise<void>;
}

/** What transports need. */
export interface TransportNeeds {
  clock: Clock;
  /** For UDP and TCP; 0 lets the system choose. */
  port: number;
  /** Null without a certificate of its own: then nothing listens for TLS. */
  tls: { port: number; certificate: string; key: string } | null;
  /** Whom to believe for TLS, in PEM; the system's unless given. */
  authority: string | null;
  /** Own address that others reach; found by the system's routes unless given. */
  address: string | null;
  onMessage(arrival: Arrival): void;
  onError(error: Error): void;
}

const MOST_CONNECTIONS = 2_048;
/** Of one machine, lest it keep all others out; devices behind one address of a router share it. own choice */
const MOST_OF_ONE = 256;
/** A peer that leaves so many bytes of answers unread, above what the system keeps for it, is let go. own choice */
const MOST_UNREAD = 262_144;
const HANDSHAKE_MS = 10_000;
const SWEEP_MS = 60_000;
/** A connection without a word for so long is closed; one that never said anything after the first of these. own choice */
const SILENT_MS = 7_200_000;
const MOST_ADDRESSES = 10_000;
/** How often the system is asked for a port that is free for both. own choice */
const MOST_TRIES = 10;
const PONG = "\r\n";

interface Connection {
  socket: Socket;
  hop: Hop;
  heardAt: number;
  spoke: boolean;
}

/** Opens the sockets; rejects when a port can't be had. */
export async function openTransports(needs: TransportNeeds): Promise<Transports> {
  const { clock, onMessage, onError } = needs;
  const connections = new Map<string, Connection>();
  const opening = new Map<string, Promise<Connection>>();
  const addresses = new Map<string, Promise<string>>();
  const udp = createSocket("udp4");
  let closed = false;

  /** What a stranger's message sets off must not end the calls of all others. */
  const hear = (arrival: Arrival): void => {
    try {
      onMessage(arrival);
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const answer = (socket: Socket, bytes: Buffer | string): void => {
    if (socket.writableLength > MOST_UNREAD) socket.destroy();
    else socket.write(bytes);
  };
  const keep = (socket: Socket, hop: Hop): Connection => {
    const connection: Connection = { socket, hop, heardAt: clock.monotonicMs(), spoke: false };
    const key = keyOf(hop);
    const frames = createFrames();
    connections.set(key, connection);
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => {
      connection.heardAt = clock.monotonicMs();
      const heard = frames.push(bytes);
      if (!heard) return void socket.destroy();
      // One is enough to show that the connection stands, however many signs of life came at once.
      if (heard.pings > 0) answer(socket, PONG);
      connection.spoke ||= heard.messages.length > 0;
      for (const message of heard.messages) hear({ message, from: hop, reply: (bytes) => answer(socket, bytes) });
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      if (connections.get(key) === connection) connections.delete(key);
    });
    return connection;
  };
  /** Counted from the first packet on: for TLS, many that never speak would else keep others out. */
  const guests = new Map<string, number>();
  const admit = (socket: Socket): void => {
    const host = plain(socket.remoteAddress ?? "");
    const ofOne = guests.get(host) ?? 0;
    if (host === "" || ofOne >= MOST_OF_ONE) return void socket.destroy();
    guests.set(host, ofOne + 1);
    socket.once("close", () => {
      const left = (guests.get(host) ?? 1) - 1;
      if (left > 0) guests.set(host, left);
      else guests.delete(host);
    });
  };
  const welcome = (protocol: Protocol) => (socket: Socket) => {
    const host = plain(socket.remoteAddress ?? "");
    if (host === "" || socket.destroyed) return void socket.destroy();
    keep(socket, { protocol, host, port: socket.remotePort ?? 0 });
  };
  const serve = (server: Server, port: number): Promise<Server> => {
    server.maxConnections = MOST_CONNECTIONS;
    server.prependListener("connection", admit);
    return listening(server, port);
  };
  const connect = async (hop: Hop): Promise<Connection> => {
    const known = connections.get(keyOf(hop));
    if (known) return known;
    const under = opening.get(keyOf(hop));
    if (under !== undefined) return under;
    const made = openSocket(hop, needs).then((socket) => {
      if (closed) socket.destroy();
      return keep(socket, hop);
    });
    opening.set(keyOf(hop), made);
    return made.finally(() => opening.delete(keyOf(hop)));
  };

  udp.on("message", (bytes, { address: host, port }) => {
    // Nothing can be sent to port 0, which only a forged datagram comes from.
    const message = port === 0 ? null : readMessage(bytes);
    const from: Hop = { protocol: "udp", host, port };
    const reply = (bytes: Buffer): void => {
      if (!closed) udp.send(bytes, port, host);
    };
    if (message) hear({ message, from, reply });
  });
  /** TCP first: where the system chooses, far more of its ports are taken than of UDP's; but that one may be, too. */
  const openBoth = async (tries: number): Promise<Server> => {
    const tcp = await serve(createServer(welcome("tcp")), needs.port);
    try {
      await bound(udp, (tcp.address() as { port: number }).port);
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
    const tcp = await openBoth(MOST_TRIES);
    servers.push(tcp);
    ports.udp = ports.tcp = (tcp.address() as { port: number }).port;
    udp.on("error", onError);
    if (needs.tls) {
      const { certificate: cert, key } = needs.tls;
      const server = await serve(
        createTlsServer({ cert, key, handshakeTimeout: HANDSHAKE_MS }, welcome("tls")),
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
    for (const { socket, heardAt, spoke } of connections.values()) {
      if (clock.monotonicMs() - heardAt > (spoke ? SILENT_MS : SWEEP_MS)) socket.destroy();
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
          error ? reject(new SipFault(`nothing can be sent to ${hop.host}: ${error.message}`)) : resolve(),
        ),
      );
    },
    addressTo(host) {
      if (needs.address !== null) return Promise.resolve(needs.address);
      const found = addresses.get(host);
      if (found !== undefined) return found;
      if (addresses.size >= MOST_ADDRESSES) addresses.clear();
      const asked = routeTo(host);
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

function keyOf({ protocol, host, port }: Hop): string {
  return `${protocol} ${host}:${port}`;
}

/** Addresses of IPv4 as sockets for both say them. */
function plain(address: string): string {
  return address.replace(/^::ffff:/, "");
}
