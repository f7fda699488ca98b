import type { Clock } from "../base/clock.ts";
import { UpstreamError } from "../base/errors.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import { type BusyTable, isMoreUrgent } from "../devices/busy.ts";
import type { AudioTarget, DeliveryItem } from "../plugin-api/index.ts";
import type { By, Reader, Store } from "../store/store.ts";
import { takeAfterwards } from "./afterwards.ts";
import { answerLink } from "./answer-links.ts";
import type { Delivery } from "./delivery.ts";
import { createDispatcher, type Dispatcher } from "./dispatcher.ts";
import type { LiveBroadcast } from "./live-broadcast.ts";
import { declineLink, MAY_DECLINE } from "./opt-outs.ts";
import type { Outcome, Providers } from "./providers.ts";
import { addressOf, type SoundAddress, type SoundTarget } from "./sound.ts";
import { holdsByModel } from "./start-delays.ts";
import { switchOff } from "./switched-off.ts";

/** All messages on air, and whom the channels' words are about. */
export interface Desk {
  readonly dispatcher: Dispatcher;
  find(notificationId: string): LiveBroadcast | undefined;
  all(): Iterable<LiveBroadcast>;
  /** From now on outcomes find the deliveries added to `live`. */
  enter(live: LiveBroadcast): void;
  /** Puts deliveries on air. */
  add(live: LiveBroadcast, deliveries: readonly Delivery[]): void;
  leave(notificationId: string): void;
  takeOutcomes(outcomes: readonly Outcome[]): void;
  /** Sends a message's sound to one more target; resolves when the first packet has left. */
  openStream(target: Omit<AudioTarget, "ssrc">, notificationId: string): Promise<void>;
  /** Ends a message's stream to one target; one that there is not is left alone. */
  closeStream(target: SoundAddress, notificationId: string): void;
  /** Takes everything off air without a word: the rows stay as they are. */
  stop(): void;
}

/** What the desk needs. */
export interface DeskNeeds {
  store: Store;
  /** Where the appliance is reached. */
  baseUrl(): string;
  clock: Clock;
  events: Events;
  log: Log;
  providers: Providers;
  busy: BusyTable;
  /** On whose behalf devices are switched off that there are no more. */
  by: By;
}

/** Makes a desk with nothing on air; it listens to plugins' changes until stopped. */
export function createDesk(needs: DeskNeeds): Desk {
  const { log } = needs;
  const lives = new Map<string, LiveBroadcast>();
  const deliveries = new Map<number, Delivery>();
  /** Which message sends to an address: two at once would be noise. */
  const senders = new Map<string, string>();

  const dispatcher = createDispatcher({
    clock: needs.clock,
    providers: needs.providers,
    busy: needs.busy,
    find: (pk) => deliveries.get(pk),
    items: (batch) => makeItems(batch, needs),
  });

  // What a channel holds outlives its runs; what waits for it is looked at again.
  const forget = needs.events.on("plugin.changed", ({ plugin }) => dispatcher.wake(plugin));

  /** Takes an address for a message; a less urgent one that sends to it is cut off. */
  const takeAddress = (target: SoundTarget, live: LiveBroadcast): void => {
    const address = addressOf(target);
    const other = lives.get(senders.get(address) ?? "");
    if (other && other !== live && other.sound && !other.sound.over) {
      if (!isMoreUrgent(live, other)) {
        throw new UpstreamError("upstream", "Another message, no less urgent, is sent there.", { address });
      }
      other.sound.endTarget(target);
    }
    senders.set(address, live.id);
  };

  return {
    dispatcher,
    find: (notificationId) => lives.get(notificationId),
    all: () => lives.values(),
    enter(live) {
      lives.set(live.id, live);
    },
    add(live, added) {
      for (const delivery of added) deliveries.set(delivery.pk, delivery);
      live.add(added);
    },
    leave(notificationId) {
      const live = lives.get(notificationId);
      if (!live) return;
      live.drop();
      live.sound?.stop();
      for (const { pk } of live.deliveries) deliveries.delete(pk);
      for (const [address, sender] of senders) if (sender === notificationId) senders.delete(address);
      lives.delete(notificationId);
    },
    takeOutcomes(outcomes) {
      takeAfterwards(
        outcomes.filter(({ deliveryId }) => !deliveries.has(deliveryId)),
        needs,
      );
      for (const outcome of outcomes) {
        const delivery = deliveries.get(outcome.deliveryId);
        // A plugin may name any delivery: what is another's is not its to report on.
        if (!delivery || delivery.provider !== outcome.provider) continue;
        try {
          if (outcome.details.gone) switchOff(delivery, outcome, needs);
          delivery.owner.takeOutcome(delivery, outcome);
        } catch (error) {
          log.error({ err: error, deliveryId: outcome.deliveryId }, "outcome not taken");
        }
      }
    },
    async openStream(target, notificationId) {
      const live = lives.get(notificationId);
      if (!live?.sound) throw new UpstreamError("upstream", "The message has no sound now.", { notificationId });
      takeAddress(target, live);
      await live.openStream(target);
    },
    closeStream(target, notificationId) {
      if (senders.get(addressOf(target)) !== notificationId) return;
      senders.delete(addressOf(target));
      lives.get(notificationId)?.sound?.endTarget(target);
    },
    stop() {
      forget();
      for (const live of lives.values()) {
        live.drop();
        live.sound?.stop();
      }
      lives.clear();
      deliveries.clear();
    },
  };
}

/** Reads the batch's devices at the moment they are asked: 200 at once, so that 10,000 need not be held. */
function makeItems(batch: readonly Delivery[], { store, baseUrl }: DeskNeeds): (DeliveryItem | null)[] {
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
  }: UserDeviceRow): NonNullable<DeliveryItem["recipient"]> => ({
    id: recipientId,
    name: recipientName,
    answers: options === null ? null : { options: JSON.parse(options), url: answerLink(recipientId, baseUrl(), store) },
    ...(mayDecline ? { declineUrl: declineLink(recipientId, baseUrl(), store) } : {}),
  });
  const holds = holdsByModel(store);
  return batch.map((delivery) => {
    const row = devices.get(delivery.device ?? 0) ?? groups.get(delivery.pk);
    const own = userDevices.get(delivery.pk);
    if (own) return { ...delivery.owner.item(delivery, deviceOf(own)), recipient: recipientOf(own) };
    return row ? heldBack(delivery, delivery.owner.item(delivery, deviceOf(row)), holds) : null;
  });
}

/** Faster models wait where all are to sound together, but for an emergency: nothing delays that. */
function heldBack({ owner }: Delivery, item: DeliveryItem, holds: ReadonlyMap<string, number>): DeliveryItem {
  const mayWait = owner.isTogether && item.class !== "emergency";
  const holdMs = item.audio && mayWait && holds.get(item.device.attributes.Model ?? "");
  return holdMs ? { ...item, holdMs } : item;
}

interface DeviceRow {
  /** What was asked for. */
  key: number;
  id: string;
  deviceIdentifier: string;
  /** JSON object. */
  attributes: string;
}

interface UserDeviceRow extends DeviceRow {
  recipientId: string;
  recipientName: string | null;
  /** JSON list; null when the message asks for no answer. */
  options: string | null;
  /** 1 where further messages like this one can be declined. */
  mayDecline: number;
}

const DEVICES = `SELECT d.pk AS key, d.id, d.device_identifier AS deviceIdentifier, d.attributes
  FROM json_each(?) asked JOIN devices d ON d.pk = asked.value`;
const USER_DEVICES = `SELECT l.pk AS key, d.id, coalesce(d.device_identifier, '') AS deviceIdentifier,
    json_object('Type', d.type, 'ClientIdentifier', coalesce(d.client_identifier, '')) AS attributes,
    r.id AS recipientId, r.name AS recipientName, c.options, ${MAY_DECLINE} AS mayDecline
  FROM json_each(?) asked JOIN deliveries l ON l.pk = asked.value JOIN user_devices d ON d.pk = l.user_device_pk
    JOIN notification_recipients r ON r.notification_pk = l.notification_pk AND r.user_pk = d.user_pk
    JOIN notifications n ON n.pk = l.notification_pk
    LEFT JOIN message_templates t ON t.pk = n.message_template_pk
    LEFT JOIN confirmation_requests c ON c.pk = n.confirmation_request_pk`;
/** A group of another system stands as a device: its name, and what its properties say of where it is found. */
const GROUPS = `SELECT l.pk AS key, g.id, g.name AS deviceIdentifier, coalesce(g.properties, '{}') AS attributes
  FROM json_each(?) asked JOIN deliveries l ON l.pk = asked.value
    JOIN collaboration_groups g ON g.pk = l.collaboration_group_pk`;

function read<T extends DeviceRow>(reader: Reader, sql: string, keys: readonly (number | null)[]): Map<number, T> {
  const known = keys.filter((key) => key !== null);
  if (known.length === 0) return new Map();
  return new Map(reader.all<T>(sql, JSON.stringify(known)).map((row) => [row.key, row]));
}

function deviceOf({ id, deviceIdentifier, attributes }: DeviceRow): DeliveryItem["device"] {
  return { id, deviceIdentifier, attributes: attributesOf(attributes) };
}

/** Channels get texts only. */
function attributesOf(stored: string): Record<string, string> {
  const attributes = JSON.parse(stored) as Record<string, unknown>;
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value !== "string") attributes[name] = Array.isArray(value) ? value.join(",") : String(value ?? "");
  }
  return attributes as Record<string, string>;
}
