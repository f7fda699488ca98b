import { type AddressInfo, createServer, type Socket } from "node:net";
import { loopbackForWildcard } from "../http/http-server.ts";
import type { Clock } from "../lib/clock.ts";
import { formatListenAddress, type ListenAddress } from "../settings/network-addresses.ts";
import { type ClientHelloResult, parseClientHello } from "./client-hello.ts";
import type { FindTenantSupervisor } from "./host-router.ts";
import { openUpstreamConnection, pipeBidirectionally } from "./upstream-connection.ts";

/** Hands each TLS connection on by the name that it asks for, as it is: keys and certificates are the organisation's. */
export interface SniRouter {
  readonly port: number;
  readonly url: string;
  /** Refuses new connections; the others are cut off after 2 s, unless their organisation's server ended them before. */
  stop(): Promise<void>;
}

/** A server that ends lets requests under way go on for a second. */
const SHUTDOWN_GRACE_MS = 2_000;
/** A caller says so much at once. */
const CLIENT_HELLO_TIMEOUT_MS = 5_000;
/** Connections of one address that have not said yet where they want to go; more are refused. own choice: appliances behind one address say so at once */
const MAX_PENDING_PER_ADDRESS = 500;
/** @source RFC 8446 6.2 */
const ALERTS = { unrecognizedName: 112, internalError: 80 } as const;

/** Takes the address. Rejects with Node's error. */
export function startSniRouter(
  { host, port }: ListenAddress,
  find: FindTenantSupervisor,
  most: number,
  clock: Clock,
): Promise<SniRouter> {
  const open = new Set<Socket>();
  const pendingByAddress = new Map<string, number>();

  async function readLimitedClientHello(socket: Socket): ReturnType<typeof readClientHello> {
    const address = socket.remoteAddress ?? "";
    const before = pendingByAddress.get(address) ?? 0;
    if (before >= MAX_PENDING_PER_ADDRESS) return { greeting: "none", bytes: Buffer.alloc(0) };
    pendingByAddress.set(address, before + 1);
    const found = await readClientHello(socket, clock);
    const left = (pendingByAddress.get(address) ?? 0) - 1;
    if (left > 0) pendingByAddress.set(address, left);
    else pendingByAddress.delete(address);
    return found;
  }

  async function routeConnection(socket: Socket): Promise<void> {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    const { greeting, bytes } = await readLimitedClientHello(socket);
    if (typeof greeting === "string") return void socket.destroy();
    const keeper = greeting.serverName === null ? null : find(greeting.serverName);
    if (!keeper) return sendTlsAlert(socket, ALERTS.unrecognizedName);
    try {
      const way = await openUpstreamConnection(keeper, socket.remoteAddress ?? "");
      if (socket.destroyed) return void way.destroy();
      way.write(bytes);
      pipeBidirectionally(socket, way);
    } catch {
      sendTlsAlert(socket, ALERTS.internalError);
    }
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => void routeConnection(socket));
  server.maxConnections = most;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      const { port: taken } = server.address() as AddressInfo;
      resolve({
        port: taken,
        url: `https://${formatListenAddress({ host: loopbackForWildcard(host), port: taken })}`,
        stop: () =>
          new Promise((stopped) => {
            const cut = clock.after(SHUTDOWN_GRACE_MS, () => {
              for (const socket of open) socket.destroy();
            });
            server.close(() => {
              cut.cancel();
              stopped();
            });
          }),
      });
    });
  });
}

/** What it begins with, and all that came; nothing more is read. "none" also for whoever takes too long or goes. */
function readClientHello(socket: Socket, clock: Clock): Promise<{ greeting: ClientHelloResult; bytes: Buffer }> {
  return new Promise((resolve) => {
    let bytes = Buffer.alloc(0);
    const end = (greeting: ClientHelloResult): void => {
      patience.cancel();
      socket.off("data", hear).off("end", none).off("close", none).pause();
      resolve({ greeting, bytes });
    };
    const none = (): void => end("none");
    const hear = (part: Buffer): void => {
      bytes = Buffer.concat([bytes, part]);
      const greeting = parseClientHello(bytes);
      if (greeting !== "more") end(greeting);
    };
    const patience = clock.after(CLIENT_HELLO_TIMEOUT_MS, none, { background: true });
    socket.on("data", hear).once("end", none).once("close", none);
  });
}

/** Says plainly, in the words of TLS, why there is nobody. */
function sendTlsAlert(socket: Socket, description: number): void {
  const fatal = 2;
  socket.end(Buffer.from([21, 3, 3, 0, 2, fatal, description]), () => socket.destroySoon());
}
