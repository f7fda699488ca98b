import { isDeepStrictEqual } from "node:util";
import { ConflictError, UpstreamError } from "../lib/errors.ts";
import type { SentenceReader } from "../lib/sentences/registry.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type extensions from "../resources/devices/extensions.ts";
import { extensionFeature } from "../resources/devices/features.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ResourceHooks, RowMutation } from "../store/store.ts";
import type { InstalledPlugin } from "./installed-plugins.ts";
import type { PluginConfig } from "./plugin-config.ts";

type Extension = RowOf<typeof extensions>;

/** What the extension hooks need to know about plugins. */
export interface ExtensionPlugins {
  /** Null if the plugin is not installed or its fields cannot be read. */
  config(plugin: string): PluginConfig | null;
  /** Value of `status` in the row. */
  status(plugin: string): Record<string, unknown>;
  watches(plugin: string): readonly string[];
  /** Null if the plugin is not installed. */
  installation(plugin: string): InstalledPlugin | null;
  /** The switch or configuration was written, possibly unchanged: a stopped plugin is started again. */
  onSettingsWritten(plugin: string): void;
}

/**
 * Hooks of extension rows that belong to a plugin. Such a row cannot be deleted, because it would be recreated at the
 * next start; it can be disabled.
 */
export function extensionHooks(plugins: ExtensionPlugins): ResourceHooks<typeof extensions> {
  return {
    beforeWrite(change, _tx, by) {
      const { before, after, given } = change;
      if (!after) return rejectRemoval(before);
      if (before === null || before.plugin === null) return;
      if (by.actor.kind === "user") Object.assign(after, { type: before.type, deviceType: before.deviceType });
      if (given.has("config")) storeConfig(change, before.plugin, plugins);
      if (by.replicated && !isDeepStrictEqual(after.config, before.config)) {
        after.config = receivedConfig(change, plugins.config(before.plugin));
        plugins.onSettingsWritten(before.plugin);
      }
      if (given.has("config") || given.has("disabled") || given.has("globalDisabled"))
        plugins.onSettingsWritten(before.plugin);
    },
    present: (rows, { sentences }) =>
      rows.map((row) => {
        const { plugin, config, type } = row;
        const follows = { featureRequired: extensionFeature(row), requiresOptIn: type === "device" };
        if (plugin === null) return { status: null, triggers: [], configExports: [], installation: null, ...follows };
        const own = plugins.config(plugin);
        return {
          config: own?.toPublic(config) ?? {},
          status: withReasonSentence(plugins.status(plugin), sentences),
          triggers: plugins.watches(plugin).map((resource) => ({ spec: `/${resource}/*` })),
          configExports: own?.publicNames ?? [],
          installation: installationOf(plugins.installation(plugin)),
          ...follows,
        };
      }),
  };
}

/** Null for a plugin of the product, which is not limited. */
function installationOf(plugin: InstalledPlugin | null): object | null {
  if (!plugin?.isForeign) return null;
  const { version, network = {} } = plugin.manifest;
  const { hosts = [], settings = [], deviceAttributes = [] } = network;
  return { version, signedBy: plugin.signedBy, hosts, settings, deviceAttributes };
}

function withReasonSentence(status: Record<string, unknown>, sentences: SentenceReader): Record<string, unknown> {
  const { reason } = status;
  return { ...status, reasonSentence: typeof reason === "string" ? sentences.read(reason) : null };
}

function rejectRemoval(row: Extension | null): void {
  if (row?.id === ONPREM_EXTENSION_ID)
    throw new ConflictError(sentence("error.this-extension-cannot-be-deleted-it-represents-the-appliances"));
  if (row?.plugin)
    throw new ConflictError(
      sentence("error.this-extension-cannot-be-deleted-because-it-belongs-to-a-plugin-disable-it-instead"),
    );
}

/** Without the plugin it is not known where its secrets go: none is kept beside changed values. */
function receivedConfig(
  { before, after }: RowMutation<typeof extensions>,
  config: PluginConfig | null,
): Extension["config"] {
  if (config) return config.toReplicated(after?.config, before?.config);
  const values = Object.entries((after?.config ?? {}) as Record<string, unknown>);
  return Object.fromEntries(values.filter(([, value]) => !(typeof value === "string" && value.startsWith("v1:"))));
}

function storeConfig(
  { before, after }: RowMutation<typeof extensions>,
  plugin: string,
  plugins: ExtensionPlugins,
): void {
  const config = plugins.config(plugin);
  if (!config)
    throw new UpstreamError(
      "starting",
      sentence("error.plugin-plugin-is-not-loaded-so-its-configuration-cannot-be-validated", { plugin }),
    );
  if (after) after.config = config.toStored(after.config, before?.config);
}
