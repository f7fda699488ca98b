import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Keeps the number of connections of a server within its limit. */
export interface ConnectionLimits {
  /** Must be called for each connection that carries requests: with TLS, the encrypted one. */
  join(socket: Socket): void;
  /** Must be called for each upgrade: the connection then counts as one with a request under way for good. */
  countUpgrade(request: IncomingMessage): void;
  /** The client of the connection has a valid token or session: the connection is not closed in favour of others. */
  markKnown(socket: Socket): void;
}

interface Connection {
  socket: Socket;
  address: string;
  isKnown: boolean;
  /** Requests under way, and one for good after an upgrade. */
  requests: number;
}

/**
 * Beyond `maxConnections`, a new connection replaces one of the strangers from the address with the most of them: the
 * oldest without a request under way, else the oldest. It is refused only if every connection belongs to a known
 * client, so that strangers cannot lock others out by opening connections.
 */
export function limitConnections(server: Server, maxConnections: number): ConnectionLimits {
  const connections = new Map<string, Connection>();
  const bySocket = new WeakMap<Socket, Connection>();
  /** Connections of clients that are not known, oldest first, by address. */
  const strangers = new Map<string, Set<Connection>>();

  function forget(key: string, connection: Connection): void {
    connections.delete(key);
    removeStranger(connection);
  }

  function removeStranger(connection: Connection): void {
    const ofAddress = strangers.get(connection.address);
    ofAddress?.delete(connection);
    if (ofAddress?.size === 0) strangers.delete(connection.address);
  }

  function evict(): boolean {
    let most: Set<Connection> | undefined;
    for (const ofAddress of strangers.values()) if (ofAddress.size > (most?.size ?? 0)) most = ofAddress;
    if (!most) return false;
    let victim: Connection | undefined;
    for (const connection of most) {
      victim ??= connection;
      if (connection.requests > 0) continue;
      victim = connection;
      break;
    }
    if (!victim) return false;
    // Its close event comes later; the place is free now.
    forget(keyOf(victim.socket), victim);
    victim.socket.destroy();
    return true;
  }

  server.on("connection", (socket: Socket) => {
    const key = keyOf(socket);
    if (connections.size >= maxConnections && !evict()) {
      socket.destroy();
      return;
    }
    const connection: Connection = { socket, address: socket.remoteAddress ?? "", isKnown: false, requests: 0 };
    connections.set(key, connection);
    const ofAddress = strangers.get(connection.address) ?? new Set();
    strangers.set(connection.address, ofAddress.add(connection));
    socket.once("close", () => {
      if (connections.get(key) === connection) forget(key, connection);
    });
  });
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = bySocket.get(socket);
    if (!connection) return;
    connection.requests++;
    response.once("close", () => connection.requests--);
  });

  return {
    join(socket) {
      const connection = connections.get(keyOf(socket));
      if (connection) bySocket.set(socket, connection);
    },
    countUpgrade({ socket }) {
      const connection = bySocket.get(socket);
      if (connection) connection.requests++;
    },
    markKnown(socket) {
      const connection = bySocket.get(socket);
      if (!connection || connection.isKnown) return;
      connection.isKnown = true;
      removeStranger(connection);
    },
  };
}

/** Unique among open connections. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
