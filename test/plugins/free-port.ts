import { createSocket } from "node:dgram";
import { type AddressInfo, createServer } from "node:net";

/** A port that was free a moment ago, for TCP and for UDP. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const socket = createSocket("udp4");
  const isFree = await new Promise<boolean>((resolve) => {
    socket.once("error", () => resolve(false)).bind(port, "127.0.0.1", () => resolve(true));
  });
  await Promise.all([
    new Promise((resolve) => server.close(resolve)),
    new Promise<void>((resolve) => socket.close(resolve)),
  ]);
  return isFree ? port : freePort();
}
