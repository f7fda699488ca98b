import type { RingPlans } from "../bells/offline-ring-plans.ts";
import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import type { SpeechSynthesizer } from "../notifications/compose/speech-synthesis.ts";
import { createNotificationService } from "../notifications/create-notification-service.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import type { TextMessageHandler } from "../notifications/responses/text-replies.ts";
import { builtInPluginFolder, installedPluginFolder } from "../plugin-host/installed-plugins.ts";
import { createPluginHost, type PluginHost, type PluginHostDeps } from "../plugin-host/plugin-host.ts";
import type { Settings } from "../settings/schema.ts";
import type { ApplianceData } from "./appliance-data.ts";
import type { AudioServices } from "./audio-services.ts";
import type { CloudLink } from "./cloud-link.ts";
import type { DeviceGroupRegistry } from "./device-group-registry.ts";

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
  /** Stores an input reported by a plugin. */
  takeInput(plugin: string, input: unknown): Promise<void>;
  /** Calls to the appliance. */
  phone: NonNullable<PluginHostDeps["phone"]>;
  /** Handles a text message received by a plugin. */
  takeText: TextMessageHandler;
  /** Public base URL of the appliance. */
  baseUrl(): string;
  /** The upcoming offline rings; set before a plugin runs. */
  ringPlans(): RingPlans | undefined;
}

/** Creates plugin host and notification service, which depend on each other: deliveries go one way, outcomes the other. */
export function createDeliveryChannels(deps: DeliveryChannelDeps): {
  plugins: PluginHost;
  notificationService: NotificationService;
} {
  const { data, settings, clock, events, log, sound, speech, registry, endpointId } = deps;
  const { store, access } = data;
  // Set below; no plugin runs before.
  let notificationService: NotificationService;
  const plugins = createPluginHost({
    ...{ store, clock, events, log, settings, endpointId, baseUrl: deps.baseUrl },
    pluginFolder: builtInPluginFolder(),
    ownPluginFolder: installedPluginFolder(deps.dataDir),
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
      planned: async (provider, device) => (await deps.ringPlans()?.planFor(provider, device)) ?? null,
      sound: async (provider, sha256, from) => (await deps.ringPlans()?.readSound(provider, sha256, from)) ?? null,
      playedAlone: async (provider, device, rings) => deps.ringPlans()?.recordOfflineRings(provider, device, rings),
      behind: (provider, devices) => deps.ringPlans()?.setOutdatedDevices(provider, devices),
    },
    confirm: (provider, recipientId, option) => notificationService.recordChannelAnswer(provider, recipientId, option),
    receive: (message) => deps.takeText(message),
    trigger: (plugin, input) => deps.takeInput(plugin, input),
    phone: deps.phone,
  });
  notificationService = createNotificationService({
    ...{ store, clock, events, log, endpointId, providers: deps.linking.withApplianceChannel(plugins) },
    filters: plugins.deviceFilters,
    ...{ memberships: registry.memberships, activations: registry.activations },
    ...{ audio: sound.audio, speech, streamer: sound.streamer, addresses: sound.addresses },
    networkInterface: sound.networkInterface,
    ttl: settings.audio.ttl,
    livePageMs: settings.audio.livePageSeconds * 1_000,
    secondPerson: settings.broadcasts.secondPerson
      ? { withinMs: settings.broadcasts.secondPersonMinutes * 60_000 }
      : null,
    sentences: plugins.sentences,
    baseUrl: deps.baseUrl,
    by: access.systemContext("broadcast"),
  });
  return { plugins, notificationService };
}
