import { connect, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { MAX_CLOUD_CONNECTIONS } from "../http/http-server.ts";
import { UpstreamError } from "../lib/errors.ts";
import type { TenantSupervisor } from "./process-supervisor.ts";

/**
 * A connection to an organisation's process, which knows that it is `caller`'s. Rejects with UpstreamError while there is
 * nobody to connect to.
 */
export async function openUpstreamConnection(keeper: TenantSupervisor, caller: string): Promise<Socket> {
  const found = keeper.target();
  if (!found) throw new UpstreamError("starting", "The organisation's process is not there.");
  // Nobody takes the connections of other organisations.
  if (keeper.connections >= MAX_CLOUD_CONNECTIONS)
    throw new UpstreamError("starting", "The organisation has too many callers.");
  const { at, process } = found;
  const socket = connect({ ...at, allowHalfOpen: true, noDelay: true });
  keeper.connections += 1;
  let port: number | null = null;
  socket.once("close", () => {
    keeper.connections -= 1;
    if (port !== null) process.releaseClient(port);
  });
  await new Promise<void>((resolve, reject) => {
    socket.on("error", (error) => reject(new UpstreamError("starting", "The organisation is not there.", {}, error)));
    socket.once("connect", resolve);
  });
  port = socket.localPort as number;
  try {
    await process.announceClient(port, caller);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return socket;
}

/** Longer than an organisation's server keeps a connection on which nothing moves. */
const IDLE_TIMEOUT_MS = 90_000;

/**
 * Hands on whatever `caller` and its way say, until both have ended or one has broken. A caller that neither ends nor reads
 * any more, whose server has long gone, holds no place.
 */
export function pipeBidirectionally(caller: Socket, way: Socket): void {
  caller.setTimeout(IDLE_TIMEOUT_MS, () => caller.destroy());
  pipeline(caller, way, () => undefined);
  pipeline(way, caller, () => undefined);
}
