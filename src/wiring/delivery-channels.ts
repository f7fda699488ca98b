import type { RingPlans } from "../bells/offline-ring-plans.ts";
import type { Inputs } from "../inputs/inputs.ts";
import type { PhoneCalls } from "../inputs/phone/phone-calls.ts";
import type { SpeechSynthesizer } from "../notifications/compose/speech-synthesis.ts";
import { createNotificationService } from "../notifications/create-notification-service.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import { builtInPluginFolder, installedPluginFolder } from "../plugin-host/installed-plugins.ts";
import { createPluginHost, type PluginCallbacks, type PluginHost } from "../plugin-host/plugin-host.ts";
import type { CloudLink } from "./cloud-link.ts";
import type { DeviceGroupRegistry } from "./device-group-registry.ts";
import type { Foundation } from "./foundation.ts";
import type { PublicResponses } from "./public-responses.ts";

/** The plugins that are installed. */
export function createPlugins({ dataDir, data, settings, clock, events, log, ...base }: Foundation): PluginHost {
  return createPluginHost({
    ...{ store: data.store, clock, events, log, settings },
    ...{ endpointId: base.endpointId, baseUrl: base.baseUrl },
    pluginFolder: builtInPluginFolder(),
    ownPluginFolder: installedPluginFolder(dataDir),
    by: data.access.systemContext("extensions"),
  });
}

/** Sends notifications through plugins, and at a cloud through its appliances. */
export function createNotifications(
  { data, settings, clock, events, log, audio: sound, endpointId, baseUrl }: Foundation,
  deps: { plugins: PluginHost; link: CloudLink; registry: DeviceGroupRegistry; speech: SpeechSynthesizer },
): NotificationService {
  const { plugins, link, registry, speech } = deps;
  const { secondPerson, secondPersonMinutes } = settings.broadcasts;
  return createNotificationService({
    ...{ store: data.store, clock, events, log, endpointId, providers: link.withApplianceChannel(plugins) },
    filters: plugins.deviceFilters,
    ...{ memberships: registry.memberships, activations: registry.activations },
    ...{ audio: sound.audio, speech, streamer: sound.streamer, addresses: sound.addresses },
    networkInterface: sound.networkInterface,
    ttl: settings.audio.ttl,
    livePageMs: settings.audio.livePageSeconds * 1_000,
    secondPerson: secondPerson ? { withinMs: secondPersonMinutes * 60_000 } : null,
    sentences: plugins.sentences,
    baseUrl,
    by: data.access.systemContext("broadcast"),
  });
}

/** What plugins report to, once they run. */
export function pluginCallbacks(deps: {
  notificationService: NotificationService;
  ringPlans: RingPlans;
  publicResponses: Pick<PublicResponses, "textReplies">;
  inputs: Pick<Inputs, "enqueue">;
  phoneCalls: PhoneCalls;
}): PluginCallbacks {
  const { notificationService, ringPlans } = deps;
  return {
    onOutcomes: notificationService.handleOutcomes,
    openStream: notificationService.openStream,
    closeStream: notificationService.closeStream,
    voice: notificationService.voiceCalls,
    rings: {
      planned: ringPlans.planFor,
      sound: ringPlans.readSound,
      playedAlone: ringPlans.recordOfflineRings,
      behind: ringPlans.setOutdatedDevices,
    },
    confirm: notificationService.recordChannelAnswer,
    receive: deps.publicResponses.textReplies,
    trigger: deps.inputs.enqueue,
    phone: deps.phoneCalls,
  };
}
