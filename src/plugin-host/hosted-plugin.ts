import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { ConflictError } from "../lib/errors.ts";
import { isNetworkUnreachable } from "../lib/network-route.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { isCodec } from "../media/codecs.ts";
import { compileProfileSchema, type ProfileSchema } from "../notifications/compose/profile-settings.ts";
import type { FilterOutcome } from "../notifications/engine/delivery-providers.ts";
import type {
  AccountMessage,
  ConfigFields,
  DeliveryItem,
  DeviceFilterRequest,
  PluginEvents,
  PluginManifest,
  PluginReport,
  PluginReportRequest,
  PluginRequest,
  PluginResponse,
  ProbeResult,
  StopRequest,
} from "../plugin-api/index.ts";
import type extensions from "../resources/devices/extensions.ts";
import type { RowOf } from "../schema/resource.ts";
import { createDeliveryQueue } from "./delivery-queue.ts";
import { checkFilterOutcome, FILTER_LIMITS } from "./filter-requests.ts";
import { type InstalledPlugin, loadPluginFields, type PluginFields, pluginDataFolder } from "./installed-plugins.ts";
import { launchInProcess, readFieldsInProcess } from "./launch-in-process.ts";
import { createLogTail, createTailedLog, type LogTail, type TailedLog } from "./log-tail.ts";
import { createPendingRequests, type PendingRequestLimits } from "./pending-requests.ts";
import { recordPluginStopped } from "./plugin-activities.ts";
import { configErrorText, createPluginConfig, type PluginConfig } from "./plugin-config.ts";
import type { PluginCallbacks, PluginHostDeps } from "./plugin-host-deps.ts";
import { type LaunchPlugin, launchInWorker } from "./plugin-instance.ts";
import type { FromPlugin, OutcomeReport, PluginInit, PluginReportResult, ToPlugin } from "./plugin-protocol.ts";
import { createPluginReports, type PluginReports } from "./plugin-reports.ts";
import { type PluginTrust, verifyPlugin } from "./plugin-signature.ts";
import { type PluginRunState, PluginSupervisor } from "./plugin-supervisor.ts";
import { createPortRegistry } from "./port-registry.ts";
import { createRedact, type Redact } from "./redaction.ts";
import { createRouteRequests } from "./route-requests.ts";
import { handlePluginCall, type PluginCallDeps } from "./rpc-handlers.ts";
import { sanitizeOutcomes } from "./sanitize-outcomes.ts";

/** Longest piece of a voice: 200 ms. */
const MAX_VOICE_BYTES = 1_600;
/** Default JavaScript heap limit of a plugin in MiB, see PluginManifest.memoryMb. */
const DEFAULT_MEMORY_MB = 128;
/** Reasons that are no failures. */
const CONFIG_CHANGED_REASON = sentence("plugin-host.config-changed");
const RESTART_REQUESTED_REASON = sentence("plugin-host.restart-requested");
const DISABLED_REASON = sentence("plugin-host.disabled");

/** Limits of silent connectivity tests. */
const PROBE_LIMITS: PendingRequestLimits<ProbeResult> = {
  timeoutMs: 10_000,
  maxPending: 1_000,
  timedOut: { proof: null, reason: sentence("test.late", { seconds: 10 }) },
  dropped: { proof: null, reason: sentence("filter.not-running") },
  overloaded: { proof: null, reason: sentence("test.overloaded") },
};

/** Limits of messages that are no notifications; the reason is null when a server took one. */
const ACCOUNT_MESSAGE_LIMITS: PendingRequestLimits<string | null> = {
  timeoutMs: 30_000,
  maxPending: 100,
  timedOut: sentence("delivery.no-answer"),
  dropped: sentence("filter.not-running"),
  overloaded: sentence("account-message.overloaded"),
};

/** Status of a plugin as shown in its extension row. */
export interface PluginStatus {
  state: "running" | "restarting" | "disabled" | "stopped";
  /** `unconfigured`: it was never set up, which is no fault. */
  health: "ok" | "unconfigured" | "degraded" | "down";
  reason: string | null;
  /** Failures in the last 10 minutes; the fifth stops the plugin. */
  failures: number;
  /** ISO time of the next start after a failure; null if none is scheduled. */
  nextTryAt: string | null;
}

export interface HostedPluginDeps {
  host: PluginHostDeps & PluginCallbacks & { pluginTrust(): PluginTrust };
  answers: Omit<PluginCallDeps, "grants" | "grantsRings" | "grantsPhone">;
  /** Streams that are sent to multicast groups now. */
  multicast(): PluginEvents["multicast.changed"];
}

/** One installed plugin: its configuration, its run and its deliveries. */
export class HostedPlugin {
  #plugin: InstalledPlugin;
  readonly #deps: HostedPluginDeps;
  readonly #log: TailedLog;
  readonly #tail: LogTail;
  readonly #supervisor: PluginSupervisor;
  readonly #deliveryQueue;
  readonly #routes;
  readonly #probes;
  readonly #filterRequests;
  readonly #accountMessages;
  #offersAccountMessages = false;
  readonly #reports: PluginReports;
  #config: PluginConfig | null = null;
  #configFields: ConfigFields | null = null;
  /** Its row has configuration; a plugin that never had any is not set up. */
  #isConfigured = false;
  #profileSchema: ProfileSchema | null = null;
  #loadError: string | null = null;
  /** Until the first `apply`. */
  #isPending = true;
  /** Until the first `apply` is complete. */
  #isFirstStart = true;
  #isClosed = false;
  #runningConfig: Record<string, unknown> = {};
  #redact: Redact = createRedact([]);
  /** State as known to the host. */
  #state: Pick<PluginStatus, "state" | "reason"> = { state: "restarting", reason: null };
  /** Health as reported by the running plugin. */
  #health: Pick<PluginStatus, "health" | "reason"> = { health: "ok", reason: null };
  readonly #ports;
  #watches = new Set<string>();
  #subscribedEvents = new Set<string>();
  #pending: Promise<void> = Promise.resolve();

  constructor(plugin: InstalledPlugin, deps: HostedPluginDeps) {
    const { host } = deps;
    const { name, window: maxUnacknowledged, calls = false, memoryMb = DEFAULT_MEMORY_MB } = plugin.manifest;
    const onLine = (line: string): void =>
      this.#log.debug({ event: "plugin.output", line: this.#redact(line) }, "plugin output");
    this.#plugin = plugin;
    this.#deps = deps;
    this.#tail = createLogTail(host.clock);
    this.#log = createTailedLog(host.log.child({ plugin: name }), this.#tail, (value) => this.#redact(value));
    this.#supervisor = new PluginSupervisor({
      clock: host.clock,
      launchPlugin: host.launch?.(plugin) ?? this.#launcher(memoryMb, onLine),
      init: () => this.#init(),
      onMessage: (message, reply) => this.#receive(message, reply),
      onState: (state, reason) => this.#onStateChange(state, reason),
    });
    this.#deliveryQueue = createDeliveryQueue({
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
    this.#filterRequests = createPendingRequests<FilterOutcome>(host.clock, FILTER_LIMITS);
    this.#accountMessages = createPendingRequests<string | null>(host.clock, ACCOUNT_MESSAGE_LIMITS);
    this.#reports = createPluginReports(host.clock, (message) => this.#supervisor.send(message));
  }

  get installation(): InstalledPlugin {
    return this.#plugin;
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
  /** Deliveries received now wait for the next run. */
  get isRestarting(): boolean {
    return this.#isPending || this.#supervisor.state === "starting" || this.#supervisor.state === "restarting";
  }

  /** Loads the configuration fields; without them the plugin cannot run. Never rejects. */
  async load(): Promise<void> {
    try {
      const { config, profile } = await this.#readFields();
      this.#configFields = config;
      this.#config = createPluginConfig(config, this.#deps.host.store.secrets);
      this.#profileSchema = profile && compileProfileSchema(profile);
    } catch (error) {
      this.#loadError = sentence("plugin-host.config-unloadable", { reason: errorText(error) });
    }
  }

  /**
   * Replaces the plugin by a newer version in the same folder and starts it if enabled; outstanding deliveries
   * continue. The delivery window and the memory limit stay as they are until the daemon restarts. Never rejects.
   */
  async replaceVersion(plugin: InstalledPlugin, row: RowOf<typeof extensions>): Promise<void> {
    this.#plugin = plugin;
    this.#loadError = null;
    await this.load();
    await this.restart(row).catch(() => this.apply(row));
  }

  /** Applies the extension row, one change at a time; `again` also starts a stopped plugin. Never rejects. */
  apply(row: RowOf<typeof extensions>, again = false): Promise<void> {
    this.#pending = this.#pending
      .then(() => this.#reconcile(row, again))
      .then(() => {
        this.#isFirstStart = false;
      });
    return this.#pending;
  }

  /**
   * Restarts the plugin, also a stopped one; resolves when it is running or its first start has failed. Throws
   * ConflictError if it must not run.
   */
  restart(row: RowOf<typeof extensions>): Promise<void> {
    const restarting = this.#pending.then(() => {
      const wanted = this.#resolveRunConfig(row);
      if (typeof wanted === "string")
        throw new ConflictError(
          sentence("error.plugin-plugin-cannot-be-started-reason", { plugin: this.manifest.name, reason: wanted }),
        );
      return this.#run(wanted, RESTART_REQUESTED_REASON);
    });
    this.#pending = restarting.catch(() => {});
    return restarting;
  }

  /** Stops the plugin permanently. */
  async stop(): Promise<void> {
    this.#isClosed = true;
    await this.#supervisor.stop(sentence("plugin-host.stopping"));
  }

  /** Queues deliveries; they fail at once if the plugin is disabled or stopped. */
  deliver(items: readonly DeliveryItem[]): void {
    this.#deliveryQueue.add(items);
    if (!this.isRunning && !this.isRestarting) this.#failDeliveries();
  }

  cancelDeliveries(request: StopRequest): void {
    this.#deliveryQueue.cancel(request);
  }

  /** Forwards a request; resolves with null if the plugin is not running. */
  async handleRequest(request: PluginRequest): Promise<PluginResponse | null> {
    return this.isRunning ? this.#routes.send(request) : null;
  }

  /** Runs a silent connectivity test of a device. */
  async probe(device: DeliveryItem["device"]): Promise<ProbeResult> {
    if (!this.isRunning) return PROBE_LIMITS.dropped;
    return this.#probes.request((id) => this.#supervisor.send({ kind: "probe", id, device }));
  }

  /** Asks a filter about devices; never rejects. */
  async filter(request: DeviceFilterRequest): Promise<FilterOutcome> {
    if (!this.isRunning) return FILTER_LIMITS.dropped;
    return this.#filterRequests.request((id) => this.#supervisor.send({ kind: "filter", id, request }));
  }

  /** True while the plugin runs and sends messages that are no notifications. */
  get sendsAccountMessages(): boolean {
    return this.isRunning && this.#offersAccountMessages && this.#health.health !== "unconfigured";
  }

  /** Sends a message that is no notification; resolves with the reason why it was not sent, or null. Never rejects. */
  async sendAccountMessage(message: AccountMessage): Promise<string | null> {
    if (!this.isRunning) return ACCOUNT_MESSAGE_LIMITS.dropped;
    return this.#accountMessages.request((id) => this.#supervisor.send({ kind: "account-message", id, message }));
  }

  /** The reports that the running plugin offers. */
  get reports(): readonly PluginReport[] {
    return this.#reports.list();
  }

  readReport(key: string, request: PluginReportRequest): Promise<PluginReportResult> {
    return this.#reports.read(key, request);
  }

  /** Ends a call to the appliance that the plugin carries. */
  hangUp(callId: string): void {
    this.#supervisor.send({ kind: "phone-hang-up", callId });
  }

  /** Forwards a row change if the plugin watches the resource. */
  notifyChange(path: string, id: string, op: "create" | "update" | "delete"): void {
    if (this.#watches.has(path)) this.#supervisor.send({ kind: "change", path, id, op });
  }

  /** Forwards an event if the plugin subscribed to it. */
  notifyEvent<K extends keyof PluginEvents>(name: K, payload: PluginEvents[K]): void {
    if (this.#subscribedEvents.has(name)) this.#supervisor.send({ kind: "event", name, payload });
  }

  /** Installed plugins get a process without rights; a newer version may need another network. */
  #launcher(memoryMb: number, onLine: (line: string) => void): LaunchPlugin {
    const { entry, isForeign } = this.#plugin;
    if (!isForeign) return launchInWorker(entry, memoryMb, onLine);
    const { clock } = this.#deps.host;
    return (init, events) => {
      const { entry, manifest } = this.#plugin;
      // Files may have changed since the plugin was found.
      verifyPlugin(dirname(fileURLToPath(entry)), manifest, this.#deps.host.pluginTrust());
      const dataFolder = pluginDataFolder(this.#plugin);
      const launch = { entry, dataFolder, memoryMb, network: manifest.network ?? {}, clock, onLine };
      return launchInProcess(launch)({ ...init, dataFolder }, events);
    };
  }

  #readFields(): Promise<PluginFields> {
    const { configEntry: entry, isForeign } = this.#plugin;
    const { clock, launch } = this.#deps.host;
    if (!isForeign || launch) return loadPluginFields(this.#plugin);
    return readFieldsInProcess({
      entry,
      dataFolder: pluginDataFolder(this.#plugin),
      memoryMb: DEFAULT_MEMORY_MB,
      clock,
    });
  }

  async #reconcile(row: RowOf<typeof extensions>, again: boolean): Promise<void> {
    const wanted = this.#resolveRunConfig(row);
    this.#isPending = false;
    const { state } = this.#supervisor;
    if (this.#isClosed) return;
    if (typeof wanted === "string") {
      await this.#supervisor.stop(wanted);
      this.#failDeliveries();
      return;
    }
    const same = JSON.stringify(wanted.config) === JSON.stringify(this.#runningConfig);
    if (same && state !== "disabled" && !(again && state === "stopped")) return;
    this.#isConfigured = Object.keys(row.config ?? {}).length > 0;
    await this.#run(wanted, CONFIG_CHANGED_REASON);
  }

  async #run({ config, redact }: ReturnType<PluginConfig["toRuntime"]>, reason: string): Promise<void> {
    this.#runningConfig = config;
    this.#redact = redact;
    if (this.#isClosed) return;
    if (this.#supervisor.state === "disabled") await this.#supervisor.start();
    else await this.#supervisor.restart(reason);
  }

  /** The configuration to run with, or the reason why the plugin must not run. */
  #resolveRunConfig(row: RowOf<typeof extensions>): string | ReturnType<PluginConfig["toRuntime"]> {
    if (row.disabled || row.globalDisabled) return DISABLED_REASON;
    if (!this.#config) return this.#loadError ?? sentence("plugin-host.config-not-loaded");
    try {
      return this.#config.toRuntime(row.config);
    } catch (error) {
      return configErrorText(error);
    }
  }

  #init(): PluginInit {
    const { name, watches } = this.manifest;
    const { settings, baseUrl } = this.#deps.host;
    const { allowedTargets, multicastInterface } = settings.network;
    const ports = this.#ports.settings();
    return {
      ...{ plugin: name, config: this.#runningConfig, ports, watches, allowedTargets },
      ...{ baseUrl: baseUrl(), multicastInterface, country: settings.site?.country ?? null },
    };
  }

  #onStateChange(state: PluginRunState, reason: string | null): void {
    const text = reason === null ? null : this.#redact(reason);
    const didRun = this.#state.state === "running";
    if (state === "running") {
      // The plugin may have reported its health during its start.
      this.#show("running", this.#health.reason);
      this.#log.info({ event: "plugin.started" }, "plugin started");
      this.#deliveryQueue.resume();
      return;
    }
    this.#ports.close({ forget: state === "restarting" && !didRun });
    this.#health = { health: "ok", reason: null };
    this.#watches.clear();
    this.#subscribedEvents.clear();
    this.#deliveryQueue.pause();
    this.#routes.resolveAllDropped();
    this.#probes.resolveAllDropped();
    this.#filterRequests.resolveAllDropped();
    this.#accountMessages.resolveAllDropped();
    this.#offersAccountMessages = false;
    this.#reports.clear();
    if (state !== "starting") this.#show(state, text);
    else if (this.#state.state !== "restarting") this.#show("restarting", null);
    if (state === "disabled") this.#logDisabled(text);
    else if (text === CONFIG_CHANGED_REASON || text === RESTART_REQUESTED_REASON)
      this.#log.info({ event: "plugin.restarting", reason: text }, "plugin restarting");
    else if (text !== null) this.#log.warn({ event: "plugin.failed", reason: text, state }, "plugin failed");
    if (state !== "stopped") return;
    this.#failDeliveries();
    this.#record(recordPluginStopped(this.manifest, text ?? "", this.#deps.host));
  }

  #show(state: PluginStatus["state"], reason: string | null): void {
    const before = this.#state;
    this.#state = { state, reason };
    if (before.state === state && before.reason === reason) return;
    const reported = state === "running" ? { health: this.#health.health } : {};
    this.#deps.host.events.emit("plugin.changed", { plugin: this.manifest.name, state, reason, ...reported });
  }

  /** The host logs all plugins that are disabled at start-up in one line. */
  #logDisabled(reason: string | null): void {
    const values = { event: "plugin.disabled", reason };
    if (this.#isFirstStart && reason === DISABLED_REASON) this.#tail.add("info", values, "plugin disabled");
    else this.#log.info(values, "plugin disabled");
  }

  #failDeliveries(): void {
    const reason = this.#state.reason ?? DISABLED_REASON;
    this.#deliveryQueue.failAll(sentence("delivery.plugin-not-running", { plugin: this.manifest.name, reason }));
  }

  #record(written: Promise<void>): void {
    written.catch((error: unknown) =>
      this.#log.error({ event: "plugin.activity_failed", err: error }, "failed to record a plugin failure"),
    );
  }

  #receive(message: FromPlugin, reply: (message: ToPlugin) => void): void {
    switch (message.kind) {
      case "outcomes":
        this.#handleOutcomes(message.notes);
        break;
      case "call":
        void this.#handleCall(message, reply);
        break;
      case "response":
        this.#routes.resolve(message.id, message.response);
        break;
      case "probed": {
        const { proof, reason } = message.result;
        const details = reason === undefined ? {} : { reason: this.#redact(reason) };
        this.#probes.resolve(message.id, { proof, ...details });
        break;
      }
      case "filtered":
        this.#filterRequests.resolve(message.id, checkFilterOutcome(message.result, this.#redact));
        break;
      case "account-message-offered":
        this.#offersAccountMessages = true;
        break;
      case "account-message-sent":
        this.#accountMessages.resolve(message.id, this.#redact(message.problem));
        break;
      case "report-offered":
        this.#offerReport(message.report);
        break;
      case "report-lines":
        this.#reports.addLines(message.id, message.lines);
        break;
      case "reported":
        this.#reports.finish(message.id, message.problem, this.#redact);
        break;
      case "phone-voice":
      case "phone-key":
      case "phone-end":
        this.#receiveFromCall(message);
        break;
      case "log":
        this.#log[message.level](this.#redact(message.values), this.#redact(message.message));
        break;
      case "status":
        this.#updateHealth(this.#judgeHealth(message.state), this.#redact(message.reason));
        break;
      case "listening":
        this.#ports.opened(message.name, message.url, message.port);
        break;
      case "watch":
        if (this.manifest.watches.includes(message.path)) this.#watches.add(message.path);
        break;
      case "follow":
        this.#subscribedEvents.add(message.name);
        if (message.name === "multicast.changed") this.notifyEvent(message.name, this.#deps.multicast());
    }
  }

  /** Messages of calls come fifty times a second, so they have no response. */
  #receiveFromCall(message: Extract<FromPlugin, { kind: `phone-${string}` }>): void {
    const { name, phone: isGranted } = this.manifest;
    const phone = isGranted ? this.#deps.host.phone : undefined;
    if (!phone || typeof message.callId !== "string") return;
    if (message.kind === "phone-end") phone.end(name, message.callId);
    else if (message.kind === "phone-key") {
      if (/^[\d*#]$/.test(message.key)) phone.press(name, message.callId, message.key);
    } else if (isCodec(message.codec) && message.payload instanceof Uint8Array)
      phone.hear(name, message.callId, message.codec, message.payload.subarray(0, MAX_VOICE_BYTES));
  }

  #offerReport(report: PluginReport): void {
    const isReportPlugin = this.manifest.extensionType === "report";
    if (isReportPlugin && this.#reports.offer(report)) return;
    this.#log.warn({ event: "plugin.report_refused", report: report.key }, "Report of the plugin refused.");
  }

  /** A plugin that somebody has configured, but not completely, is at fault. */
  #judgeHealth(reported: PluginStatus["health"]): PluginStatus["health"] {
    return reported === "unconfigured" && this.#isConfigured ? "degraded" : reported;
  }

  #updateHealth(health: PluginStatus["health"], reason: string | null): void {
    const before = this.#health;
    this.#health = { health, reason };
    const { name: plugin } = this.manifest;
    if (this.isRunning && (before.health !== health || before.reason !== reason))
      this.#deps.host.events.emit("plugin.changed", { plugin, state: "running", reason, health });
  }

  #handleOutcomes(notes: readonly OutcomeReport[]): void {
    const outcomes = this.#deliveryQueue.report(sanitizeOutcomes(notes, this.#redact));
    if (outcomes.length > 0) this.#deps.host.onOutcomes(outcomes);
  }

  async #handleCall(
    { id, method, args }: Extract<FromPlugin, { kind: "call" }>,
    reply: (message: ToPlugin) => void,
  ): Promise<void> {
    try {
      const value = await handlePluginCall(this.manifest.name, method, args, {
        ...this.#deps.answers,
        grants: this.manifest.watches,
        grantsRings: this.manifest.rings === true,
        grantsPhone: this.manifest.phone === true,
      });
      reply({ kind: "reply", id, value });
    } catch (error) {
      const message = errorText(error);
      this.#log.warn({ event: "plugin.call_refused", method, reason: message }, "host call refused");
      reply({ kind: "refusal", id, message, ...(isNetworkUnreachable(error) && { noNetwork: true }) });
    }
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
