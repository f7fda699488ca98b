import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A line to a server, which can be cut. */
export interface CuttableLine {
  url: string;
  cut(): void;
  /** Resolves with the moment (of `performance.now`) at which something came from the server again. */
  heal(): Promise<number>;
  end(): void;
}

/** Makes it, not cut. */
export async function cuttableLine(url: string): Promise<CuttableLine> {
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  let isCut = false;
  let came = (_at: number): void => undefined;
  const server = createServer((socket) => {
    if (isCut) {
      socket.destroy();
      return;
    }
    const onwards = connect(Number(port), hostname);
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
      const first = new Promise<number>((done) => {
        came = done;
      });
      isCut = false;
      return first;
    },
    end() {
      cut();
      server.close();
    },
  };
}
