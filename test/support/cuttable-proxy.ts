import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** How long anything may take on a machine that does much else, too. */
const TIMEOUT_MS = 90_000;
const POLL_MS = 25;

/** The line between the two, which can be cut. */
export interface CuttableProxy {
  url: string;
  cut(): void;
  /** Resolves with the moment (of `performance.now`) at which something came from the daemon again. */
  heal(): Promise<number>;
  end(): void;
}

/** Lays a line to a daemon. */
export async function openCuttableProxy(url: string): Promise<CuttableProxy> {
  const { hostname: host, port } = new URL(url);
  const open = new Set<Socket>();
  let isCut = false;
  let came = (_at: number): void => undefined;
  const server = createServer((socket) => {
    if (isCut) {
      socket.destroy();
      return;
    }
    const onwards = connect(Number(port), host);
    onwards.once("data", () => came(performance.now()));
    for (const [one, other] of [
      [socket, onwards],
      [onwards, socket],
    ] as const) {
      open.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    heal() {
      isCut = false;
      return new Promise((done) => {
        came = done;
      });
    },
    end() {
      cut();
      server.close();
    },
  };
}

/** Looks again and again until the answer fits. */
export async function pollUntil<T>(look: () => Promise<T>, fits: (found: T) => boolean): Promise<T> {
  for (let waited = 0; ; waited += POLL_MS) {
    const found = await look();
    if (fits(found) || waited > TIMEOUT_MS) return found;
    await pause(POLL_MS);
  }
}
