import { connect, createServer, type Server, type TLSSocket } from "node:tls";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { ListenAddress } from "../settings/network-addresses.ts";
import { readEndpointCertificate } from "../sync/identity/certificate-info.ts";
import type { LocalIdentity } from "../sync/identity/local-identity.ts";
import { type PeerHeartbeat, parseHeartbeat } from "./heartbeat.ts";

/** Who an appliance is to its neighbours. */
export type HeartbeatIdentity = Pick<LocalIdentity, "key" | "certificate" | "authority" | "facts">;

/** What the network between neighbours needs. */
export interface HeartbeatTransportDeps {
  clock: Clock;
  log: Log;
  /** Asked for each connection: a certificate may be renewed meanwhile. */
  identity(): HeartbeatIdentity;
  listen: ListenAddress;
  /** Where neighbours listen. */
  peers: readonly ListenAddress[];
  isRevoked(keyHash: string): boolean;
  onHeartbeat(beat: PeerHeartbeat): void;
  /** What a neighbour is told as soon as it is connected. */
  buildHeartbeat(): PeerHeartbeat;
}

/** Beats over TLS, each side sure of the other by the organisation's authority. */
export interface HeartbeatTransport {
  /** Resolves with the port once neighbours may connect; rejects with Node's error for a taken address. */
  start(): Promise<number>;
  send(beat: PeerHeartbeat): void;
  /** Ends connections with those that are not trusted any more; shows the present certificate from now on. */
  trustChanged(): void;
  stop(): Promise<void>;
}

const RECONNECT_MS = 1_000;
/** A neighbour answers each beat; one that does not is called anew. */
const RESPONSE_TIMEOUT_MS = 5_000;
const MAX_LINE_LENGTH = 131_072;
const MAX_BUFFERED_BYTES = 65_536;

/** Makes it: each appliance calls all others and tells them its beats; what it hears comes by their calls. */
export function createHeartbeatTransport(needs: HeartbeatTransportDeps): HeartbeatTransport {
  const { clock, log, onHeartbeat } = needs;
  const credentials = () => {
    const { key, certificate: cert, authority: ca } = needs.identity();
    return { key, cert, ca, minVersion: "TLSv1.3" as const };
  };
  const sockets = new Set<TLSSocket>();
  const callers = needs.peers.map((peer) => createPeerConnection(peer));
  let server: Server | null = null;
  let stopped = false;

  /** Which appliance shows the certificate; null for none of the organisation's, this one, and one that was taken away. */
  const endpointOf = (socket: TLSSocket): string | null => {
    const shown = socket.authorized ? socket.getPeerCertificate(true)?.raw : undefined;
    const facts = shown ? readEndpointCertificate(shown) : null;
    return facts && facts.endpoint !== needs.identity().facts.endpoint && !needs.isRevoked(facts.keyHash)
      ? facts.endpoint
      : null;
  };

  function trackSocket(socket: TLSSocket): void {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", (error) => log.debug({ err: error }, "a neighbour was lost"));
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
        // Nobody speaks for another.
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
    const call = (): void => {
      if (stopped) return;
      isOpen = false;
      // Who it is, its certificate says, not its address.
      const made = connect({ ...credentials(), host, port, checkServerIdentity: () => undefined });
      socket = made;
      trackSocket(made);
      made.setNoDelay(true);
      made.setTimeout(RESPONSE_TIMEOUT_MS, () => made.destroy());
      made.once("secureConnect", () => {
        if (endpointOf(made) === null) return made.destroy();
        isOpen = true;
        made.resume();
        return tell(needs.buildHeartbeat());
      });
      made.once("close", () => {
        isOpen = false;
        if (!stopped) again = clock.after(RECONNECT_MS, call, { background: true });
      });
    };
    const tell = (beat: PeerHeartbeat): void => {
      if (!socket || !isOpen) return;
      if (socket.writableLength > MAX_BUFFERED_BYTES) socket.destroy();
      else socket.write(`${JSON.stringify(beat)}\n`);
    };
    return { call, tell, stop: () => again?.cancel() };
  }

  return {
    start() {
      const made = createServer({ ...credentials(), requestCert: true, rejectUnauthorized: true }, handleConnection);
      made.on("tlsClientError", (error) => log.debug({ err: error }, "a neighbour was refused"));
      server = made;
      for (const caller of callers) caller.call();
      return new Promise((resolve, reject) => {
        made.once("error", reject);
        made.listen(needs.listen.port, needs.listen.host, () => resolve((made.address() as { port: number }).port));
      });
    },
    send(beat) {
      for (const caller of callers) caller.tell(beat);
    },
    trustChanged() {
      server?.setSecureContext(credentials());
      for (const socket of sockets) if (!socket.connecting && endpointOf(socket) === null) socket.destroy();
    },
    async stop() {
      stopped = true;
      for (const caller of callers) caller.stop();
      for (const socket of sockets) socket.destroy();
      const closing = server;
      if (closing?.listening) await new Promise<void>((resolve) => closing.close(() => resolve()));
    },
  };
}
