import dgram from "node:dgram";
import { syncBuiltinESMExports } from "node:module";

/**
 * Tracks the UDP sockets that this thread opens from now on; the returned function closes those still open. Call it
 * before a thread is terminated from outside: Node 20 aborts the whole process when a datagram arrives for a thread
 * that is being terminated (`UDPWrap::OnRecv`).
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
      // The owner may still call close().
      socket.close = () => socket;
    }
    open.clear();
  };
}
