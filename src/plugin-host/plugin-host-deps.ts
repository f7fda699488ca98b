import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import type { DeliveryOutcome } from "../notifications/engine/delivery-providers.ts";
import type { VoiceCalls } from "../notifications/engine/voice-calls.ts";
import type {
  AudioCodec,
  AudioTarget,
  DialResult,
  OfflineRing,
  RingPlan,
  TextMessage,
  TextReply,
  VoiceTarget,
} from "../plugin-api/index.ts";
import type { Settings } from "../settings/schema.ts";
import type { ActorContext, Store } from "../store/store.ts";
import type { InstalledPlugin } from "./installed-plugins.ts";
import type { LaunchPlugin } from "./plugin-instance.ts";

/** Calls that plugins carry, see `PhoneLine`. */
export interface PhoneCallHandler {
  dial(plugin: string, call: unknown): Promise<DialResult>;
  connect(plugin: string, callId: string, target: VoiceTarget | null): Promise<void>;
  hear(plugin: string, callId: string, codec: AudioCodec, payload: Uint8Array): void;
  press(plugin: string, callId: string, key: string): void;
  end(plugin: string, callId: string): void;
}

export interface PluginHostDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  settings: Pick<Settings, "network" | "plugins"> & Partial<Pick<Settings, "site" | "trust">>;
  /** Folder of built-in plugins, `<name>/{plugin.json,config.js,index.js}`, with a trailing slash. */
  pluginFolder: URL;
  /** Folder of installed plugins, with a trailing slash; without it there are none. */
  ownPluginFolder?: URL;
  /** Actor of writes to extension rows, devices and activities. */
  by: ActorContext;
  /** Id of this appliance's endpoint. */
  endpointId(): string;
  /** Public base URL of the appliance. */
  baseUrl(): string;
  /** How plugins are launched; default: a worker thread each. */
  launch?: (plugin: InstalledPlugin) => LaunchPlugin;
}

/** What plugins report to the product and ask of it, once they run. */
export interface PluginCallbacks {
  /** Receives outcomes. A plugin may name any delivery, so the receiver must check ownership. Must not throw. */
  onOutcomes(outcomes: readonly DeliveryOutcome[]): void;
  /** Resolves when the first packet to the target has left. */
  openStream(provider: string, target: Omit<AudioTarget, "ssrc">, notificationId: string): Promise<void>;
  closeStream(target: Pick<AudioTarget, "group" | "port">, notificationId: string): void;
  voice: Omit<VoiceCalls, "play">;
  /** Upcoming rings by provider; absent if not available. */
  rings?: {
    planned(provider: string, deviceIdentifier: string): Promise<RingPlan | null>;
    sound(provider: string, sha256: string, from: number): Promise<Uint8Array | null>;
    playedAlone(provider: string, deviceIdentifier: string, rings: readonly OfflineRing[]): Promise<void>;
    behind(provider: string, deviceIdentifiers: readonly string[]): void;
  };
  /** Calls to the appliance; absent if not available. */
  phone?: PhoneCallHandler;
  confirm(provider: string, recipientId: string, option: string): Promise<string | null>;
  receive(message: TextMessage): Promise<TextReply>;
  /** Validates and stores an external trigger; resolves when it is stored, without waiting for its effects. */
  trigger(plugin: string, input: unknown): Promise<void>;
}
