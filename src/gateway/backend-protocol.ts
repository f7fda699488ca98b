import { basename, join } from "node:path";
import type { Settings } from "../settings/schema.ts";
import { givenTlsAddress } from "../settings/tls-address.ts";

/** Gateway to tenant process: the client address of a local port, the end of that connection, or a liveness ping. */
export type GatewayMessage = { port: number; address: string } | { gone: number } | { ping: number };
/** Tenant process to gateway: the announced port is registered, or the response to a ping. */
export type BackendMessage = { known: number } | { pong: number };

/** Only the gateway connects to a tenant process, at a free port of the loopback interface. */
const LOOPBACK_ANY_PORT = "127.0.0.1:0";

/**
 * Settings of a tenant process, which is reachable through the gateway only, as `publicUrl`. Settings that name a port or a
 * folder apply to all tenants, so each tenant gets its own; failover is off.
 */
export function backendSettings(read: Settings, publicUrl: string, dataDir: string): Settings {
  const { folder } = read.backups;
  return {
    ...read,
    listen: LOOPBACK_ANY_PORT,
    tls: { ...read.tls, listen: givenTlsAddress(read) === null ? null : LOOPBACK_ANY_PORT },
    api: { ...read.api, publicUrl, hosts: [new URL(publicUrl).hostname] },
    backups: { ...read.backups, folder: folder === null ? null : join(folder, basename(dataDir)) },
    failover: { ...read.failover, listen: null, peers: [] },
  };
}

/**
 * Connects to the gateway that started this process and stops the process when the gateway is gone. Returns the lookup of
 * the real client address by local port, for locks and logs. @source docs/decisions/0601-gateway.md, Client addresses
 */
export function connectToGateway(process: NodeJS.Process): (port: number) => string | undefined {
  const clients = new Map<number, string>();
  const send = (message: BackendMessage): void => void process.send?.(message, undefined, undefined, () => undefined);
  process.on("message", (message: GatewayMessage) => {
    if ("ping" in message) return send({ pong: message.ping });
    if ("gone" in message) return void clients.delete(message.gone);
    clients.set(message.port, message.address);
    send({ known: message.port });
  });
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  return (port) => clients.get(port);
}
