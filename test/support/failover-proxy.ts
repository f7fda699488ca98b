import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** One address in front of several servers: each connection goes to the first one that takes it. */
export interface FailoverProxy {
  host: string;
  port: number;
  /** Ends all connections and goes to these servers from now on. */
  setTargets(to: readonly ProxyTarget[]): void;
  end(): void;
}

/** Where a server listens. */
export interface ProxyTarget {
  host: string;
  port: number;
}

/** Opens it on a free port of `host`. */
export async function openFailoverProxy(host: string, first: readonly ProxyTarget[]): Promise<FailoverProxy> {
  const open = new Set<Socket>();
  let targets = first;
  const kept = (socket: Socket, other: Socket): void => {
    open.add(socket);
    socket.on("error", () => other.destroy());
    socket.on("close", () => {
      open.delete(socket);
      other.destroy();
    });
  };
  const reach = (socket: Socket, left: readonly ProxyTarget[]): void => {
    const [target, ...others] = left;
    if (target === undefined) {
      socket.destroy();
      return;
    }
    const onwards = connect(target);
    const next = (): void => reach(socket, others);
    onwards.once("error", next);
    onwards.once("connect", () => {
      onwards.off("error", next);
      kept(socket, onwards);
      kept(onwards, socket);
      socket.pipe(onwards);
      onwards.pipe(socket);
    });
  };
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    reach(socket, targets);
  }).listen(0, host);
  await once(server, "listening");
  const endAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    host,
    port: (server.address() as AddressInfo).port,
    setTargets(to) {
      targets = to;
      endAll();
    },
    end() {
      endAll();
      server.close();
    },
  };
}
