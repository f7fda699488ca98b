import { type DeviceClaims, isMoreUrgent } from "../../devices/device-claims.ts";
import type { Clock } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import type { Events } from "../../lib/events.ts";
import type { Log } from "../../lib/log.ts";
import { sentence, sentenceLanguage } from "../../lib/sentences/sentences.ts";
import { declineLink, MAY_DECLINE_SQL } from "../../people/opt-outs.ts";
import type { AudioTarget, DeliveryItem } from "../../plugin-api/index.ts";
import type { ActorContext, Store, StoreReader } from "../../store/store.ts";
import { answerLink } from "../responses/answer-links.ts";
import type { ActiveBroadcast } from "./active-broadcast.ts";
import { type AudioStreamAddress, type AudioStreamTarget, audioAddressKey } from "./broadcast-audio.ts";
import type { Delivery } from "./delivery.ts";
import type { DeliveryOutcome, DeliveryProviders } from "./delivery-providers.ts";
import { deactivateUserDevice } from "./device-deactivation.ts";
import { createDispatcher, type Dispatcher } from "./dispatcher.ts";
import { handleLateOutcomes } from "./late-outcomes.ts";
import { startOffsetsByModel } from "./start-latency.ts";

/** All active broadcasts, and the routing of channel reports to their deliveries. */
export interface ActiveBroadcastRegistry {
  readonly dispatcher: Dispatcher;
  find(notificationId: string): ActiveBroadcast | undefined;
  all(): Iterable<ActiveBroadcast>;
  /** Routes outcomes to the deliveries that are added to `live`. */
  register(live: ActiveBroadcast): void;
  /** Adds deliveries to an active broadcast. */
  addDeliveries(live: ActiveBroadcast, deliveries: readonly Delivery[]): void;
  unregister(notificationId: string): void;
  handleOutcomes(outcomes: readonly DeliveryOutcome[]): void;
  /** Sends a message's audio to one more target; resolves when the first packet has left. */
  openStream(target: Omit<AudioTarget, "ssrc">, notificationId: string): Promise<void>;
  /** Ends a message's stream to one target; has no effect if there is none. */
  closeStream(target: AudioStreamAddress, notificationId: string): void;
  /** Drops all active broadcasts silently: the rows stay as they are. */
  stop(): void;
}

export interface ActiveBroadcastRegistryDeps {
  store: Store;
  /** Base URL of the appliance. */
  baseUrl(): string;
  clock: Clock;
  events: Events;
  log: Log;
  providers: DeliveryProviders;
  busy: DeviceClaims;
  /** The actor that disables devices that no longer exist. */
  by: ActorContext;
}

/** Creates an empty registry; it listens to changes of plugins and network until stopped. */
export function createActiveBroadcastRegistry(deps: ActiveBroadcastRegistryDeps): ActiveBroadcastRegistry {
  const { log } = deps;
  const broadcasts = new Map<string, ActiveBroadcast>();
  const deliveries = new Map<number, Delivery>();
  /** The message that sends to an address: two at once would be noise. */
  const senders = new Map<string, string>();

  const dispatcher = createDispatcher({
    clock: deps.clock,
    providers: deps.providers,
    busy: deps.busy,
    find: (pk) => deliveries.get(pk),
    createItems: (batch) => createItems(batch, deps),
  });

  // Items held by a channel outlive its process; waiting ones are dispatched again.
  const subscriptions = [
    deps.events.on("plugin.changed", ({ plugin }) => dispatcher.wake(plugin)),
    deps.events.on("network.changed", () => {
      for (const live of broadcasts.values()) live.networkChanged();
    }),
  ];

  /** Claims an address for a message; a less urgent message that sends to it is cut off. */
  const claimAddress = (target: AudioStreamTarget, live: ActiveBroadcast): void => {
    const address = audioAddressKey(target);
    const other = broadcasts.get(senders.get(address) ?? "");
    if (other && other !== live && other.sound && !other.sound.over) {
      if (!isMoreUrgent(live, other)) {
        throw new UpstreamError(
          "upstream",
          sentence("error.another-message-of-the-same-or-higher-priority-uses-this-address"),
          {
            address,
          },
        );
      }
      other.sound.closeStream(target);
    }
    senders.set(address, live.id);
  };

  return {
    dispatcher,
    find: (notificationId) => broadcasts.get(notificationId),
    all: () => broadcasts.values(),
    register(live) {
      broadcasts.set(live.id, live);
    },
    addDeliveries(live, added) {
      for (const delivery of added) deliveries.set(delivery.pk, delivery);
      live.add(added);
    },
    unregister(notificationId) {
      const live = broadcasts.get(notificationId);
      if (!live) return;
      live.cancelTimers();
      live.sound?.stop();
      for (const { pk } of live.deliveries) deliveries.delete(pk);
      for (const [address, sender] of senders) if (sender === notificationId) senders.delete(address);
      broadcasts.delete(notificationId);
    },
    handleOutcomes(outcomes) {
      handleLateOutcomes(
        outcomes.filter(({ deliveryId }) => !deliveries.has(deliveryId)),
        deps,
      );
      for (const outcome of outcomes) {
        const delivery = deliveries.get(outcome.deliveryId);
        // A plugin may name any delivery; reports on those of other plugins are dropped.
        if (!delivery || delivery.provider !== outcome.provider) continue;
        try {
          if (outcome.details.gone) deactivateUserDevice(delivery, outcome, deps);
          delivery.owner.handleOutcome(delivery, outcome);
        } catch (error) {
          log.error(
            { event: "delivery.outcome_failed", err: error, deliveryId: outcome.deliveryId },
            "Outcome of a delivery could not be processed.",
          );
        }
      }
    },
    async openStream(target, notificationId) {
      const live = broadcasts.get(notificationId);
      if (!live?.sound)
        throw new UpstreamError("upstream", sentence("error.the-message-has-no-audio-at-the-moment"), {
          notificationId,
        });
      claimAddress(target, live);
      await live.openStream(target);
    },
    closeStream(target, notificationId) {
      if (senders.get(audioAddressKey(target)) !== notificationId) return;
      senders.delete(audioAddressKey(target));
      broadcasts.get(notificationId)?.sound?.closeStream(target);
    },
    stop() {
      for (const unsubscribe of subscriptions) unsubscribe();
      for (const live of broadcasts.values()) {
        live.cancelTimers();
        live.sound?.stop();
      }
      broadcasts.clear();
      deliveries.clear();
    },
  };
}

/** Reads the batch's devices when they are asked: 200 at once, so that 10,000 need not be in memory. */
function createItems(
  batch: readonly Delivery[],
  { store, baseUrl }: ActiveBroadcastRegistryDeps,
): (DeliveryItem | null)[] {
  const devices = read<DeviceRow>(
    store,
    DEVICES,
    batch.map(({ device }) => device),
  );
  const userDevices = read<UserDeviceRow>(
    store,
    USER_DEVICES,
    batch.map(({ pk, userDevice }) => (userDevice === null ? null : pk)),
  );
  const groups = read<DeviceRow>(
    store,
    GROUPS,
    batch.map(({ pk, device, userDevice }) => (device === null && userDevice === null ? pk : null)),
  );
  const recipientOf = ({
    recipientId,
    recipientName,
    options,
    mayDecline,
    language,
  }: UserDeviceRow): NonNullable<DeliveryItem["recipient"]> => ({
    id: recipientId,
    name: recipientName,
    answers: options === null ? null : { options: JSON.parse(options), url: answerLink(recipientId, baseUrl(), store) },
    ...(mayDecline ? { declineUrl: declineLink(recipientId, baseUrl(), store) } : {}),
    ...(language === null ? {} : { language }),
  });
  const holds = startOffsetsByModel(store);
  return batch.map((delivery) => {
    const row = devices.get(delivery.device ?? 0) ?? groups.get(delivery.pk);
    const own = userDevices.get(delivery.pk);
    if (own) {
      const item = delivery.owner.createItem(delivery, deviceOf(own));
      const language = sentenceLanguage(own.language);
      const text = language === null ? item.text : delivery.owner.textIn(language);
      return { ...item, text, recipient: recipientOf(own) };
    }
    return row ? withStartOffset(delivery, delivery.owner.createItem(delivery, deviceOf(row)), holds) : null;
  });
}

/** Delays faster models so that all sound together, except in an emergency, which nothing delays. */
function withStartOffset({ owner }: Delivery, item: DeliveryItem, holds: ReadonlyMap<string, number>): DeliveryItem {
  const mayWait = owner.synchronizedStart && item.class !== "emergency";
  const holdMs = item.audio && mayWait && holds.get(item.device.attributes.Model ?? "");
  return holdMs ? { ...item, holdMs } : item;
}

interface DeviceRow {
  /** Key of the requested delivery. */
  key: number;
  id: string;
  deviceIdentifier: string;
  /** JSON object. */
  attributes: string;
}

interface UserDeviceRow extends DeviceRow {
  recipientId: string;
  recipientName: string | null;
  /** JSON list; null when the message does not ask for an answer. */
  options: string | null;
  /** 1 where recipients may opt out of messages like this one. */
  mayDecline: number;
  /** Preferred language of the person. */
  language: string | null;
}

const DEVICES = `SELECT d.pk AS key, d.id, d.device_identifier AS deviceIdentifier, d.attributes
  FROM json_each(?) asked JOIN devices d ON d.pk = asked.value`;
const USER_DEVICES = `SELECT l.pk AS key, d.id, coalesce(d.device_identifier, '') AS deviceIdentifier,
    json_object('Type', d.type, 'ClientIdentifier', coalesce(d.client_identifier, '')) AS attributes,
    r.id AS recipientId, r.name AS recipientName, c.options, ${MAY_DECLINE_SQL} AS mayDecline, u.preferred_language AS language
  FROM json_each(?) asked JOIN deliveries l ON l.pk = asked.value JOIN user_devices d ON d.pk = l.user_device_pk
    LEFT JOIN users u ON u.pk = d.user_pk
    JOIN notification_recipients r ON r.notification_pk = l.notification_pk AND r.user_pk = d.user_pk
    JOIN notifications n ON n.pk = l.notification_pk
    LEFT JOIN message_templates t ON t.pk = n.message_template_pk
    LEFT JOIN confirmation_requests c ON c.pk = n.confirmation_request_pk`;
/** A group of another system is presented as a device: its name, and the location from its properties. */
const GROUPS = `SELECT l.pk AS key, g.id, g.name AS deviceIdentifier, coalesce(g.properties, '{}') AS attributes
  FROM json_each(?) asked JOIN deliveries l ON l.pk = asked.value
    JOIN collaboration_groups g ON g.pk = l.collaboration_group_pk`;

function read<T extends DeviceRow>(reader: StoreReader, sql: string, keys: readonly (number | null)[]): Map<number, T> {
  const known = keys.filter((key) => key !== null);
  if (known.length === 0) return new Map();
  return new Map(reader.all<T>(sql, JSON.stringify(known)).map((row) => [row.key, row]));
}

function deviceOf({ id, deviceIdentifier, attributes }: DeviceRow): DeliveryItem["device"] {
  return { id, deviceIdentifier, attributes: attributesOf(attributes) };
}

/** Channels get text values only. */
function attributesOf(stored: string): Record<string, string> {
  const attributes = JSON.parse(stored) as Record<string, unknown>;
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value !== "string") attributes[name] = Array.isArray(value) ? value.join(",") : String(value ?? "");
  }
  return attributes as Record<string, string>;
}
