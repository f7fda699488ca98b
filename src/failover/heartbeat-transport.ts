import { connect, createServer, type Server, type TLSSocket } from "node:tls";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { isOwnAddress, type OwnAddress } from "../lib/network-route.ts";
import type { ListenAddress } from "../settings/network-addresses.ts";
import { readEndpointCertificate } from "../sync/identity/certificate-info.ts";
import type { LocalIdentity } from "../sync/identity/local-identity.ts";
import { type PeerHeartbeat, parseHeartbeat } from "./heartbeat.ts";

/** Identity shown to peers. */
export type HeartbeatIdentity = Pick<LocalIdentity, "key" | "certificate" | "authority" | "facts">;

export interface HeartbeatTransportDeps {
  clock: Clock;
  log: Log;
  /** Read for each connection, because the certificate may be renewed. */
  identity(): HeartbeatIdentity;
  listen: ListenAddress;
  /** Listen addresses of the peers. */
  peers: readonly ListenAddress[];
  isRevoked(keyHash: string): boolean;
  onHeartbeat(beat: PeerHeartbeat): void;
  /** First heartbeat on a new connection. */
  buildHeartbeat(): PeerHeartbeat;
}

/** Heartbeats over mutual TLS with the organisation's certificate authority. */
export interface HeartbeatTransport {
  /** Resolves with the port once it listens; rejects with Node's error, for example if the address is in use. */
  start(): Promise<number>;
  send(beat: PeerHeartbeat): void;
  /** Closes connections of peers that are no longer trusted and loads the present certificate. */
  trustChanged(): void;
  /** The machine's addresses changed: connections from an address that is gone are opened again, waiting ones at once. */
  networkChanged(addresses: readonly OwnAddress[]): void;
  stop(): Promise<void>;
}

const RECONNECT_MS = 1_000;
/** A peer acknowledges each heartbeat; without one the connection is opened again. */
const RESPONSE_TIMEOUT_MS = 5_000;
const MAX_LINE_LENGTH = 131_072;
const MAX_BUFFERED_BYTES = 65_536;

/** Each appliance connects to all peers and sends on its own connections; it receives on theirs. */
export function createHeartbeatTransport(deps: HeartbeatTransportDeps): HeartbeatTransport {
  const { clock, log, onHeartbeat } = deps;
  const credentials = () => {
    const { key, certificate: cert, authority: ca } = deps.identity();
    return { key, cert, ca, minVersion: "TLSv1.3" as const };
  };
  const sockets = new Set<TLSSocket>();
  const connections = deps.peers.map((peer) => createPeerConnection(peer));
  let server: Server | null = null;
  let stopped = false;

  /** The peer that the certificate identifies; null if it is untrusted, revoked, or this appliance. */
  const endpointOf = (socket: TLSSocket): string | null => {
    const shown = socket.authorized ? socket.getPeerCertificate(true)?.raw : undefined;
    const facts = shown ? readEndpointCertificate(shown) : null;
    return facts && facts.endpoint !== deps.identity().facts.endpoint && !deps.isRevoked(facts.keyHash)
      ? facts.endpoint
      : null;
  };

  function trackSocket(socket: TLSSocket): void {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", (error) =>
      log.debug({ event: "failover.peer_disconnected", err: error }, "connection to a peer failed"),
    );
  }

  function handleConnection(socket: TLSSocket): void {
    const endpoint = endpointOf(socket);
    if (endpoint === null) {
      socket.destroy();
      return;
    }
    trackSocket(socket);
    socket.setTimeout(RESPONSE_TIMEOUT_MS * 2, () => socket.destroy());
    let rest = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MAX_LINE_LENGTH) socket.destroy();
      for (const line of lines) {
        const beat = parseHeartbeat(line);
        // A peer may send only its own heartbeats.
        if (beat?.endpoint !== endpoint) continue;
        onHeartbeat(beat);
        socket.write(".");
      }
    });
  }

  function createPeerConnection({ host, port }: ListenAddress) {
    let socket: TLSSocket | null = null;
    let isOpen = false;
    let again: Timer | null = null;
    const dial = (): void => {
      if (stopped) return;
      isOpen = false;
      // The certificate identifies the peer, not its address.
      const made = connect({ ...credentials(), host, port, checkServerIdentity: () => undefined });
      socket = made;
      trackSocket(made);
      made.setNoDelay(true);
      made.setTimeout(RESPONSE_TIMEOUT_MS, () => made.destroy());
      made.once("secureConnect", () => {
        if (endpointOf(made) === null) return made.destroy();
        isOpen = true;
        made.resume();
        return sendHeartbeat(deps.buildHeartbeat());
      });
      made.once("close", () => {
        isOpen = false;
        if (stopped) return;
        again = clock.after(
          RECONNECT_MS,
          () => {
            again = null;
            dial();
          },
          { background: true },
        );
      });
    };
    const sendHeartbeat = (beat: PeerHeartbeat): void => {
      if (!socket || !isOpen) return;
      if (socket.writableLength > MAX_BUFFERED_BYTES) socket.destroy();
      else socket.write(`${JSON.stringify(beat)}\n`);
    };
    const retryNow = (): void => {
      if (!again) return;
      again.cancel();
      again = null;
      dial();
    };
    return { dial, sendHeartbeat, retryNow, stop: () => again?.cancel() };
  }

  return {
    start() {
      const made = createServer({ ...credentials(), requestCert: true, rejectUnauthorized: true }, handleConnection);
      made.on("tlsClientError", (error) =>
        log.debug({ event: "failover.peer_refused", err: error }, "TLS connection of a peer refused"),
      );
      server = made;
      for (const connection of connections) connection.dial();
      return new Promise((resolve, reject) => {
        made.once("error", reject);
        made.listen(deps.listen.port, deps.listen.host, () => resolve((made.address() as { port: number }).port));
      });
    },
    send(beat) {
      for (const connection of connections) connection.sendHeartbeat(beat);
    },
    trustChanged() {
      server?.setSecureContext(credentials());
      for (const socket of sockets) if (!socket.connecting && endpointOf(socket) === null) socket.destroy();
    },
    networkChanged(addresses) {
      for (const socket of sockets)
        if (socket.localAddress !== undefined && !isOwnAddress(addresses, socket.localAddress)) socket.destroy();
      for (const connection of connections) connection.retryNow();
    },
    async stop() {
      stopped = true;
      for (const connection of connections) connection.stop();
      for (const socket of sockets) socket.destroy();
      const closing = server;
      if (closing?.listening) await new Promise<void>((resolve) => closing.close(() => resolve()));
    },
  };
}
