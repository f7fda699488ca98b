/** Entry of a plugin's process: closes what the permission model leaves open, then loads the plugin. */

import { Socket } from "node:net";
import { systemClock } from "../lib/clock.ts";
import "../plugin-api/index.ts";
import type { ConfigFields, DeliveryItem, PluginDefinition } from "../plugin-api/index.ts";
import { createConnectPolicy } from "./connect-policy.ts";
import { createFrameReader, encodeFrame } from "./plugin-frames.ts";
import type { FromPlugin, PluginInit, ToPlugin } from "./plugin-protocol.ts";
import { createPluginRuntime } from "./plugin-runtime.ts";
import { guardProcess } from "./process-guard.ts";

/** First message to a plugin's process. */
export type ProcessStart =
  | {
      kind: "run";
      entry: string;
      init: PluginInit;
      /** As the manifest declares them. */
      hosts: readonly string[];
      /** As the administrator set them. */
      targets: readonly string[];
      deviceAttributes: readonly string[];
    }
  /** Only reads the fields of config.js. */
  | { kind: "fields"; entry: string };

/** What a plugin's process says: as a thread does, and the fields of its configuration. */
export type FromProcess = FromPlugin | { kind: "fields"; config: ConfigFields; profile: ConfigFields | null };

/** The daemon's end of the messages is at this descriptor. */
const LINK_FD = 3;
/** Messages of the host hold at most the sound of a ring or a page of rows. */
const MAX_HOST_FRAME_BYTES = 268_435_456;
/** Refused targets that are logged, each once. */
const MAX_REFUSALS = 50;

const link = new Socket({ fd: LINK_FD, readable: true, writable: true });
const { exit } = process;
const end = (): never => exit.call(process, 0);
link.on("error", end);
link.on("close", end);
// The daemon stops its plugins itself, after their last outcomes.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});

let receive: (message: ToPlugin) => void = () => {};
let isStarted = false;
const read = createFrameReader(MAX_HOST_FRAME_BYTES, (message) => {
  if (isStarted) return receive(message as ToPlugin);
  isStarted = true;
  void start(message as ProcessStart);
});
link.on("data", read);

function send(message: FromProcess): void {
  link.write(encodeFrame(message));
  if (message.kind !== "stopped") return;
  // Open handles of the plugin keep the process until it is killed.
  link.removeListener("close", end);
  link.end();
  link.unref();
}

async function start(given: ProcessStart): Promise<void> {
  if (given.kind === "fields") {
    guardProcess({ link, policy: createConnectPolicy([], []), ports: [], onRefused: () => {} });
    const { default: config, profile = null } = (await import(given.entry)) as {
      default: ConfigFields;
      profile?: ConfigFields;
    };
    return send({ kind: "fields", config, profile });
  }
  const { entry, init, hosts, targets, deviceAttributes } = given;
  const policy = createConnectPolicy(hosts, init.allowedTargets);
  for (const target of targets) policy.addTarget(target);
  guardProcess({ link, policy, ports: Object.values(init.ports), onRefused: refusalLog() });
  const connection = {
    send,
    receive: (handler: (message: ToPlugin) => void) => {
      receive = (message) => {
        for (const target of targetsOf(message, deviceAttributes)) policy.addTarget(target);
        handler(message);
      };
    },
  };
  const runtime = createPluginRuntime(connection, init, systemClock);
  const plugin = (await import(entry)) as { default: PluginDefinition };
  await runtime.start(plugin.default);
}

/** Addresses of the devices in a message, in the attributes that the manifest declares. */
function targetsOf(message: ToPlugin, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const devices: { attributes?: unknown }[] = [];
  if (message.kind === "deliver") devices.push(...message.items.map(({ device }: DeliveryItem) => device));
  else if (message.kind === "probe") devices.push(message.device);
  else if (message.kind === "reply" && Array.isArray(message.value)) devices.push(...message.value);
  return devices.flatMap((device) => {
    const attributes = (device?.attributes ?? {}) as Record<string, unknown>;
    return names.map((name) => attributes[name]).filter((value): value is string => typeof value === "string");
  });
}

function refusalLog(): (what: string) => void {
  const known = new Set<string>();
  return (what) => {
    if (known.has(what) || known.size >= MAX_REFUSALS) return;
    known.add(what);
    const values = { event: "plugin.act_refused", target: what.slice(0, 200) };
    send({ kind: "log", level: "warn", values, message: "refused: not declared in the manifest" });
  };
}
