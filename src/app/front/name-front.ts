import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { formatListen, type ListenAddress } from "../../settings/addresses.ts";
import { reachable } from "../server.ts";
import { type Greeting, readGreeting } from "./client-hello.ts";
import type { FindKeeper } from "./host-front.ts";
import { join, openWay } from "./way.ts";

/** Hands each TLS connection on by the name that it asks for, as it is: keys and certificates are the organisation's. */
export interface NameFront {
  readonly port: number;
  readonly url: string;
  /** Refuses new connections; the others are cut off after 2 s, unless their organisation's server ended them before. */
  stop(): Promise<void>;
}

/** A server that ends lets requests under way go on for a second. */
const GRACE_MS = 2_000;
/** A caller says so much at once. */
const GREETED_WITHIN_MS = 5_000;
/** Connections of one address that have not said yet where they want to go; more are refused. own choice: appliances behind one address say so at once */
const MOST_SILENT = 500;
/** @source RFC 8446 6.2 */
const ALERTS = { unrecognizedName: 112, internalError: 80 } as const;

/** Takes the address. Rejects with Node's error. */
export function startNameFront(
  { host, port }: ListenAddress,
  find: FindKeeper,
  most: number,
  clock: Clock,
): Promise<NameFront> {
  const open = new Set<Socket>();
  const silent = new Map<string, number>();

  async function heard(socket: Socket): ReturnType<typeof greetingOf> {
    const address = socket.remoteAddress ?? "";
    const before = silent.get(address) ?? 0;
    if (before >= MOST_SILENT) return { greeting: "none", bytes: Buffer.alloc(0) };
    silent.set(address, before + 1);
    const found = await greetingOf(socket, clock);
    const left = (silent.get(address) ?? 0) - 1;
    if (left > 0) silent.set(address, left);
    else silent.delete(address);
    return found;
  }

  async function greet(socket: Socket): Promise<void> {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    const { greeting, bytes } = await heard(socket);
    if (typeof greeting === "string") return void socket.destroy();
    const keeper = greeting.serverName === null ? null : find(greeting.serverName);
    if (!keeper) return alert(socket, ALERTS.unrecognizedName);
    try {
      const way = await openWay(keeper, socket.remoteAddress ?? "");
      if (socket.destroyed) return void way.destroy();
      way.write(bytes);
      join(socket, way);
    } catch {
      alert(socket, ALERTS.internalError);
    }
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => void greet(socket));
  server.maxConnections = most;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      const { port: taken } = server.address() as AddressInfo;
      resolve({
        port: taken,
        url: `https://${formatListen({ host: reachable(host), port: taken })}`,
        stop: () =>
          new Promise((stopped) => {
            const cut = clock.after(GRACE_MS, () => {
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
function greetingOf(socket: Socket, clock: Clock): Promise<{ greeting: Greeting; bytes: Buffer }> {
  return new Promise((resolve) => {
    let bytes = Buffer.alloc(0);
    const end = (greeting: Greeting): void => {
      patience.cancel();
      socket.off("data", hear).off("end", none).off("close", none).pause();
      resolve({ greeting, bytes });
    };
    const none = (): void => end("none");
    const hear = (part: Buffer): void => {
      bytes = Buffer.concat([bytes, part]);
      const greeting = readGreeting(bytes);
      if (greeting !== "more") end(greeting);
    };
    const patience = clock.after(GREETED_WITHIN_MS, none, { background: true });
    socket.on("data", hear).once("end", none).once("close", none);
  });
}

/** Says plainly, in the words of TLS, why there is nobody. */
function alert(socket: Socket, description: number): void {
  const fatal = 2;
  socket.end(Buffer.from([21, 3, 3, 0, 2, fatal, description]), () => socket.destroySoon());
}
