import { type Clock, sleep } from "../../lib/clock.ts";
import type { DeliveryItem, PluginManifest } from "../../plugin-api/index.ts";
import type { PluginInstance } from "../plugin-instance.ts";
import { launchInWorker } from "../plugin-instance.ts";
import type { FromPlugin, OutcomeReport, ToPlugin } from "../plugin-protocol.ts";

/** One run of a plugin in a thread of its own, without an appliance behind it. */
export interface ContractRun {
  /** URLs of open own ports by `<plugin>/<name>`. */
  urls(): Readonly<Record<string, string>>;
  readonly outcomes: readonly OutcomeReport[];
  deliver(item: DeliveryItem): void;
  cancelDelivery(deliveryId: number): void;
  /** Asks again and again until `probe` gives true; false when it has not within `waitMs`. */
  waitUntil(probe: () => boolean, waitMs: number): Promise<boolean>;
  /** Ends it in an orderly way, or by force; gives in words how its thread ended when that was not by itself. */
  stop(): Promise<string | null>;
}

/** What a run is made of. */
export interface ContractRunDeps {
  manifest: PluginManifest;
  entry: URL;
  config: Record<string, unknown>;
  clock: Clock;
}

const START_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 3_000;
const POLL_INTERVAL_MS = 20;
const MEMORY_MB = 128;
const CLEAN_EXIT = "it ended by itself with code 0";

/** Starts a plugin; null with the reason in words when it does not come up. */
export async function startContractRun(needs: ContractRunDeps): Promise<{ run: ContractRun } | { fault: string }> {
  const { manifest, clock } = needs;
  const observed = { active: false, ended: null as string | null, fault: null as string | null };
  const urls: Record<string, string> = {};
  const outcomes: OutcomeReport[] = [];
  const stored = new Map<unknown, unknown>();
  const onMessage = (message: FromPlugin): void => {
    if (message.kind === "active") observed.active = true;
    if (message.kind === "fault") observed.fault ??= message.message;
    if (message.kind === "listening") urls[`${manifest.name}/${message.name}`] = message.url;
    if (message.kind === "outcomes") outcomes.push(...message.notes);
    if (message.kind === "call") instance.send(answerHostCall(message, stored));
  };
  const launch = launchInWorker(needs.entry, manifest.memoryMb ?? MEMORY_MB, () => {});
  const port = { host: "127.0.0.1", port: 0, publicUrl: null };
  const ports = Object.fromEntries(manifest.listens.map((name) => [name, port]));
  const init = { plugin: manifest.name, config: needs.config, ports, watches: manifest.watches };
  const instance: PluginInstance = launch(
    { ...init, allowedTargets: ["127.0.0.0/8"], baseUrl: "http://127.0.0.1" },
    {
      onMessage: onMessage,
      onEnd: (reason) => {
        observed.ended = reason;
      },
    },
  );
  const waitUntil = async (probe: () => boolean, waitMs: number): Promise<boolean> => {
    for (const stopAt = clock.monotonicMs() + waitMs; !probe(); await sleep(clock, POLL_INTERVAL_MS))
      if (clock.monotonicMs() > stopAt) return false;
    return true;
  };
  const end = async (): Promise<string | null> => {
    instance.send({ kind: "shutdown" });
    const gone = await waitUntil(() => observed.ended !== null, STOP_TIMEOUT_MS);
    await instance.kill();
    if (!gone) return "something that it opened is still open";
    return observed.ended === CLEAN_EXIT ? null : observed.ended;
  };
  const inTime = await waitUntil(
    () => observed.active || observed.fault !== null || observed.ended !== null,
    START_TIMEOUT_MS,
  );
  if (!observed.active) {
    await instance.kill();
    return {
      fault:
        observed.fault ?? observed.ended ?? (inTime ? "it ended" : `it was not done in ${START_TIMEOUT_MS / 1000} s`),
    };
  }
  const deliver = (item: DeliveryItem): void => instance.send({ kind: "deliver", items: [item] });
  const cancelDelivery = (deliveryId: number): void =>
    instance.send({ kind: "stop", request: { deliveryIds: [deliveryId], reason: "ended" } });
  return { run: { urls: () => urls, outcomes, deliver, cancelDelivery, waitUntil, stop: end } };
}

/** What a host with nothing behind it answers: it keeps the plugin's state and lets everything else pass. */
function answerHostCall({ id, method, args }: FromPlugin & { kind: "call" }, stored: Map<unknown, unknown>): ToPlugin {
  if (method === "state.set") stored.set(args[0], args[1]);
  return { kind: "reply", id, value: method === "state.get" ? stored.get(args[0]) : undefined };
}
