import type { Clock, Timer } from "../lib/clock.ts";
import type { LaunchPlugin, PluginInstance } from "./plugin-instance.ts";
import type { FromPlugin, PluginInit, ToPlugin } from "./plugin-protocol.ts";

/** `stopped` is off after too many failures, `disabled` not meant to run. */
export type PluginRunState = "starting" | "running" | "restarting" | "disabled" | "stopped";

/** What a supervisor needs of the host. */
export interface PluginSupervisorDeps {
  clock: Clock;
  launchPlugin: LaunchPlugin;
  /** Made anew for each run. */
  init(): PluginInit;
  /** Everything a run says that is not about its life; `reply` reaches that run alone. */
  onMessage(message: FromPlugin, reply: (message: ToPlugin) => void): void;
  /** Told on every change; `reason` is in words. */
  onState(state: PluginRunState, reason: string | null): void;
}

/** @source house.md, Plugins: after 5 failures in 10 minutes it is off. */
const MAX_FAILURES = 5;
const FAILURE_WINDOW_MS = 600_000;
const INITIAL_BACKOFF_MS = 1_000;
const START_TIMEOUT_MS = 10_000;
const PING_INTERVAL_MS = 1_000;
/** Pings without any word from the plugin before it counts as dead. */
const MAX_SILENT_PINGS = 5;
const STOP_TIMEOUT_MS = 2_000;

/** Keeps one plugin running: starts it, watches it, and starts it again after a growing delay when it fails. */
export class PluginSupervisor {
  readonly #needs: PluginSupervisorDeps;
  #state: PluginRunState = "disabled";
  #instance: PluginInstance | null = null;
  /** The run before is gone, with its ports. */
  #gone: Promise<void> = Promise.resolve();
  #failures: number[] = [];
  #nextTryAt: number | null = null;
  #silentPings = 0;
  #timers: Timer[] = [];
  #firstTry: (() => void) | null = null;
  #stopped: (() => void) | null = null;

  constructor(needs: PluginSupervisorDeps) {
    this.#needs = needs;
  }

  get state(): PluginRunState {
    return this.#state;
  }

  /** Failures that count towards giving it up. */
  get failures(): number {
    const now = this.#needs.clock.monotonicMs();
    return this.#failures.filter((at) => now - at < FAILURE_WINDOW_MS).length;
  }
  /** Epoch ms of the next start after a failure, null when none is waited for. */
  get nextTryAt(): number | null {
    return this.#nextTryAt;
  }

  /** Starts it, forgetting earlier failures; resolves when it runs or has failed its first start. */
  start(): Promise<void> {
    this.#failures = [];
    return new Promise((resolve) => {
      this.#firstTry = resolve;
      void this.#launch("starting");
    });
  }

  /** Ends it in an orderly way, or by force after 2 s; resolves when it is gone. `reason` is in words. */
  stop(reason: string): Promise<void> {
    return this.#end("disabled", reason);
  }

  /** As `stop`, then `start`; something that comes back in between. */
  async restart(reason: string): Promise<void> {
    await this.#end("restarting", reason);
    if (this.#state === "restarting" && !this.#instance) await this.start();
  }

  /** Passed over unless it runs. */
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
      const timer = this.#needs.clock.after(STOP_TIMEOUT_MS, resolve);
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
      this.#fail(`it can't be started: ${error instanceof Error ? error.message : String(error)}`);
      return;
    }
    const slow = (): void => this.#fail(`it did not start within ${START_TIMEOUT_MS / 1000} s`);
    this.#timers.push(this.#needs.clock.after(START_TIMEOUT_MS, slow, { background: true }));
  }

  #open(): PluginInstance {
    const { launchPlugin, init } = this.#needs;
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
    // While it is being stopped, its last reports still count.
    else if (this.#stopped === null) return;
    switch (message.kind) {
      case "stopped":
        this.#stopped?.();
        break;
      case "active":
        if (current) this.#run();
        break;
      case "fault":
        if (current) this.#fail(`it threw: ${message.message}`);
        break;
      case "pong":
        break;
      default:
        this.#needs.onMessage(message, (answer) => {
          if (this.#instance === from) from.send(answer);
        });
    }
  }

  #run(): void {
    this.#clearTimers();
    this.#silentPings = 0;
    this.#timers.push(this.#needs.clock.every(PING_INTERVAL_MS, () => this.#ping()));
    this.#enter("running", null);
    this.#settleFirstTry();
  }

  #ping(): void {
    // Counted rather than timed: when this thread itself was held up, the plugin is not to blame.
    if (this.#silentPings < MAX_SILENT_PINGS) {
      this.#silentPings++;
      this.#instance?.send({ kind: "ping" });
    } else this.#fail(`it did not answer for ${MAX_SILENT_PINGS} s`);
  }

  #fail(reason: string): void {
    const { clock } = this.#needs;
    this.#clearTimers();
    if (this.#instance) this.#gone = this.#instance.kill();
    this.#instance = null;
    const now = clock.monotonicMs();
    this.#failures = [...this.#failures.filter((at) => now - at < FAILURE_WINDOW_MS), now];
    const count = this.#failures.length;
    if (count >= MAX_FAILURES) this.#enter("stopped", reason);
    else {
      const delayMs = INITIAL_BACKOFF_MS * 2 ** (count - 1);
      this.#nextTryAt = clock.now() + delayMs;
      this.#enter("restarting", reason);
      this.#timers.push(clock.after(delayMs, () => void this.#launch("restarting"), { background: true }));
    }
    this.#settleFirstTry();
  }

  #enter(state: PluginRunState, reason: string | null): void {
    if (state === this.#state && reason === null) return;
    this.#state = state;
    this.#needs.onState(state, reason);
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
