import { type AddressInfo, createServer, type Socket } from "node:net";
import { loopbackForWildcard } from "../http/http-server.ts";
import type { Clock } from "../lib/clock.ts";
import { formatListenAddress, type ListenAddress } from "../settings/network-addresses.ts";
import { type ClientHelloResult, parseClientHello } from "./client-hello.ts";
import type { FindTenantSupervisor } from "./host-router.ts";
import { openUpstreamConnection, pipeBidirectionally } from "./upstream-connection.ts";

/** Routes TLS connections by SNI without decrypting them: each tenant has its own keys and certificates. */
export interface SniRouter {
  readonly port: number;
  readonly url: string;
  /** Refuses new connections; closes those that their tenant's server has not ended within 2 s. */
  stop(): Promise<void>;
}

/** A stopping server finishes requests in progress within a second. */
const SHUTDOWN_GRACE_MS = 2_000;
/** Clients send the ClientHello as soon as they are connected. */
const CLIENT_HELLO_TIMEOUT_MS = 5_000;
/** Connections of one address without a complete ClientHello; further ones are refused. Appliances behind one NAT address send it at once. */
const MAX_PENDING_PER_ADDRESS = 500;
/** @source RFC 8446 6.2 */
const ALERTS = { unrecognizedName: 112, internalError: 80 } as const;

/** Listens at the address. Rejects with Node's error. */
export function startSniRouter(
  { host, port }: ListenAddress,
  find: FindTenantSupervisor,
  maxConnections: number,
  clock: Clock,
): Promise<SniRouter> {
  const open = new Set<Socket>();
  const pendingByAddress = new Map<string, number>();

  async function readLimitedClientHello(socket: Socket): ReturnType<typeof readClientHello> {
    const address = socket.remoteAddress ?? "";
    const before = pendingByAddress.get(address) ?? 0;
    if (before >= MAX_PENDING_PER_ADDRESS) return { hello: "none", bytes: Buffer.alloc(0) };
    pendingByAddress.set(address, before + 1);
    const result = await readClientHello(socket, clock);
    const left = (pendingByAddress.get(address) ?? 0) - 1;
    if (left > 0) pendingByAddress.set(address, left);
    else pendingByAddress.delete(address);
    return result;
  }

  async function routeConnection(socket: Socket): Promise<void> {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    const { hello, bytes } = await readLimitedClientHello(socket);
    if (typeof hello === "string") return void socket.destroy();
    const supervisor = hello.serverName === null ? null : find(hello.serverName);
    if (!supervisor) return sendTlsAlert(socket, ALERTS.unrecognizedName);
    try {
      const upstream = await openUpstreamConnection(supervisor, socket.remoteAddress ?? "");
      if (socket.destroyed) return void upstream.destroy();
      upstream.write(bytes);
      pipeBidirectionally(socket, upstream);
    } catch {
      sendTlsAlert(socket, ALERTS.internalError);
    }
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => void routeConnection(socket));
  server.maxConnections = maxConnections;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      const { port: taken } = server.address() as AddressInfo;
      resolve({
        port: taken,
        url: `https://${formatListenAddress({ host: loopbackForWildcard(host), port: taken })}`,
        stop: () =>
          new Promise((stopped) => {
            const graceTimer = clock.after(SHUTDOWN_GRACE_MS, () => {
              for (const socket of open) socket.destroy();
            });
            server.close(() => {
              graceTimer.cancel();
              stopped();
            });
          }),
      });
    });
  });
}

/** Reads until the ClientHello is complete, then pauses the socket. "none" also on timeout and early close. */
function readClientHello(socket: Socket, clock: Clock): Promise<{ hello: ClientHelloResult; bytes: Buffer }> {
  return new Promise((resolve) => {
    let bytes = Buffer.alloc(0);
    const end = (hello: ClientHelloResult): void => {
      timeout.cancel();
      socket.off("data", onData).off("end", none).off("close", none).pause();
      resolve({ hello, bytes });
    };
    const none = (): void => end("none");
    const onData = (part: Buffer): void => {
      bytes = Buffer.concat([bytes, part]);
      const hello = parseClientHello(bytes);
      if (hello !== "more") end(hello);
    };
    const timeout = clock.after(CLIENT_HELLO_TIMEOUT_MS, none, { background: true });
    socket.on("data", onData).once("end", none).once("close", none);
  });
}

/** Sends a TLS alert that tells the client why the connection is refused. */
function sendTlsAlert(socket: Socket, description: number): void {
  const fatal = 2;
  socket.end(Buffer.from([21, 3, 3, 0, 2, fatal, description]), () => socket.destroySoon());
}
