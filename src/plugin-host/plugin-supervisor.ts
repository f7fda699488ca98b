import { sentence } from "../lib/sentences/sentences.ts";
/**
 * Runs a plugin in its worker thread and restarts it after a crash, with backoff. After too many crashes it stays stopped.
 * Deliveries that it held survive the crash in delivery-queue.ts.
 */

import { backoffMs } from "../lib/backoff.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { LaunchPlugin, PluginInstance } from "./plugin-instance.ts";
import type { FromPlugin, PluginInit, ToPlugin } from "./plugin-protocol.ts";

/** `stopped`: off after too many failures. `disabled`: not meant to run. */
export type PluginRunState = "starting" | "running" | "restarting" | "disabled" | "stopped";

export interface PluginSupervisorDeps {
  clock: Clock;
  launchPlugin: LaunchPlugin;
  /** Called for each run. */
  init(): PluginInit;
  /** Receives all messages except life-cycle ones; `reply` reaches only that run. */
  onMessage(message: FromPlugin, reply: (message: ToPlugin) => void): void;
  /** Called on every state change; `reason` is text for people. */
  onState(state: PluginRunState, reason: string | null): void;
}

/** After 5 failures in 10 minutes the plugin is stopped. @source docs/decisions/0018-plugin-api.md, Lifecycle */
const MAX_FAILURES = 5;
const FAILURE_WINDOW_MS = 600_000;
const INITIAL_BACKOFF_MS = 1_000;
const START_TIMEOUT_MS = 10_000;
const PING_INTERVAL_MS = 1_000;
/** Unanswered pings before the plugin counts as dead. */
const MAX_SILENT_PINGS = 5;
/** Unanswered pings of a plugin that says other things: it may be busy, or spin and log. */
const MAX_UNANSWERED_PINGS = 30;
const STOP_TIMEOUT_MS = 2_000;

/** Keeps one plugin thread running: starts it, pings it, and restarts it with exponential backoff after a crash. */
export class PluginSupervisor {
  readonly #deps: PluginSupervisorDeps;
  #state: PluginRunState = "disabled";
  #instance: PluginInstance | null = null;
  /** Resolves when the previous run has released its ports. */
  #gone: Promise<void> = Promise.resolve();
  #failures: number[] = [];
  #nextTryAt: number | null = null;
  #silentPings = 0;
  #unansweredPings = 0;
  #timers: Timer[] = [];
  #firstTry: (() => void) | null = null;
  #stopped: (() => void) | null = null;

  constructor(deps: PluginSupervisorDeps) {
    this.#deps = deps;
  }

  get state(): PluginRunState {
    return this.#state;
  }

  /** Failures in the last 10 minutes. */
  get failures(): number {
    const now = this.#deps.clock.monotonicMs();
    return this.#failures.filter((at) => now - at < FAILURE_WINDOW_MS).length;
  }
  /** Epoch ms of the next start after a failure; null if none is scheduled. */
  get nextTryAt(): number | null {
    return this.#nextTryAt;
  }

  /** Starts the plugin with a cleared failure count; resolves when it is running or its first start has failed. */
  start(): Promise<void> {
    this.#failures = [];
    return new Promise((resolve) => {
      this.#firstTry = resolve;
      void this.#launch("starting");
    });
  }

  /** Stops the plugin, by force after 2 s; resolves when it is gone. `reason` is text for people. */
  stop(reason: string): Promise<void> {
    return this.#end("disabled", reason);
  }

  /** Stops and starts the plugin; shown as restarting in between. */
  async restart(reason: string): Promise<void> {
    await this.#end("restarting", reason);
    if (this.#state === "restarting" && !this.#instance) await this.start();
  }

  /** Dropped unless the plugin is running. */
  send(message: ToPlugin): void {
    if (this.#state === "running") this.#instance?.send(message);
  }

  #end(state: "disabled" | "restarting", reason: string): Promise<void> {
    const instance = this.#instance;
    this.#instance = null;
    this.#clearTimers();
    this.#settleFirstTry();
    if (instance) this.#gone = this.#endRun(instance);
    this.#enter(state, reason);
    return this.#gone;
  }

  async #endRun(instance: PluginInstance): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.#deps.clock.after(STOP_TIMEOUT_MS, resolve);
      this.#stopped = () => {
        timer.cancel();
        resolve();
      };
      instance.send({ kind: "shutdown" });
    });
    this.#stopped = null;
    await instance.kill();
  }

  async #launch(state: "starting" | "restarting"): Promise<void> {
    this.#clearTimers();
    this.#enter(state, null);
    await this.#gone;
    if (this.#state !== state || this.#instance) return;
    try {
      this.#instance = this.#open();
    } catch (error) {
      this.#fail(
        sentence("plugin-host.not-started", { reason: error instanceof Error ? error.message : String(error) }),
      );
      return;
    }
    const slow = (): void => this.#fail(sentence("plugin-host.start-timeout", { seconds: START_TIMEOUT_MS / 1000 }));
    this.#timers.push(this.#deps.clock.after(START_TIMEOUT_MS, slow, { background: true }));
  }

  #open(): PluginInstance {
    const { launchPlugin, init } = this.#deps;
    const instance: PluginInstance = launchPlugin(init(), {
      onMessage: (message) => this.#receive(instance, message),
      onEnd: (reason) => {
        if (this.#instance === instance) this.#fail(reason);
        else this.#stopped?.();
      },
    });
    return instance;
  }

  #receive(from: PluginInstance, message: FromPlugin): void {
    const current = this.#instance === from;
    if (current) this.#silentPings = 0;
    // During a stop its last outcomes still count.
    else if (this.#stopped === null) return;
    switch (message.kind) {
      case "stopped":
        this.#stopped?.();
        break;
      case "active":
        if (current) this.#run();
        break;
      case "fault":
        if (current) this.#fail(sentence("plugin-host.uncaught", { message: message.message }));
        break;
      case "pong":
        if (current) this.#unansweredPings = 0;
        break;
      default:
        this.#deps.onMessage(message, (answer) => {
          if (this.#instance === from) from.send(answer);
        });
    }
  }

  #run(): void {
    this.#clearTimers();
    this.#silentPings = 0;
    this.#unansweredPings = 0;
    this.#timers.push(this.#deps.clock.every(PING_INTERVAL_MS, () => this.#ping()));
    this.#enter("running", null);
    this.#settleFirstTry();
  }

  #ping(): void {
    // Counts pings instead of time: a blocked host thread must not count against the plugin.
    const [silent, unanswered] = [this.#silentPings++, this.#unansweredPings++];
    if (silent >= MAX_SILENT_PINGS) this.#fail(sentence("plugin-host.silent", { seconds: MAX_SILENT_PINGS }));
    else if (unanswered >= MAX_UNANSWERED_PINGS)
      this.#fail(sentence("plugin-host.silent", { seconds: MAX_UNANSWERED_PINGS }));
    else this.#instance?.send({ kind: "ping" });
  }

  #fail(reason: string): void {
    const { clock } = this.#deps;
    this.#clearTimers();
    if (this.#instance) this.#gone = this.#instance.kill();
    this.#instance = null;
    const now = clock.monotonicMs();
    this.#failures = [...this.#failures.filter((at) => now - at < FAILURE_WINDOW_MS), now];
    const count = this.#failures.length;
    if (count >= MAX_FAILURES) this.#enter("stopped", reason);
    else {
      const delayMs = backoffMs(count, INITIAL_BACKOFF_MS);
      this.#nextTryAt = clock.now() + delayMs;
      this.#enter("restarting", reason);
      this.#timers.push(clock.after(delayMs, () => void this.#launch("restarting"), { background: true }));
    }
    this.#settleFirstTry();
  }

  #enter(state: PluginRunState, reason: string | null): void {
    if (state === this.#state && reason === null) return;
    this.#state = state;
    this.#deps.onState(state, reason);
  }

  #settleFirstTry(): void {
    this.#firstTry?.();
    this.#firstTry = null;
  }

  #clearTimers(): void {
    for (const timer of this.#timers.splice(0)) timer.cancel();
    this.#nextTryAt = null;
  }
}
