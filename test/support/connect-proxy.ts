import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

/** A proxy for tunnels that knows no names: whatever host is asked for, it leads to this machine. */
export interface ConnectProxy {
  url: string;
  end(): void;
}

/** Opens it on a free port of 127.0.0.1. */
export async function openConnectProxy(): Promise<ConnectProxy> {
  const open = new Set<Socket>();
  const server = createServer();
  server.on("connect", ({ url = "" }, socket: Socket) => {
    const onwards = connect(Number(url.split(":").at(-1)), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(onwards).pipe(socket);
    });
    for (const [one, other] of [
      [socket, onwards],
      [onwards, socket],
    ] as const) {
      open.add(one);
      one.on("error", () => undefined);
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    end() {
      server.close();
      for (const each of open) each.destroy();
    },
  };
}
