import { ConflictError } from "../lib/errors.ts";
import { compileProfileSchema, type ProfileSchema } from "../notifications/compose/profile-settings.ts";
import type {
  ConfigFields,
  DeliveryItem,
  PluginEvents,
  PluginManifest,
  PluginRequest,
  PluginResponse,
  ProbeResult,
  StopRequest,
} from "../plugin-api/index.ts";
import type extensions from "../resources/devices/extensions.ts";
import type { RowOf } from "../schema/resource.ts";
import { createDeliveryQueue } from "./delivery-queue.ts";
import { type InstalledPlugin, loadPluginFields } from "./installed-plugins.ts";
import { createLogTail, createTailedLog, type LogTail, type TailedLog } from "./log-tail.ts";
import { createPendingRequests, type PendingRequestLimits } from "./pending-requests.ts";
import { recordPluginStopped, recordUnreached } from "./plugin-activities.ts";
import { configFaultText, createPluginConfig, type PluginConfig } from "./plugin-config.ts";
import type { PluginHostDeps } from "./plugin-host-deps.ts";
import { launchInWorker } from "./plugin-instance.ts";
import type { FromPlugin, OutcomeReport, PluginInit, ToPlugin } from "./plugin-protocol.ts";
import { type PluginRunState, PluginSupervisor } from "./plugin-supervisor.ts";
import { createPortRegistry } from "./port-registry.ts";
import { createRedact, type Redact } from "./redaction.ts";
import { createRouteRequests } from "./route-requests.ts";
import { handlePluginCall, type PluginCallDeps } from "./rpc-handlers.ts";
import { sanitizeOutcomes } from "./sanitize-outcomes.ts";

/** MiB of objects for a plugin whose manifest does not say. @source plugin-api, PluginManifest */
const DEFAULT_MEMORY_MB = 128;
/** Why a plugin starts anew though nothing is wrong. */
const CONFIG_CHANGED_REASON = "its configuration was changed";
const RESTART_REQUESTED_REASON = "somebody asked for it";

/** How quiet tests wait. own choice */
const PROBE_LIMITS: PendingRequestLimits<ProbeResult> = {
  timeoutMs: 10_000,
  maxPending: 1_000,
  timedOut: { proof: null, reason: "No answer within 10 s." },
  dropped: { proof: null, reason: "The plugin does not run." },
  overloaded: { proof: null, reason: "Too many tests at once." },
};

/** How a plugin runs, in the words of its extension row. */
export interface PluginStatus {
  state: "running" | "restarting" | "disabled" | "stopped";
  health: "ok" | "degraded" | "down";
  reason: string | null;
  /** Failures within the last 10 minutes; with the fifth it is given up. */
  failures: number;
  /** ISO time of the next start after a failure, null when none is waited for. */
  nextTryAt: string | null;
}

/** What a hosted plugin needs. */
export interface HostedPluginDeps {
  host: PluginHostDeps;
  answers: Omit<PluginCallDeps, "grants" | "mayHearRings">;
}

/** One installed plugin: its configuration, its run, and what is outstanding with it. */
export class HostedPlugin {
  #plugin: InstalledPlugin;
  readonly #needs: HostedPluginDeps;
  readonly #log: TailedLog;
  readonly #tail: LogTail;
  readonly #supervisor: PluginSupervisor;
  readonly #handOver;
  readonly #routes;
  readonly #probes;
  #config: PluginConfig | null = null;
  #configFields: ConfigFields | null = null;
  #profileSchema: ProfileSchema | null = null;
  #loadFault: string | null = null;
  /** The first `apply` has not been done. */
  #waiting = true;
  #closed = false;
  #runsWith: Record<string, unknown> = {};
  #redact: Redact = createRedact([]);
  /** What the host knows. */
  #state: Pick<PluginStatus, "state" | "reason"> = { state: "restarting", reason: null };
  /** What the running plugin says of itself. */
  #health: Pick<PluginStatus, "health" | "reason"> = { health: "ok", reason: null };
  readonly #ports;
  #watches = new Set<string>();
  #follows = new Set<string>();
  #work: Promise<void> = Promise.resolve();

  constructor(plugin: InstalledPlugin, needs: HostedPluginDeps) {
    const { host } = needs;
    const { name, window: maxUnacknowledged, calls = false, memoryMb = DEFAULT_MEMORY_MB } = plugin.manifest;
    const onLine = (line: string): void => this.#log.debug({ line: this.#redact(line) }, "printed");
    this.#plugin = plugin;
    this.#needs = needs;
    this.#tail = createLogTail(host.clock);
    this.#log = createTailedLog(host.log.child({ plugin: name }), this.#tail, (value) => this.#redact(value));
    this.#supervisor = new PluginSupervisor({
      clock: host.clock,
      launchPlugin: host.launch?.(plugin) ?? launchInWorker(plugin.entry, memoryMb, onLine),
      init: () => this.#init(),
      onMessage: (message, reply) => this.#receive(message, reply),
      onState: (state, reason) => this.#entered(state, reason),
    });
    this.#handOver = createDeliveryQueue({
      plugin: name,
      clock: host.clock,
      maxUnacknowledged,
      calls,
      send: (message) => this.#supervisor.send(message),
      onOutcomes: host.onOutcomes,
    });
    this.#ports = createPortRegistry(host.settings.plugins[name]?.listen ?? {}, plugin.manifest.listens);
    this.#routes = createRouteRequests(host.clock, (message) => this.#supervisor.send(message));
    this.#probes = createPendingRequests<ProbeResult>(host.clock, PROBE_LIMITS);
  }

  get manifest(): PluginManifest {
    return this.#plugin.manifest;
  }
  get config(): PluginConfig | null {
    return this.#config;
  }
  get configFields(): ConfigFields | null {
    return this.#configFields;
  }
  get profileSchema(): ProfileSchema | null {
    return this.#profileSchema;
  }
  get status(): PluginStatus {
    const { failures, nextTryAt } = this.#supervisor;
    const next = { failures, nextTryAt: nextTryAt === null ? null : new Date(nextTryAt).toISOString() };
    if (this.isRunning) return { state: "running", ...this.#health, ...next };
    return { ...this.#state, health: "down", ...next };
  }
  get tail(): LogTail {
    return this.#tail;
  }
  get urls(): Readonly<Record<string, string>> {
    return this.#ports.urls;
  }
  get isRunning(): boolean {
    return this.#supervisor.state === "running";
  }
  /** Items given to it now wait until it runs. */
  get isRestarting(): boolean {
    return this.#waiting || this.#supervisor.state === "starting" || this.#supervisor.state === "restarting";
  }

  /** Reads the fields of its configuration; without them it can't run. Never rejects. */
  async load(): Promise<void> {
    try {
      const { config, profile } = await loadPluginFields(this.#plugin);
      this.#configFields = config;
      this.#config = createPluginConfig(config, this.#needs.host.store.secrets);
      this.#profileSchema = profile && compileProfileSchema(profile);
    } catch (error) {
      this.#loadFault = `its config.js can't be read: ${errorText(error)}`;
    }
  }

  /**
   * Takes a newer version at the same place and starts it when it may run; what is outstanding goes on. How many items and
   * how much memory it may hold is as it was until the daemon starts anew. Never rejects.
   */
  async replaceVersion(plugin: InstalledPlugin, row: RowOf<typeof extensions>): Promise<void> {
    this.#plugin = plugin;
    this.#loadFault = null;
    await this.load();
    await this.restart(row).catch(() => this.apply(row));
  }

  /** Brings it in line with its row, one change after the other; `again` starts one that was given up, too. Never rejects. */
  apply(row: RowOf<typeof extensions>, again = false): Promise<void> {
    this.#work = this.#work.then(() => this.#bring(row, again));
    return this.#work;
  }

  /**
   * Stops it and starts it anew, one that was given up too; resolves when it runs or has failed its first start.
   * Throws ConflictError when it must not run.
   */
  restart(row: RowOf<typeof extensions>): Promise<void> {
    const restarting = this.#work.then(() => {
      const wanted = this.#wanted(row);
      if (typeof wanted === "string") throw new ConflictError(`${this.manifest.name} can't be started: ${wanted}`);
      return this.#run(wanted, RESTART_REQUESTED_REASON);
    });
    this.#work = restarting.catch(() => {});
    return restarting;
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    this.#closed = true;
    await this.#supervisor.stop("the appliance is stopping");
  }

  /** Takes items to hand over; when it is off they fail at once. */
  deliver(items: readonly DeliveryItem[]): void {
    this.#handOver.add(items);
    if (!this.isRunning && !this.isRestarting) this.#giveUp();
  }

  /** Calls deliveries off. */
  cancelDeliveries(request: StopRequest): void {
    this.#handOver.cancel(request);
  }

  /** Has it answer a request; null when it does not run. */
  async handleRequest(request: PluginRequest): Promise<PluginResponse | null> {
    return this.isRunning ? this.#routes.send(request) : null;
  }

  /** Has it test the way to a device. */
  async probe(device: DeliveryItem["device"]): Promise<ProbeResult> {
    if (!this.isRunning) return PROBE_LIMITS.dropped;
    return this.#probes.request((id) => this.#supervisor.send({ kind: "probe", id, device }));
  }

  /** Tells a changed row to a plugin that watches its kind. */
  notifyChange(path: string, id: string, op: "create" | "update" | "delete"): void {
    if (this.#watches.has(path)) this.#supervisor.send({ kind: "change", path, id, op });
  }

  /** Tells an event to a plugin that follows it. */
  notifyEvent<K extends keyof PluginEvents>(name: K, payload: PluginEvents[K]): void {
    if (this.#follows.has(name)) this.#supervisor.send({ kind: "event", name, payload });
  }

  async #bring(row: RowOf<typeof extensions>, again: boolean): Promise<void> {
    const wanted = this.#wanted(row);
    this.#waiting = false;
    const { state } = this.#supervisor;
    if (this.#closed) return;
    if (typeof wanted === "string") {
      await this.#supervisor.stop(wanted);
      this.#giveUp();
      return;
    }
    const same = JSON.stringify(wanted.config) === JSON.stringify(this.#runsWith);
    if (same && state !== "disabled" && !(again && state === "stopped")) return;
    await this.#run(wanted, CONFIG_CHANGED_REASON);
  }

  async #run({ config, redact }: ReturnType<PluginConfig["toRuntime"]>, reason: string): Promise<void> {
    this.#runsWith = config;
    this.#redact = redact;
    if (this.#closed) return;
    if (this.#supervisor.state === "disabled") await this.#supervisor.start();
    else await this.#supervisor.restart(reason);
  }

  /** What to run it with, or in words why it must not run. */
  #wanted(row: RowOf<typeof extensions>): string | ReturnType<PluginConfig["toRuntime"]> {
    if (row.disabled || row.globalDisabled) return "it is switched off";
    if (!this.#config) return this.#loadFault ?? "its config.js was not read";
    try {
      return this.#config.toRuntime(row.config);
    } catch (error) {
      return configFaultText(error);
    }
  }

  #init(): PluginInit {
    const { name, watches } = this.manifest;
    const { settings, baseUrl } = this.#needs.host;
    const { allowedTargets } = settings.network;
    const ports = this.#ports.settings();
    return { plugin: name, config: this.#runsWith, ports, watches, allowedTargets, baseUrl: baseUrl() };
  }

  #entered(state: PluginRunState, reason: string | null): void {
    const words = reason === null ? null : this.#redact(reason);
    const didRun = this.#state.state === "running";
    if (state === "running") {
      // It may have said how it is while it was being started.
      this.#show("running", this.#health.reason);
      this.#log.info({}, "plugin runs");
      this.#handOver.resume();
      return;
    }
    this.#ports.close({ forget: state === "restarting" && !didRun });
    this.#health = { health: "ok", reason: null };
    this.#watches.clear();
    this.#follows.clear();
    this.#handOver.pause();
    this.#routes.resolveAllDropped();
    this.#probes.resolveAllDropped();
    if (state !== "starting") this.#show(state, words);
    else if (this.#state.state !== "restarting") this.#show("restarting", null);
    if (state === "disabled") this.#log.info({ reason: words }, "plugin does not run");
    else if (words === CONFIG_CHANGED_REASON || words === RESTART_REQUESTED_REASON)
      this.#log.info({ reason: words }, "plugin starts anew");
    else if (words !== null) this.#log.warn({ reason: words, state }, "plugin failed");
    if (state !== "stopped") return;
    this.#giveUp();
    this.#record(recordPluginStopped(this.manifest, words ?? "", this.#needs.host));
  }

  #show(state: PluginStatus["state"], reason: string | null): void {
    const before = this.#state;
    this.#state = { state, reason };
    if (before.state === state && before.reason === reason) return;
    const said = state === "running" ? { health: this.#health.health } : {};
    this.#needs.host.events.emit("plugin.changed", { plugin: this.manifest.name, state, reason, ...said });
  }

  #giveUp(): void {
    const reason = `${this.manifest.name} does not run: ${this.#state.reason ?? "it is switched off"}`;
    const notificationIds = this.#handOver.failAll(reason);
    this.#record(recordUnreached(this.manifest, notificationIds, reason, this.#needs.host));
  }

  #record(written: Promise<void>): void {
    written.catch((error: unknown) => this.#log.error({ err: error }, "a failure could not be written down"));
  }

  #receive(message: FromPlugin, reply: (message: ToPlugin) => void): void {
    switch (message.kind) {
      case "outcomes":
        this.#takeNotes(message.notes);
        break;
      case "call":
        void this.#answer(message, reply);
        break;
      case "response":
        this.#routes.resolve(message.id, message.response);
        break;
      case "probed": {
        const { proof, reason } = message.result;
        const words = reason === undefined ? {} : { reason: this.#redact(reason) };
        this.#probes.resolve(message.id, { proof, ...words });
        break;
      }
      case "log":
        this.#log[message.level](this.#redact(message.values), this.#redact(message.message));
        break;
      case "status":
        this.#takeHealth(message.state, this.#redact(message.reason));
        break;
      case "listening":
        this.#ports.opened(message.name, message.url, message.port);
        break;
      case "watch":
        if (this.manifest.watches.includes(message.path)) this.#watches.add(message.path);
        break;
      case "follow":
        this.#follows.add(message.name);
    }
  }

  #takeHealth(health: PluginStatus["health"], reason: string | null): void {
    const before = this.#health;
    this.#health = { health, reason };
    const { name: plugin } = this.manifest;
    if (this.isRunning && (before.health !== health || before.reason !== reason))
      this.#needs.host.events.emit("plugin.changed", { plugin, state: "running", reason, health });
  }

  #takeNotes(notes: readonly OutcomeReport[]): void {
    const outcomes = this.#handOver.report(sanitizeOutcomes(notes, this.#redact));
    if (outcomes.length > 0) this.#needs.host.onOutcomes(outcomes);
  }

  async #answer(
    { id, method, args }: Extract<FromPlugin, { kind: "call" }>,
    reply: (message: ToPlugin) => void,
  ): Promise<void> {
    try {
      const value = await handlePluginCall(this.manifest.name, method, args, {
        ...this.#needs.answers,
        grants: this.manifest.watches,
        mayHearRings: this.manifest.rings === true,
      });
      reply({ kind: "reply", id, value });
    } catch (error) {
      const message = errorText(error);
      this.#log.warn({ method, reason: message }, "a call of the plugin was refused");
      reply({ kind: "refusal", id, message });
    }
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
