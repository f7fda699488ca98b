import { connect, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { MAX_CLOUD_CONNECTIONS } from "../http/http-server.ts";
import { UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { TenantSupervisor } from "./process-supervisor.ts";

/**
 * Opens a connection to a tenant process after announcing the client's address to it. Rejects with UpstreamError while the
 * process does not listen.
 */
export async function openUpstreamConnection(supervisor: TenantSupervisor, client: string): Promise<Socket> {
  const target = supervisor.target();
  if (!target) throw new UpstreamError("starting", sentence("error.the-organisation-s-process-is-not-running"));
  // One tenant must not use up the connections of the others.
  if (supervisor.connections >= MAX_CLOUD_CONNECTIONS)
    throw new UpstreamError("starting", sentence("error.the-organisation-has-too-many-connections"));
  const { at, process } = target;
  const socket = connect({ ...at, allowHalfOpen: true, noDelay: true });
  supervisor.connections += 1;
  let port: number | null = null;
  socket.once("close", () => {
    supervisor.connections -= 1;
    if (port !== null) process.releaseClient(port);
  });
  await new Promise<void>((resolve, reject) => {
    socket.on("error", (error) =>
      reject(
        new UpstreamError(
          "starting",
          sentence("error.the-organisation-s-process-does-not-accept-connections"),
          {},
          error,
        ),
      ),
    );
    socket.once("connect", resolve);
  });
  port = socket.localPort as number;
  try {
    await process.announceClient(port, client);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return socket;
}

/** Longer than a tenant's server keeps an idle connection. */
const IDLE_TIMEOUT_MS = 90_000;

/**
 * Pipes both ways until both sides have ended or one has failed. The timeout closes connections of clients that neither end
 * nor read, after their server is gone.
 */
export function pipeBidirectionally(client: Socket, upstream: Socket): void {
  client.setTimeout(IDLE_TIMEOUT_MS, () => client.destroy());
  pipeline(client, upstream, () => undefined);
  pipeline(upstream, client, () => undefined);
}
