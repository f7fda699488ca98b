import type { Providers } from "../broadcast/providers.ts";
import type { PluginManifest, PluginRequest, PluginResponse } from "../plugin-api/index.ts";
import type extensions from "../resources/devices/extensions.ts";
import type { Behaviour } from "../store/store.ts";

export type { PluginHostNeeds } from "./host-needs.ts";

/** All installed plugins, each run and watched on its own: what happens to one delays nothing on another. */
export interface PluginHost extends Providers {
  /** Makes the extension rows and starts what is enabled; resolves when each runs or has failed its first start. */
  start(): Promise<void>;
  /** Stops every plugin; resolves within about 2 s, when all are gone. */
  stop(): Promise<void>;
  /** Of the plugins that were not refused, by name. */
  readonly manifests: readonly PluginManifest[];
  /** Provider of a device by the manifests' claims; null when nobody claims it. */
  findProvider(type: string, deviceIdentifier: string): string | null;
  /** `{"ip-phones/auth": "http://…"}` of all open own ports. */
  urls(): Record<string, string>;
  /** A request under /x/<plugin>, its prefix cut off; null when no such plugin runs. */
  route(plugin: string, request: PluginRequest): Promise<PluginResponse | null>;
  /** Checks the configuration by the plugin's fields, seals its secrets and never shows them. */
  readonly extensionBehaviour: Behaviour<typeof extensions>;
}
