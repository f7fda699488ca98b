import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import type { DeliveryOutcome } from "../notifications/engine/delivery-providers.ts";
import type { VoiceCalls } from "../notifications/engine/voice-calls.ts";
import type { AudioTarget, OfflineRing, RingPlan, TextMessage, TextReply } from "../plugin-api/index.ts";
import type { Settings } from "../settings/schema.ts";
import type { ActorContext, Store } from "../store/store.ts";
import type { InstalledPlugin } from "./installed-plugins.ts";
import type { LaunchPlugin } from "./plugin-instance.ts";

/** What the plugin host is made of. */
export interface PluginHostDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  settings: Pick<Settings, "network" | "plugins">;
  /** Folder of built plugins, `<name>/{plugin.json,config.js,index.js}`, with a slash at its end. */
  pluginFolder: URL;
  /** Folder of the plugins that were installed later, with a slash at its end; there are none without. */
  ownPluginFolder?: URL;
  /** In whose name extension rows, devices and activities are written. */
  by: ActorContext;
  /** This appliance's endpoint. */
  endpointId(): string;
  /** Where the appliance is reached. */
  baseUrl(): string;
  /** Takes reports as they come; a plugin may name any delivery, so whose it is must be looked at. Must not throw. */
  onOutcomes(outcomes: readonly DeliveryOutcome[]): void;
  /** Resolves when the first packet to the target has left. */
  openStream(provider: string, target: Omit<AudioTarget, "ssrc">, notificationId: string): Promise<void>;
  closeStream(target: Pick<AudioTarget, "group" | "port">, notificationId: string): void;
  /** Speaks in the calls of plugins. */
  voice: VoiceCalls;
  /** The rings to come, by the plugin whose devices hear them; there are none without. */
  rings?: {
    planned(provider: string, deviceIdentifier: string): Promise<RingPlan | null>;
    sound(provider: string, sha256: string, from: number): Promise<Uint8Array | null>;
    playedAlone(provider: string, deviceIdentifier: string, rings: readonly OfflineRing[]): Promise<void>;
    behind(provider: string, deviceIdentifiers: readonly string[]): void;
  };
  confirm(provider: string, recipientId: string, option: string): Promise<string | null>;
  /** Takes a text message from a person. */
  receive(message: TextMessage): Promise<TextReply>;
  /** Checks and stores an input from outside; resolves when it is stored, and what follows is not the host's to wait for. */
  trigger(plugin: string, input: unknown): Promise<void>;
  /** How plugins are run: each in a thread of its own unless given. */
  launch?: (plugin: InstalledPlugin) => LaunchPlugin;
}
