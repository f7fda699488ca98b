import { existsSync, statSync } from "node:fs";
import { ConflictError, UpstreamError } from "../lib/errors.ts";
import type { DeliveryProviders } from "../notifications/engine/delivery-providers.ts";
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
import extensions from "../resources/devices/extensions.ts";
import type { ActorContext, InternalTable, ResourceHooks } from "../store/store.ts";
import { compileClaims } from "./claims.ts";
import { extensionHooks } from "./extension-hooks.ts";
import { extensionIdOf, writeExtensionRows } from "./extension-rows.ts";
import { HostedPlugin } from "./hosted-plugin.ts";
import { findPlugins, type InstalledPlugin } from "./installed-plugins.ts";
import type { PluginLogLine } from "./log-tail.ts";
import { recordPluginRestart } from "./plugin-activities.ts";
import { linkPluginApi } from "./plugin-api-link.ts";
import type { PluginHostDeps } from "./plugin-host-deps.ts";
import { PLUGIN_STATE } from "./plugin-state.ts";
import type { PluginCallDeps } from "./rpc-handlers.ts";
import { unknownPluginSettings } from "./unknown-settings.ts";

export type { PluginHostDeps } from "./plugin-host-deps.ts";

/** All installed plugins, each run and watched on its own: what happens to one delays nothing on another. */
export interface PluginHost extends DeliveryProviders {
  /** Makes the extension rows and starts what is enabled; resolves when each runs or has failed its first start. */
  start(): Promise<void>;
  /** Takes up plugins that were installed while it runs, and newer versions; gives their names. */
  loadNewPlugins(): Promise<string[]>;
  /** Stops every plugin; resolves within about 2 s, when all are gone. */
  stop(): Promise<void>;
  /** Calls deliveries of one provider off. */
  stop(provider: string, request: StopRequest): void;
  /** Of the plugins that were not refused, by name. */
  readonly manifests: readonly PluginManifest[];
  /** Provider of a device by the manifests' claims; null when nobody claims it. */
  findProvider(type: string, deviceIdentifier: string): string | null;
  /** Tests the way to a device quietly, by its provider. */
  probe(provider: string, device: DeliveryItem["device"]): Promise<ProbeResult>;
  /** `{"ip-phones/auth": "http://…"}` of all open own ports. */
  urls(): Record<string, string>;
  /**
   * A request under /x/<plugin>, its prefix cut off; null when no such plugin is switched on. Throws UpstreamError `starting`
   * while one that is does not run.
   */
  handleRequest(plugin: string, request: PluginRequest): Promise<PluginResponse | null>;
  /**
   * Starts the plugin behind an extension anew, one that was given up too, and writes down who asked; resolves when it
   * runs or has failed its first start. Throws ConflictError when no plugin stands behind it or it must not run.
   */
  restart(extensionId: string, by: ActorContext): Promise<void>;
  /** At most `limit` of the newest lines after `after` that the plugin behind an extension logged; null without a plugin. */
  readLog(extensionId: string, limit: number, after: number): PluginLogLine[] | null;
  /** Fields of the plugins' configurations by extension id, of those whose fields can be read. */
  configFields(): Record<string, ConfigFields>;
  /** Checks the configuration by the plugin's fields, seals its secrets and never shows them. */
  readonly extensionHooks: ResourceHooks<typeof extensions>;
}

/** Tables that the host needs in the store. */
export const PLUGIN_HOST_TABLES: readonly InternalTable[] = [PLUGIN_STATE];

const ABSENT = { state: "absent", health: "down", reason: null, failures: 0, nextTryAt: null };

/** The events of the core that plugins may follow. */
const PLUGIN_EVENTS = [
  "notification.accepted",
  "notification.stopped",
  "notification.settled",
] as const satisfies readonly (keyof PluginEvents)[];

/** Finds the plugins in the folder; nothing of them runs before `start`. */
export function createPluginHost(needs: PluginHostDeps): PluginHost {
  const { store, clock, events, log, by } = needs;
  const installed = findUsablePlugins(needs);
  const manifests = installed.map(({ manifest }) => manifest);
  for (const words of unknownPluginSettings(needs.settings, manifests))
    log.warn({ setting: words }, "setting without effect");
  let matchClaim = compileClaims(manifests);
  const findProvider = (type: string, identifier: string): string | null => matchClaim(type, identifier);
  const callDeps: Omit<PluginCallDeps, "grants" | "mayHearRings"> = { ...needs, findProvider };
  const plugins = new Map(
    installed.map((plugin) => [plugin.manifest.name, new HostedPlugin(plugin, { host: needs, answers: callDeps })]),
  );
  let versionStamps = new Map(installed.map((plugin) => [plugin.manifest.name, versionStampOf(plugin)]));
  const unsubscribe: (() => void)[] = [];
  let isStopped = false;

  /** Brings a plugin in line with its row; `again` tries one that was given up. */
  async function applyRow(name: string, again = false): Promise<void> {
    // What was touched last comes to its turn when the store may be closed.
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
    findProvider,
    async start() {
      await Promise.all([...plugins.values()].map((plugin) => plugin.load()));
      await writeExtensionRows(manifests, store, by);
      unsubscribe.push(
        events.on("row.changed", ({ resource, id, op }) => onRowChanged(resource, id, op)),
        ...PLUGIN_EVENTS.map((name) =>
          events.on(name, (payload) => {
            for (const plugin of plugins.values()) plugin.notifyEvent(name, payload);
          }),
        ),
      );
      await Promise.all([...plugins.keys()].map((name) => applyRow(name)));
    },
    async loadNewPlugins() {
      const found = findUsablePlugins(needs);
      const fresh = found.filter((plugin) => versionStamps.get(plugin.manifest.name) !== versionStampOf(plugin));
      versionStamps = new Map(found.map((plugin) => [plugin.manifest.name, versionStampOf(plugin)]));
      for (const plugin of fresh) {
        const { name } = plugin.manifest;
        const at = manifests.findIndex((manifest) => manifest.name === name);
        manifests.splice(at < 0 ? manifests.length : at, at < 0 ? 0 : 1, plugin.manifest);
        const hosted = plugins.get(name) ?? new HostedPlugin(plugin, { host: needs, answers: callDeps });
        plugins.set(name, hosted);
        matchClaim = compileClaims(manifests);
        if (at < 0) await hosted.load();
        await writeExtensionRows([plugin.manifest], store, by);
        const row = store.get(extensions, extensionIdOf(name));
        if (row) await (at < 0 ? hosted.apply(row) : hosted.replaceVersion(plugin, row));
        log.info({ plugin: name, version: plugin.manifest.version }, "plugin taken up");
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
    probe: async (provider, device) => (await plugins.get(provider)?.probe(device)) ?? { proof: "untested" },
    async handleRequest(name, request) {
      const answer = (await plugins.get(name)?.handleRequest(request)) ?? null;
      const isOn = answer === null && plugins.has(name) && !store.get(extensions, extensionIdOf(name))?.disabled;
      if (isOn) throw new UpstreamError("starting", `The plugin ${name} does not run at the moment.`);
      return answer;
    },
    async restart(extensionId, restartedBy) {
      const row = store.get(extensions, extensionId);
      const plugin = row?.plugin ? plugins.get(row.plugin) : undefined;
      if (!row || !plugin) throw new ConflictError("No plugin stands behind this extension.");
      await plugin.restart(row);
      await recordPluginRestart(plugin.manifest, restartedBy.actor, needs);
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
      const details = { reason: `${provider} is not installed` };
      const at = clock.now();
      needs.onOutcomes(
        items.map(({ deliveryId }) => ({ provider, deliveryId, level: "failed" as const, details, at })),
      );
    },
    extensionHooks: extensionHooks({
      config: (name) => plugins.get(name)?.config ?? null,
      status: (name) => ({ ...(plugins.get(name)?.status ?? ABSENT) }),
      watches: (name) => plugins.get(name)?.manifest.watches ?? [],
      // After the write's commit, when the row can be read.
      onSettingsWritten: (name) => clock.defer(() => void applyRow(name, true)),
    }),
  };
}

/** Every plugin that was not refused; those are told in the log. */
function findUsablePlugins({ pluginFolder, ownPluginFolder, log }: PluginHostDeps): InstalledPlugin[] {
  if (ownPluginFolder && existsSync(ownPluginFolder)) linkPluginApi(ownPluginFolder);
  const { installed, refused } = findPlugins(pluginFolder, ownPluginFolder);
  for (const { name, reasons } of refused) log.error({ plugin: name, reasons }, "plugin refused");
  return installed;
}

/** Differs as soon as another version lies in the plugin's place. */
function versionStampOf({ entry, manifest }: InstalledPlugin): string {
  return `${manifest.version} ${statSync(entry, { throwIfNoEntry: false })?.mtimeMs}`;
}
