import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../lib/clock.ts";
import { BugError } from "../lib/errors.ts";
import { refuseMetadataAddresses } from "../lib/metadata-addresses.ts";
import { trackUdpSockets } from "../lib/udp-socket-tracker.ts";
import type { PluginDefinition } from "../plugin-api/index.ts";
import { SHUTDOWN_COMPLETE, SHUTDOWN_REQUEST } from "./graceful-shutdown.ts";
import type { FromPlugin, PluginInit, ToPlugin } from "./plugin-protocol.ts";
import { createPluginRuntime } from "./plugin-runtime.ts";

/** Start data of a plugin's worker; `entry` is the URL of index.js. */
export interface PluginWorkerData {
  entry: string;
  init: PluginInit;
}

if (!parentPort) throw new BugError("plugin-worker must run in a worker thread");
const port = parentPort;
const closeSockets = trackUdpSockets();
refuseMetadataAddresses();
const { entry, init } = workerData as PluginWorkerData;
/** After a complete shutdown the thread exits by itself; open handles keep it alive until it is terminated. */
function send(message: FromPlugin): void {
  port.postMessage(message);
  if (message.kind !== "stopped") return;
  closeSockets();
  port.close();
}

function receive(handler: (message: ToPlugin) => void): void {
  port.on("message", (message: ToPlugin | typeof SHUTDOWN_REQUEST) => {
    if (message !== SHUTDOWN_REQUEST) return handler(message);
    closeSockets();
    port.postMessage(SHUTDOWN_COMPLETE);
  });
}

const runtime = createPluginRuntime({ send, receive }, init, systemClock);
const plugin = (await import(entry)) as { default: PluginDefinition };
await runtime.start(plugin.default);
