import { ConflictError, UpstreamError } from "../lib/errors.ts";
import type extensions from "../resources/devices/extensions.ts";
import { extensionFeature } from "../resources/devices/features.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ResourceHooks, RowMutation } from "../store/store.ts";
import type { PluginConfig } from "./plugin-config.ts";

type Extension = RowOf<typeof extensions>;

/** What the extension rows need to know of the plugins behind them. */
export interface ExtensionPlugins {
  /** Null when no such plugin is installed or its fields can't be read. */
  config(plugin: string): PluginConfig | null;
  /** What the row shows as `status`. */
  status(plugin: string): Record<string, unknown>;
  /** Names of the resources that it watches. */
  watches(plugin: string): readonly string[];
  /** Somebody wrote switch or configuration, perhaps with the value it had: a plugin that failed is tried again. */
  onSettingsWritten(plugin: string): void;
}

/**
 * The rules of extension rows with a plugin behind them. own choice: such a row can't be deleted, since it would come
 * back with the next start; it is switched off instead.
 */
export function extensionHooks(plugins: ExtensionPlugins): ResourceHooks<typeof extensions> {
  return {
    beforeWrite(change, _tx, by) {
      const { before, after, given } = change;
      if (!after) return rejectRemoval(before);
      if (before === null || before.plugin === null) return;
      if (by.actor.kind === "user") Object.assign(after, { type: before.type, deviceType: before.deviceType });
      if (given.has("config")) storeConfig(change, before.plugin, plugins);
      if (given.has("config") || given.has("disabled") || given.has("globalDisabled"))
        plugins.onSettingsWritten(before.plugin);
    },
    present: (rows) =>
      rows.map((row) => {
        const { plugin, config, type } = row;
        const follows = { featureRequired: extensionFeature(row), requiresOptIn: type === "device" };
        if (plugin === null) return { status: null, triggers: [], configExports: [], ...follows };
        const own = plugins.config(plugin);
        return {
          config: own?.toPublic(config) ?? {},
          status: plugins.status(plugin),
          triggers: plugins.watches(plugin).map((resource) => ({ spec: `/${resource}/*` })),
          configExports: own?.publicNames ?? [],
          ...follows,
        };
      }),
  };
}

function rejectRemoval(row: Extension | null): void {
  if (row?.id === ONPREM_EXTENSION_ID) throw new ConflictError("The appliances stand behind this extension.");
  if (row?.plugin) throw new ConflictError("A plugin stands behind this extension: switch it off instead.");
}

function storeConfig(
  { before, after }: RowMutation<typeof extensions>,
  plugin: string,
  plugins: ExtensionPlugins,
): void {
  const config = plugins.config(plugin);
  if (!config) throw new UpstreamError("starting", `The plugin ${plugin} can't check its configuration now.`);
  if (after) after.config = config.toStored(after.config, before?.config);
}
