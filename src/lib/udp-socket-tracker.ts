import dgram from "node:dgram";
import { syncBuiltinESMExports } from "node:module";

/**
 * Keeps the UDP sockets that this thread opens from now on; the function returned closes those that are still open. To be
 * called before a thread is ended by others: Node 20 aborts the whole process when a datagram comes in for a thread that is
 * being ended (`UDPWrap::OnRecv`).
 */
export function trackUdpSockets(): () => void {
  const open = new Set<dgram.Socket>();
  const create = dgram.createSocket;
  const createTracked = (...args: Parameters<typeof create>): dgram.Socket => {
    const socket = create(...args);
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    return socket;
  };
  dgram.createSocket = createTracked as typeof create;
  syncBuiltinESMExports();
  return () => {
    for (const socket of open) {
      socket.close();
      // Whoever opened it may come to that later.
      socket.close = () => socket;
    }
    open.clear();
  };
}
