import type { RingPlans } from "../bells/offline-ring-plans.ts";
import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import type { SpeechSynthesizer } from "../notifications/compose/speech-synthesis.ts";
import { createNotificationService } from "../notifications/create-notification-service.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import type { TextMessageHandler } from "../notifications/responses/text-replies.ts";
import { builtInPluginFolder, installedPluginFolder } from "../plugin-host/installed-plugins.ts";
import { createPluginHost, type PluginHost } from "../plugin-host/plugin-host.ts";
import type { Settings } from "../settings/schema.ts";
import type { ApplianceData } from "./appliance-data.ts";
import type { AudioServices } from "./audio-services.ts";
import type { CloudLink } from "./cloud-link.ts";
import type { DeviceGroupRegistry } from "./device-group-registry.ts";

/** What channels are made of. */
export interface DeliveryChannelDeps {
  dataDir: string;
  data: ApplianceData;
  settings: Settings;
  clock: Clock;
  events: Events;
  log: Log;
  sound: AudioServices;
  speech: SpeechSynthesizer;
  registry: DeviceGroupRegistry;
  linking: Pick<CloudLink, "withApplianceChannel">;
  endpointId(): string;
  /** Stores what a plugin tells from outside. */
  takeInput(plugin: string, input: unknown): Promise<void>;
  /** Takes a text message that a plugin got. */
  takeText: TextMessageHandler;
  /** Where the appliance is reached. */
  baseUrl(): string;
  /** The rings to come; no plugin runs before they are known. */
  ringPlans(): RingPlans | undefined;
}

/** Makes the two that need each other: the plugin host reports to the notificationService, which gives it deliveries. */
export function createDeliveryChannels(needs: DeliveryChannelDeps): {
  plugins: PluginHost;
  notificationService: NotificationService;
} {
  const { data, settings, clock, events, log, sound, speech, registry, endpointId } = needs;
  const { store, access } = data;
  // Set below: no plugin runs before both are made.
  let notificationService: NotificationService;
  const plugins = createPluginHost({
    ...{ store, clock, events, log, settings, endpointId, baseUrl: needs.baseUrl },
    pluginFolder: builtInPluginFolder(),
    ownPluginFolder: installedPluginFolder(needs.dataDir),
    by: access.systemContext("extensions"),
    onOutcomes: (outcomes) => notificationService.handleOutcomes(outcomes),
    openStream: (provider, target, notificationId) => notificationService.openStream(provider, target, notificationId),
    closeStream: (target, notificationId) => notificationService.closeStream(target, notificationId),
    voice: {
      prepare: (parts, notificationId) => notificationService.voiceCalls.prepare(parts, notificationId),
      open: (provider, target) => notificationService.voiceCalls.open(provider, target),
      say: (provider, target, parts, notificationId) =>
        notificationService.voiceCalls.say(provider, target, parts, notificationId),
      close: (provider, target) => notificationService.voiceCalls.close(provider, target),
    },
    rings: {
      planned: async (provider, device) => (await needs.ringPlans()?.planFor(provider, device)) ?? null,
      sound: async (provider, sha256, from) => (await needs.ringPlans()?.readSound(provider, sha256, from)) ?? null,
      playedAlone: async (provider, device, rings) => needs.ringPlans()?.recordOfflineRings(provider, device, rings),
      behind: (provider, devices) => needs.ringPlans()?.setOutdatedDevices(provider, devices),
    },
    confirm: (provider, recipientId, option) => notificationService.recordChannelAnswer(provider, recipientId, option),
    receive: (message) => needs.takeText(message),
    trigger: (plugin, input) => needs.takeInput(plugin, input),
  });
  notificationService = createNotificationService({
    ...{ store, clock, events, log, endpointId, providers: needs.linking.withApplianceChannel(plugins) },
    ...{ memberships: registry.memberships, activations: registry.activations },
    ...{ audio: sound.audio, speech, streamer: sound.streamer, addresses: sound.addresses },
    interfaceAddress: sound.interfaceAddress,
    ttl: settings.audio.ttl,
    livePageMs: settings.audio.livePageSeconds * 1_000,
    secondPerson: settings.broadcasts.secondPerson
      ? { withinMs: settings.broadcasts.secondPersonMinutes * 60_000 }
      : null,
    baseUrl: needs.baseUrl,
    by: access.systemContext("broadcast"),
  });
  return { plugins, notificationService };
}
