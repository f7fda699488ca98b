import { type Clock, sleep } from "../../base/clock.ts";
import type { DeliveryItem, PluginManifest } from "../../plugin-api/index.ts";
import type { Instance } from "../instance.ts";
import { launchInWorker } from "../instance.ts";
import type { FromPlugin, OutcomeNote, ToPlugin } from "../wire.ts";

/** One run of a plugin in a thread of its own, without an appliance behind it. */
export interface ContractRun {
  /** URLs of open own ports by `<plugin>/<name>`. */
  urls(): Readonly<Record<string, string>>;
  readonly outcomes: readonly OutcomeNote[];
  deliver(item: DeliveryItem): void;
  silence(deliveryId: number): void;
  /** Asks again and again until `probe` gives true; false when it has not within `waitMs`. */
  until(probe: () => boolean, waitMs: number): Promise<boolean>;
  /** Ends it in an orderly way, or by force; gives in words how its thread ended when that was not by itself. */
  end(): Promise<string | null>;
}

/** What a run is made of. */
export interface ContractRunNeeds {
  manifest: PluginManifest;
  entry: URL;
  config: Record<string, unknown>;
  clock: Clock;
}

const START_MS = 10_000;
const END_MS = 3_000;
const LOOK_MS = 20;
const MEMORY_MB = 128;
const GOOD_END = "it ended by itself with code 0";

/** Starts a plugin; null with the reason in words when it does not come up. */
export async function startRun(needs: ContractRunNeeds): Promise<{ run: ContractRun } | { fault: string }> {
  const { manifest, clock } = needs;
  const heard = { active: false, ended: null as string | null, fault: null as string | null };
  const urls: Record<string, string> = {};
  const outcomes: OutcomeNote[] = [];
  const stored = new Map<unknown, unknown>();
  const hear = (message: FromPlugin): void => {
    if (message.kind === "active") heard.active = true;
    if (message.kind === "fault") heard.fault ??= message.message;
    if (message.kind === "listening") urls[`${manifest.name}/${message.name}`] = message.url;
    if (message.kind === "outcomes") outcomes.push(...message.notes);
    if (message.kind === "call") instance.send(answer(message, stored));
  };
  const launch = launchInWorker(needs.entry, manifest.memoryMb ?? MEMORY_MB, () => {});
  const port = { host: "127.0.0.1", port: 0, publicUrl: null };
  const ports = Object.fromEntries(manifest.listens.map((name) => [name, port]));
  const init = { plugin: manifest.name, config: needs.config, ports, watches: manifest.watches };
  const instance: Instance = launch(
    { ...init, allowedTargets: ["127.0.0.0/8"], baseUrl: "http://127.0.0.1" },
    {
      onMessage: hear,
      onEnd: (reason) => {
        heard.ended = reason;
      },
    },
  );
  const until = async (probe: () => boolean, waitMs: number): Promise<boolean> => {
    for (const stopAt = clock.monotonicMs() + waitMs; !probe(); await sleep(clock, LOOK_MS))
      if (clock.monotonicMs() > stopAt) return false;
    return true;
  };
  const end = async (): Promise<string | null> => {
    instance.send({ kind: "shutdown" });
    const gone = await until(() => heard.ended !== null, END_MS);
    await instance.kill();
    if (!gone) return "something that it opened is still open";
    return heard.ended === GOOD_END ? null : heard.ended;
  };
  const inTime = await until(() => heard.active || heard.fault !== null || heard.ended !== null, START_MS);
  if (!heard.active) {
    await instance.kill();
    return { fault: heard.fault ?? heard.ended ?? (inTime ? "it ended" : `it was not done in ${START_MS / 1000} s`) };
  }
  const deliver = (item: DeliveryItem): void => instance.send({ kind: "deliver", items: [item] });
  const silence = (deliveryId: number): void =>
    instance.send({ kind: "stop", request: { deliveryIds: [deliveryId], reason: "ended" } });
  return { run: { urls: () => urls, outcomes, deliver, silence, until, end } };
}

/** What a host with nothing behind it answers: it keeps the plugin's state and lets everything else pass. */
function answer({ id, method, args }: FromPlugin & { kind: "call" }, stored: Map<unknown, unknown>): ToPlugin {
  if (method === "state.set") stored.set(args[0], args[1]);
  return { kind: "reply", id, value: method === "state.get" ? stored.get(args[0]) : undefined };
}
