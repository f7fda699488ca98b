import { createSocket } from "node:dgram";
import { createServer } from "node:net";

/** Below those that systems give out by themselves: nobody gets one of these by asking for port 0 or by connecting. */
const [FIRST, END] = [10_000, 20_000];
/** Each process begins elsewhere, as test processes run side by side. */
let next = FIRST + ((process.pid * 14) % (END - FIRST));

/**
 * A port for something that can't choose one by itself: free for TCP and UDP, as is the one after it, on every address.
 * No test gets it twice until all have had their turn.
 */
export async function unusedPort(): Promise<number> {
  for (;;) {
    const port = next;
    next = port + 2 < END ? port + 2 : FIRST;
    if ((await isFree(port)) && (await isFree(port + 1))) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  return (await isFreeForTcp(port)) && (await isFreeForUdp(port));
}

function isFreeForTcp(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "0.0.0.0", () => server.close(() => resolve(true)));
  });
}

function isFreeForUdp(port: number): Promise<boolean> {
  const socket = createSocket("udp4");
  return new Promise((resolve) => {
    socket.once("error", () => socket.close(() => resolve(false)));
    socket.bind(port, "0.0.0.0", () => socket.close(() => resolve(true)));
  });
}
