import { existsSync, statSync } from "node:fs";
import type { AccountMessageSender } from "../auth/account-mails.ts";
import { BugError, ConflictError, UpstreamError } from "../lib/errors.ts";
import { derivedId } from "../lib/ids.ts";
import { createSentenceRegistry, type SentenceReader } from "../lib/sentences/registry.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createSsrfGuard } from "../lib/ssrf-guard.ts";
import type { DeliveryProviders, DeviceFilters } from "../notifications/engine/delivery-providers.ts";
import type {
  ConfigFields,
  DeliveryItem,
  PluginEvents,
  PluginManifest,
  PluginReport,
  PluginReportRequest,
  PluginRequest,
  PluginResponse,
  ProbeResult,
  StopRequest,
} from "../plugin-api/index.ts";
import extensions from "../resources/devices/extensions.ts";
import type { ActorContext, InternalTable, ResourceHooks } from "../store/store.ts";
import { compileClaims } from "./claims.ts";
import { extensionHooks } from "./extension-hooks.ts";
import { extensionIdOf, writeExtensionRows } from "./extension-rows.ts";
import { HostedPlugin } from "./hosted-plugin.ts";
import { findPlugins, type InstalledPlugin } from "./installed-plugins.ts";
import type { PluginLogLine } from "./log-tail.ts";
import { recordPluginInstalled, recordPluginRestart } from "./plugin-activities.ts";
import { linkPluginApi } from "./plugin-api-link.ts";
import type { PluginCallbacks, PluginHostDeps } from "./plugin-host-deps.ts";
import type { PluginReportResult } from "./plugin-protocol.ts";
import type { PluginTrust } from "./plugin-signature.ts";
import { PLUGIN_STATE } from "./plugin-state.ts";
import { unknownPluginSettings } from "./unknown-settings.ts";

export type { PluginCallbacks, PluginHostDeps } from "./plugin-host-deps.ts";

/** All installed plugins, each run and supervised independently: one plugin cannot delay another. */
export interface PluginHost extends DeliveryProviders {
  /**
   * Creates the extension rows and starts enabled plugins, which use `callbacks` from then on; resolves when each is running or
   * its first start has failed.
   */
  start(callbacks: PluginCallbacks): Promise<void>;
  /** Loads plugins that were installed or updated since; returns their names. */
  loadNewPlugins(): Promise<string[]>;
  /** Stops all plugins; resolves within about 2 s. */
  stop(): Promise<void>;
  /** Cancels deliveries of one provider. */
  stop(provider: string, request: StopRequest): void;
  /** Manifests of usable plugins, by name. */
  readonly manifests: readonly PluginManifest[];
  /** Provider of a device by the manifests' claims; null if unclaimed. */
  findProvider(type: string, deviceIdentifier: string): string | null;
  /** Ends a call to the appliance that a plugin carries. */
  hangUp(plugin: string, callId: string): void;
  /** Runs a silent connectivity test through the device's provider. */
  probe(provider: string, device: DeliveryItem["device"]): Promise<ProbeResult>;
  /** Sends messages that are no notifications through the plugin of a device type, such as `email` or `SMS`. */
  accountMessages(deviceType: string): AccountMessageSender;
  /** Plugins of extension type `device-filter`. */
  readonly deviceFilters: DeviceFilters;
  /** Reports that running plugins offer, with their ids, the same in every installation. */
  reports(): readonly OfferedReport[];
  /** Reads the lines of an offered report; null if it is not offered. Never rejects. */
  readReport(id: string, request: PluginReportRequest): Promise<PluginReportResult | null>;
  /** `{"ip-phones/auth": "http://…"}` of all open plugin ports. */
  urls(): Record<string, string>;
  /**
   * Handles a request below /x/<plugin>, with the prefix removed; null if no such plugin is enabled. Throws
   * UpstreamError `starting` if the plugin is enabled but not running.
   */
  handleRequest(plugin: string, request: PluginRequest): Promise<PluginResponse | null>;
  /**
   * Restarts the plugin of an extension, also a stopped one, and records who did it; resolves when it is running or its
   * first start has failed. Throws ConflictError if the extension has no plugin or the plugin must not run.
   */
  restart(extensionId: string, by: ActorContext): Promise<void>;
  /** At most `limit` of the newest log lines after `after` of the plugin of an extension; null without a plugin. */
  readLog(extensionId: string, limit: number, after: number): PluginLogLine[] | null;
  /** Configuration fields by extension id, of plugins whose fields can be read. */
  configFields(): Record<string, ConfigFields>;
  /** Reads sentences of the core and of the plugins. */
  readonly sentences: SentenceReader;
  /** Validates configurations by the plugin's fields, seals secrets and never shows them. */
  readonly extensionHooks: ResourceHooks<typeof extensions>;
}

/** A report of a plugin. */
export interface OfferedReport extends PluginReport {
  id: string;
}

export const PLUGIN_HOST_TABLES: readonly InternalTable[] = [PLUGIN_STATE];

const ABSENT = { state: "absent", health: "down", reason: null, failures: 0, nextTryAt: null };

/** Core events that plugins may subscribe to. */
const PLUGIN_EVENTS = [
  "notification.accepted",
  "notification.stopped",
  "notification.settled",
  "network.changed",
  "multicast.changed",
] as const satisfies readonly (keyof PluginEvents)[];

/** Finds the plugins; nothing runs before `start`. */
export function createPluginHost(deps: PluginHostDeps): PluginHost {
  const { store, clock, events, log, by } = deps;
  let refusals = new Map<string, string>();
  const findUsable = (): InstalledPlugin[] => {
    const { installed, refused } = findUsablePlugins(deps);
    refusals = new Map(refused.map(({ name, reasons }) => [name, reasons.join(" ")]));
    return installed;
  };
  const installed = findUsable();
  const manifests = installed.map(({ manifest }) => manifest);
  for (const setting of unknownPluginSettings(deps.settings, manifests))
    log.warn({ event: "plugin.setting_ignored", setting }, "unknown plugin setting ignored");
  let matchClaim = compileClaims(manifests);
  const sentences = createSentenceRegistry();
  for (const plugin of installed) if (plugin.sentences) sentences.set(plugin.manifest.name, plugin.sentences);
  const findProvider = (type: string, identifier: string): string | null => matchClaim(type, identifier);
  const { isAllowed } = createSsrfGuard({ allowedTargets: deps.settings.network.allowedTargets });
  const plugins = new Map<string, HostedPlugin>();
  let callbacks: PluginCallbacks | null = null;
  let versionStamps = new Map(installed.map((plugin) => [plugin.manifest.name, versionStampOf(plugin)]));
  const unsubscribe: (() => void)[] = [];
  let isStopped = false;
  let multicast: PluginEvents["multicast.changed"] = { streams: [] };

  function host(plugin: InstalledPlugin): HostedPlugin {
    if (!callbacks) throw new BugError("Plugins are hosted from the start on.");
    const host = { ...deps, ...callbacks, pluginTrust: () => trustOf(deps) };
    const hosted = new HostedPlugin(plugin, {
      host,
      answers: { ...host, findProvider, isTargetAllowed: isAllowed },
      multicast: () => multicast,
    });
    plugins.set(plugin.manifest.name, hosted);
    return hosted;
  }

  /** Applies a plugin's extension row; `again` also starts a stopped plugin. */
  async function applyRow(name: string, again = false): Promise<void> {
    // A deferred call may arrive after the store was closed.
    if (isStopped) return;
    const row = store.get(extensions, extensionIdOf(name));
    if (row) await plugins.get(name)?.apply(row, again);
  }

  function onRowChanged(resource: string, id: string, op: "create" | "update" | "delete"): void {
    for (const [name, plugin] of plugins) {
      plugin.notifyChange(resource, id, op);
      if (resource === extensions.name && id === extensionIdOf(name)) void applyRow(name);
    }
  }

  return {
    manifests,
    sentences,
    findProvider,
    async start(given) {
      callbacks = given;
      await Promise.all(installed.map((plugin) => host(plugin).load()));
      await writeExtensionRows(manifests, store, by);
      unsubscribe.push(
        events.on("row.changed", ({ resource, id, op }) => onRowChanged(resource, id, op)),
        ...PLUGIN_EVENTS.map((name) =>
          events.on(name, (payload) => {
            if (name === "multicast.changed") multicast = payload as PluginEvents["multicast.changed"];
            for (const plugin of plugins.values()) plugin.notifyEvent(name, payload);
          }),
        ),
      );
      await Promise.all([...plugins.keys()].map((name) => applyRow(name)));
      const disabled = [...plugins].flatMap(([name, { status }]) => (status.state === "disabled" ? [name] : []));
      if (disabled.length > 0) log.debug({ event: "plugin.disabled", plugins: disabled }, "plugins disabled");
    },
    async loadNewPlugins() {
      const found = findUsable();
      const fresh = found.filter((plugin) => versionStamps.get(plugin.manifest.name) !== versionStampOf(plugin));
      versionStamps = new Map(found.map((plugin) => [plugin.manifest.name, versionStampOf(plugin)]));
      for (const plugin of fresh) {
        const { name } = plugin.manifest;
        const at = manifests.findIndex((manifest) => manifest.name === name);
        if (plugin.sentences) sentences.set(name, plugin.sentences);
        manifests.splice(at < 0 ? manifests.length : at, at < 0 ? 0 : 1, plugin.manifest);
        const hosted = plugins.get(name) ?? host(plugin);
        matchClaim = compileClaims(manifests);
        if (at < 0) await hosted.load();
        await writeExtensionRows([plugin.manifest], store, by);
        const row = store.get(extensions, extensionIdOf(name));
        if (row) await (at < 0 ? hosted.apply(row) : hosted.replaceVersion(plugin, row));
        await recordPluginInstalled(plugin, deps);
        log.info({ event: "plugin.loaded", plugin: name, version: plugin.manifest.version }, "plugin loaded");
      }
      return fresh.map(({ manifest }) => manifest.name);
    },
    async stop(provider?: string, request?: StopRequest) {
      if (provider !== undefined && request) {
        plugins.get(provider)?.cancelDeliveries(request);
        return;
      }
      isStopped = true;
      for (const off of unsubscribe.splice(0)) off();
      await Promise.all([...plugins.values()].map((plugin) => plugin.stop()));
    },
    urls: () =>
      Object.fromEntries(
        [...plugins].flatMap(([name, { urls }]) => Object.entries(urls).map(([port, url]) => [`${name}/${port}`, url])),
      ),
    hangUp: (plugin, callId) => plugins.get(plugin)?.hangUp(callId),
    probe: async (provider, device) => (await plugins.get(provider)?.probe(device)) ?? { proof: "untested" },
    accountMessages(deviceType) {
      const find = () =>
        [...plugins.values()].find(
          (plugin) => plugin.sendsAccountMessages && plugin.manifest.deviceType === deviceType,
        );
      return {
        isAvailable: () => find() !== undefined,
        async send(message) {
          const plugin = find();
          return plugin ? plugin.sendAccountMessage(message) : sentence("account-message.not-offered");
        },
      };
    },
    deviceFilters: {
      names: () =>
        [...plugins].flatMap(([name, { manifest, status }]) =>
          manifest.extensionType === "device-filter" && status.state !== "disabled" ? [name] : [],
        ),
      ask: async (name, request) =>
        (await plugins.get(name)?.filter(request)) ?? { problem: sentence("filter.not-installed") },
    },
    reports: () =>
      [...plugins].flatMap(([name, plugin]) =>
        plugin.reports.map((report) => ({ ...report, id: reportIdOf(name, report.key) })),
      ),
    async readReport(id, request) {
      for (const [name, plugin] of plugins) {
        const report = plugin.reports.find(({ key }) => reportIdOf(name, key) === id);
        if (report) return plugin.readReport(report.key, request);
      }
      return null;
    },
    async handleRequest(name, request) {
      const answer = (await plugins.get(name)?.handleRequest(request)) ?? null;
      const isOn = answer === null && plugins.has(name) && !store.get(extensions, extensionIdOf(name))?.disabled;
      if (isOn) throw new UpstreamError("starting", sentence("error.plugin-plugin-is-not-running", { plugin: name }));
      return answer;
    },
    async restart(extensionId, restartedBy) {
      const row = store.get(extensions, extensionId);
      const plugin = row?.plugin ? plugins.get(row.plugin) : undefined;
      if (!row || !plugin) throw new ConflictError(sentence("error.this-extension-has-no-plugin"));
      await plugin.restart(row);
      await recordPluginRestart(plugin.manifest, restartedBy.actor, deps);
    },
    readLog: (extensionId, limit, after) => {
      const name = store.get(extensions, extensionId)?.plugin;
      return (name ? plugins.get(name) : undefined)?.tail.read(limit, after) ?? null;
    },
    configFields: () =>
      Object.fromEntries(
        [...plugins].flatMap(([name, { configFields }]) => (configFields ? [[extensionIdOf(name), configFields]] : [])),
      ),
    state(provider) {
      const plugin = plugins.get(provider);
      if (!plugin) return "absent";
      if (plugin.isRunning) return "running";
      return plugin.isRestarting ? "restarting" : "disabled";
    },
    extensionId: extensionIdOf,
    profileSchema: (extensionId) =>
      [...plugins].find(([name]) => extensionIdOf(name) === extensionId)?.[1].profileSchema ?? null,
    placesCalls: (provider) => plugins.get(provider)?.manifest.calls ?? false,
    window: (provider) => plugins.get(provider)?.manifest.window ?? 0,
    deliver(provider, items) {
      const plugin = plugins.get(provider);
      if (plugin) return void plugin.deliver(items);
      const details = { reason: sentence("delivery.plugin-not-installed", { plugin: provider }) };
      const at = clock.now();
      callbacks?.onOutcomes(
        items.map(({ deliveryId }) => ({ provider, deliveryId, level: "failed" as const, details, at })),
      );
    },
    extensionHooks: extensionHooks({
      config: (name) => plugins.get(name)?.config ?? null,
      status: (name) => ({ ...(plugins.get(name)?.status ?? { ...ABSENT, reason: refusals.get(name) ?? null }) }),
      installation: (name) => plugins.get(name)?.installation ?? null,
      watches: (name) => manifests.find((manifest) => manifest.name === name)?.watches ?? [],
      // Deferred until the write is committed and the row is readable.
      onSettingsWritten: (name) => clock.defer(() => void applyRow(name, true)),
    }),
  };
}

function reportIdOf(plugin: string, key: string): string {
  return derivedId("reports", `${plugin}/${key}`);
}

/** All usable plugins; logs refused ones. */
function findUsablePlugins(deps: PluginHostDeps): ReturnType<typeof findPlugins> {
  const { pluginFolder, ownPluginFolder, log } = deps;
  if (ownPluginFolder && existsSync(ownPluginFolder)) linkPluginApi(ownPluginFolder);
  const { installed, refused } = findPlugins(pluginFolder, ownPluginFolder, trustOf(deps));
  for (const { name, reasons } of refused)
    log.error({ event: "plugin.refused", plugin: name, reasons }, "plugin refused");
  for (const { manifest, sentenceErrors: reasons } of installed)
    if (reasons.length > 0)
      log.warn(
        { event: "plugin.sentences_ignored", plugin: manifest.name, reasons },
        "translations of the plugin ignored",
      );
  return { installed, refused };
}

function trustOf({ settings }: PluginHostDeps): PluginTrust {
  const { plugins: keys, unsignedPlugins: allowsUnsigned } = settings.trust ?? { plugins: [], unsignedPlugins: true };
  return { keys, allowsUnsigned };
}

/** Changes with each installed version. */
function versionStampOf({ entry, manifest }: InstalledPlugin): string {
  return `${manifest.version} ${statSync(entry, { throwIfNoEntry: false })?.mtimeMs}`;
}
