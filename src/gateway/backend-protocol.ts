import { basename, join } from "node:path";
import type { Settings } from "../settings/schema.ts";

/** What the front says to an organisation's process: who comes from one of its ports, that nobody does any more, or "still there?" */
export type GatewayMessage = { port: number; address: string } | { gone: number } | { ping: number };
/** What is answered: it is known now, or "still here". */
export type BackendMessage = { known: number } | { pong: number };

/** Own address and a free port, for the front alone. */
const LOOPBACK_ANY_PORT = "127.0.0.1:0";

/**
 * The settings of an organisation's process: reached through the front alone, by `publicUrl`. What names a port or a folder
 * is for all organisations, so each has its own of it; it covers for nobody.
 */
export function backendSettings(read: Settings, publicUrl: string, dataDir: string): Settings {
  const { folder } = read.backups;
  return {
    ...read,
    listen: LOOPBACK_ANY_PORT,
    tls: { ...read.tls, listen: read.tls.listen === null ? null : LOOPBACK_ANY_PORT },
    api: { ...read.api, publicUrl, hosts: [new URL(publicUrl).hostname] },
    backups: { ...read.backups, folder: folder === null ? null : join(folder, basename(dataDir)) },
    failover: { ...read.failover, listen: null, peers: [] },
  };
}

/**
 * Listens to the front that started this process, and asks it to end when the front is gone. Gives who comes from a port of
 * this machine: callers have their own address for locks and logs. @source own choice: nothing is put into what they say
 */
export function connectToGateway(process: NodeJS.Process): (port: number) => string | undefined {
  const clients = new Map<number, string>();
  const send = (word: BackendMessage): void => void process.send?.(word, undefined, undefined, () => undefined);
  process.on("message", (word: GatewayMessage) => {
    if ("ping" in word) return send({ pong: word.ping });
    if ("gone" in word) return void clients.delete(word.gone);
    clients.set(word.port, word.address);
    send({ known: word.port });
  });
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  return (port) => clients.get(port);
}
