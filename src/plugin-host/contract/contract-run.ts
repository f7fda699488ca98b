import type { Clock } from "../../lib/clock.ts";
import { pollUntil } from "../../lib/waits.ts";
import type { DeliveryItem, StopRequest } from "../../plugin-api/index.ts";
import { type InstalledPlugin, pluginDataFolder } from "../installed-plugins.ts";
import { launchInProcess } from "../launch-in-process.ts";
import { type LaunchPlugin, launchInWorker, type PluginInstance } from "../plugin-instance.ts";
import type { FromPlugin, OutcomeReport, ToPlugin } from "../plugin-protocol.ts";

/** One run of a plugin, in a thread or a process as on an appliance, but without one. */
export interface ContractRun {
  /** URLs of open own ports by `<plugin>/<name>`. */
  urls(): Readonly<Record<string, string>>;
  readonly outcomes: readonly OutcomeReport[];
  deliver(item: DeliveryItem): void;
  cancelDelivery(deliveryId: number, reason: StopRequest["reason"]): void;
  /** Polls `probe`; resolves with false after `waitMs`. */
  waitUntil(probe: () => boolean, waitMs: number): Promise<boolean>;
  /**
   * Stops the plugin, by force if necessary; resolves with the reason if the thread did not exit cleanly, else null.
   */
  stop(): Promise<string | null>;
}

export interface ContractRunDeps {
  plugin: Pick<InstalledPlugin, "manifest" | "entry" | "isForeign">;
  config: Record<string, unknown>;
  clock: Clock;
}

const START_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 3_000;
const POLL_INTERVAL_MS = 20;
const MEMORY_MB = 128;
const CLEAN_EXIT = "the process exited with code 0";

/** Starts a plugin, or returns why it failed to start. */
export async function startContractRun(deps: ContractRunDeps): Promise<{ run: ContractRun } | { error: string }> {
  const { plugin, clock } = deps;
  const { manifest } = plugin;
  const observed = { active: false, ended: null as string | null, error: null as string | null };
  const urls: Record<string, string> = {};
  const outcomes: OutcomeReport[] = [];
  const stored = new Map<unknown, unknown>();
  const onMessage = (message: FromPlugin): void => {
    if (message.kind === "active") observed.active = true;
    if (message.kind === "fault") observed.error ??= message.message;
    if (message.kind === "listening") urls[`${manifest.name}/${message.name}`] = message.url;
    if (message.kind === "outcomes") outcomes.push(...message.notes);
    if (message.kind === "call") instance.send(answerHostCall(message, stored));
  };
  const launch = launcherOf(plugin, clock);
  const port = { host: "127.0.0.1", port: 0, publicUrl: null };
  const ports = Object.fromEntries(manifest.listens.map((name) => [name, port]));
  const init = { plugin: manifest.name, config: deps.config, ports, watches: manifest.watches };
  const instance: PluginInstance = launch(
    { ...init, allowedTargets: ["127.0.0.0/8"], baseUrl: "http://127.0.0.1", multicastInterface: "127.0.0.1" },
    {
      onMessage: onMessage,
      onEnd: (reason) => {
        observed.ended = reason;
      },
    },
  );
  const waitUntil = async (probe: () => boolean, timeoutMs: number): Promise<boolean> =>
    (await pollUntil(clock, () => probe() || null, { timeoutMs, intervalMs: POLL_INTERVAL_MS })) !== null;
  const end = async (): Promise<string | null> => {
    instance.send({ kind: "shutdown" });
    const gone = await waitUntil(() => observed.ended !== null, STOP_TIMEOUT_MS);
    await instance.kill();
    if (!gone) return "open handles remain";
    return observed.ended === CLEAN_EXIT ? null : observed.ended;
  };
  const inTime = await waitUntil(
    () => observed.active || observed.error !== null || observed.ended !== null,
    START_TIMEOUT_MS,
  );
  if (!observed.active) {
    await instance.kill();
    return {
      error:
        observed.error ?? observed.ended ?? (inTime ? "exited" : `start timed out after ${START_TIMEOUT_MS / 1000} s`),
    };
  }
  const deliver = (item: DeliveryItem): void => instance.send({ kind: "deliver", items: [item] });
  const cancelDelivery: ContractRun["cancelDelivery"] = (deliveryId, reason) =>
    instance.send({ kind: "stop", request: { deliveryIds: [deliveryId], reason } });
  return { run: { urls: () => urls, outcomes, deliver, cancelDelivery, waitUntil, stop: end } };
}

function launcherOf(plugin: ContractRunDeps["plugin"], clock: Clock): LaunchPlugin {
  const { entry, manifest, isForeign } = plugin;
  const { memoryMb = MEMORY_MB, network = {} } = manifest;
  const onLine = (): void => {};
  if (!isForeign) return launchInWorker(entry, memoryMb, onLine);
  // Its peer is on this machine, whatever the manifest declares.
  const hosts = [...(network.hosts ?? []), "127.0.0.0/8"];
  const dataFolder = pluginDataFolder(plugin);
  return launchInProcess({ entry, dataFolder, memoryMb, network: { ...network, hosts }, clock, onLine });
}

/** Answers host calls without an appliance: stores the plugin's state and accepts everything else. */
function answerHostCall({ id, method, args }: FromPlugin & { kind: "call" }, stored: Map<unknown, unknown>): ToPlugin {
  if (method === "state.set") stored.set(args[0], args[1]);
  return { kind: "reply", id, value: method === "state.get" ? stored.get(args[0]) : undefined };
}
