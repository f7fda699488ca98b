import type { Socket as UdpSocket } from "node:dgram";
import { createConnection, type Server, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "#plugin-api";
import { sentence } from "../sentences.ts";
import { type Hop, SipError } from "./hop.ts";

const CONNECT_TIMEOUT_MS = 4_000;

/**
 * Connects to a hop; rejects with SipError. `authority` is the trusted CA for TLS in PEM; null for the system's CAs.
 */
export function connectToHop(
  hop: Hop,
  { clock, authority }: { clock: Clock; authority: string | null },
): Promise<Socket> {
  const { protocol, host, port, name } = hop;
  return new Promise((resolve, reject) => {
    const ready = (): void => {
      timer.cancel();
      socket.off("error", failed);
      resolve(socket);
    };
    const failed = (error: Error): void => {
      timer.cancel();
      socket.destroy();
      reject(new SipError(sentence("connection-failed", { host: `${host}:${port}`, error: error.message })));
    };
    const timer = clock.after(CONNECT_TIMEOUT_MS, () =>
      failed(new Error(sentence("timed-out", { seconds: CONNECT_TIMEOUT_MS / 1_000 }))),
    );
    const options = { host, port, ...(name === undefined ? {} : { servername: name }) };
    const socket: Socket =
      protocol === "tls"
        ? connectTls({ ...options, ...(authority === null ? {} : { ca: authority }) }, ready)
        : createConnection({ host, port }, ready);
    socket.once("error", failed);
  });
}

/** Resolves once the server listens; rejects if the port is not available. */
export function listenOnPort(server: Server, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "0.0.0.0", () => {
      server.off("error", reject);
      resolve(server);
    });
  });
}

/** Resolves once the socket is bound; rejects if the port is not available. */
export function bindToPort(socket: UdpSocket, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, () => {
      socket.off("error", reject);
      resolve();
    });
  });
}
