import { connect, createServer, type Server, type TLSSocket } from "node:tls";
import type { Clock, Timer } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { ListenAddress } from "../../settings/addresses.ts";
import { endpointFacts } from "../identity/certificate-facts.ts";
import type { OwnIdentity } from "../identity/own-identity.ts";
import { type Beat, readBeat } from "./beats.ts";

/** Who an appliance is to its neighbours. */
export type LanIdentity = Pick<OwnIdentity, "key" | "certificate" | "authority" | "facts">;

/** What the network between neighbours needs. */
export interface LanNeeds {
  clock: Clock;
  log: Log;
  /** Asked for each connection: a certificate may be renewed meanwhile. */
  identity(): LanIdentity;
  listen: ListenAddress;
  /** Where neighbours listen. */
  peers: readonly ListenAddress[];
  isRevoked(keyHash: string): boolean;
  take(beat: Beat): void;
  /** What a neighbour is told as soon as it is connected. */
  beat(): Beat;
}

/** Beats over TLS, each side sure of the other by the organisation's authority. */
export interface Lan {
  /** Resolves with the port once neighbours may connect; rejects with Node's error for a taken address. */
  start(): Promise<number>;
  send(beat: Beat): void;
  /** Ends connections with those that are not trusted any more; shows the present certificate from now on. */
  trustChanged(): void;
  stop(): Promise<void>;
}

const AGAIN_MS = 1_000;
/** A neighbour answers each beat; one that does not is called anew. */
const ANSWER_MS = 5_000;
const LONGEST_LINE = 131_072;
const MOST_WAITING = 65_536;

/** Makes it: each appliance calls all others and tells them its beats; what it hears comes by their calls. */
export function createLan(needs: LanNeeds): Lan {
  const { clock, log, take } = needs;
  const credentials = () => {
    const { key, certificate: cert, authority: ca } = needs.identity();
    return { key, cert, ca, minVersion: "TLSv1.3" as const };
  };
  const sockets = new Set<TLSSocket>();
  const callers = needs.peers.map((peer) => createCaller(peer));
  let server: Server | null = null;
  let stopped = false;

  /** Which appliance shows the certificate; null for none of the organisation's, this one, and one that was taken away. */
  const endpointOf = (socket: TLSSocket): string | null => {
    const shown = socket.authorized ? socket.getPeerCertificate(true)?.raw : undefined;
    const facts = shown ? endpointFacts(shown) : null;
    return facts && facts.endpoint !== needs.identity().facts.endpoint && !needs.isRevoked(facts.keyHash)
      ? facts.endpoint
      : null;
  };

  function keep(socket: TLSSocket): void {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", (error) => log.debug({ err: error }, "a neighbour was lost"));
  }

  function listenTo(socket: TLSSocket): void {
    const endpoint = endpointOf(socket);
    if (endpoint === null) {
      socket.destroy();
      return;
    }
    keep(socket);
    socket.setTimeout(ANSWER_MS * 2, () => socket.destroy());
    let rest = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > LONGEST_LINE) socket.destroy();
      for (const line of lines) {
        const beat = readBeat(line);
        // Nobody speaks for another.
        if (beat?.endpoint !== endpoint) continue;
        take(beat);
        socket.write(".");
      }
    });
  }

  function createCaller({ host, port }: ListenAddress) {
    let socket: TLSSocket | null = null;
    let isOpen = false;
    let again: Timer | null = null;
    const call = (): void => {
      if (stopped) return;
      isOpen = false;
      // Who it is, its certificate says, not its address.
      const made = connect({ ...credentials(), host, port, checkServerIdentity: () => undefined });
      socket = made;
      keep(made);
      made.setNoDelay(true);
      made.setTimeout(ANSWER_MS, () => made.destroy());
      made.once("secureConnect", () => {
        if (endpointOf(made) === null) return made.destroy();
        isOpen = true;
        made.resume();
        return tell(needs.beat());
      });
      made.once("close", () => {
        isOpen = false;
        if (!stopped) again = clock.after(AGAIN_MS, call, { background: true });
      });
    };
    const tell = (beat: Beat): void => {
      if (!socket || !isOpen) return;
      if (socket.writableLength > MOST_WAITING) socket.destroy();
      else socket.write(`${JSON.stringify(beat)}\n`);
    };
    return { call, tell, stop: () => again?.cancel() };
  }

  return {
    start() {
      const made = createServer({ ...credentials(), requestCert: true, rejectUnauthorized: true }, listenTo);
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
