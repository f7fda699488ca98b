import type { Clock } from "../base/clock.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import type { RingPlans } from "../bells/ring-plans.ts";
import type { Broadcaster } from "../broadcast/broadcaster.ts";
import { createBroadcaster } from "../broadcast/create-broadcaster.ts";
import type { Speech } from "../broadcast/speech.ts";
import type { TakeTextMessage } from "../broadcast/text-replies.ts";
import { builtPluginFolder, ownPluginFolder } from "../extensions/installed-plugins.ts";
import { createPluginHost, type PluginHost } from "../extensions/plugin-host.ts";
import type { Settings } from "../settings/schema.ts";
import type { ApplianceData } from "./appliance.ts";
import type { Linking } from "./linking.ts";
import type { Registry } from "./registry.ts";
import type { Sound } from "./sound.ts";

/** What channels are made of. */
export interface ChannelNeeds {
  dataDir: string;
  data: ApplianceData;
  settings: Settings;
  clock: Clock;
  events: Events;
  log: Log;
  sound: Sound;
  speech: Speech;
  registry: Registry;
  linking: Pick<Linking, "beside">;
  endpointId(): string;
  /** Stores what a plugin tells from outside. */
  takeInput(plugin: string, input: unknown): Promise<void>;
  /** Takes a text message that a plugin got. */
  takeText: TakeTextMessage;
  /** Where the appliance is reached. */
  baseUrl(): string;
  /** The rings to come; no plugin runs before they are known. */
  ringPlans(): RingPlans | undefined;
}

/** Makes the two that need each other: the plugin host reports to the broadcaster, which gives it deliveries. */
export function joinChannels(needs: ChannelNeeds): { plugins: PluginHost; broadcaster: Broadcaster } {
  const { data, settings, clock, events, log, sound, speech, registry, endpointId } = needs;
  const { store, access } = data;
  // Set below: no plugin runs before both are made.
  let broadcaster: Broadcaster;
  const plugins = createPluginHost({
    ...{ store, clock, events, log, settings, endpointId, baseUrl: needs.baseUrl },
    pluginFolder: builtPluginFolder(),
    ownPluginFolder: ownPluginFolder(needs.dataDir),
    by: access.systemBy("extensions"),
    onOutcomes: (outcomes) => broadcaster.takeOutcomes(outcomes),
    openStream: (provider, target, notificationId) => broadcaster.openStream(provider, target, notificationId),
    closeStream: (target, notificationId) => broadcaster.closeStream(target, notificationId),
    voice: {
      prepare: (parts, notificationId) => broadcaster.voice.prepare(parts, notificationId),
      open: (provider, target) => broadcaster.voice.open(provider, target),
      say: (provider, target, parts, notificationId) => broadcaster.voice.say(provider, target, parts, notificationId),
      close: (provider, target) => broadcaster.voice.close(provider, target),
    },
    rings: {
      planned: async (provider, device) => (await needs.ringPlans()?.planned(provider, device)) ?? null,
      sound: async (provider, sha256, from) => (await needs.ringPlans()?.sound(provider, sha256, from)) ?? null,
      playedAlone: async (provider, device, rings) => needs.ringPlans()?.playedAlone(provider, device, rings),
      behind: (provider, devices) => needs.ringPlans()?.behind(provider, devices),
    },
    confirm: (provider, recipientId, option) => broadcaster.confirm(provider, recipientId, option),
    receive: (message) => needs.takeText(message),
    trigger: (plugin, input) => needs.takeInput(plugin, input),
  });
  broadcaster = createBroadcaster({
    ...{ store, clock, events, log, endpointId, providers: needs.linking.beside(plugins) },
    ...{ memberships: registry.memberships, activations: registry.activations },
    ...{ audio: sound.audio, speech, streamer: sound.streamer, addresses: sound.addresses },
    interfaceAddress: sound.interfaceAddress,
    ttl: settings.audio.ttl,
    livePageMs: settings.audio.livePageSeconds * 1_000,
    secondPerson: settings.broadcasts.secondPerson
      ? { withinMs: settings.broadcasts.secondPersonMinutes * 60_000 }
      : null,
    baseUrl: needs.baseUrl,
    by: access.systemBy("broadcast"),
  });
  return { plugins, broadcaster };
}
