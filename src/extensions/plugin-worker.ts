import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../base/clock.ts";
import { BugError } from "../base/errors.ts";
import { keepSockets } from "../base/open-sockets.ts";
import type { PluginDefinition } from "../plugin-api/index.ts";
import { openDoor } from "./door.ts";
import { LEAVE, LEFT } from "./leave.ts";
import type { DoorInit, FromPlugin, ToPlugin } from "./wire.ts";

/** What the thread of one plugin is started with; `entry` is the URL of its index.js. */
export interface PluginWorkerData {
  entry: string;
  init: DoorInit;
}

if (!parentPort) throw new BugError("plugin-worker runs in a worker thread only");
const port = parentPort;
const closeSockets = keepSockets();
const { entry, init } = workerData as PluginWorkerData;
/** A plugin that has undone everything ends its thread by itself; one that left something open is ended by force. */
function send(message: FromPlugin): void {
  port.postMessage(message);
  if (message.kind !== "stopped") return;
  closeSockets();
  port.close();
}

function receive(handler: (message: ToPlugin) => void): void {
  port.on("message", (message: ToPlugin | typeof LEAVE) => {
    if (message !== LEAVE) return handler(message);
    closeSockets();
    port.postMessage(LEFT);
  });
}

const door = openDoor({ send, receive }, init, systemClock);
const plugin = (await import(entry)) as { default: PluginDefinition };
await door.start(plugin.default);
