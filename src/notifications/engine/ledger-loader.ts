import type { DeliveryLevel } from "../../resources/notifications/delivery-levels.ts";
import type { StoreReader } from "../../store/store.ts";
import type { AudioMode, Delivery, DeliveryOwner } from "./delivery.ts";
import { APPLIANCES_PROVIDER, type DeliveryProviders } from "./delivery-providers.ts";
import { isReached } from "./delivery-state.ts";
import { userChannelOf } from "./user-channel-counters.ts";

/** Rows per page: a few ms of the event loop. */
const PAGE_ROWS = 250;
/** After this many messages without an answer, a device is asked after the others. */
const FAILURES_UNTIL_DEPRIORITIZED = 2;

const NOTHING_PROVEN = { sentAt: null, acceptedAt: null, playingAt: null, provenAt: null };

type StoredDelivery = Pick<
  Delivery,
  | "pk"
  | "device"
  | "userDevice"
  | "level"
  | "reason"
  | "attempt"
  | "priority"
  | "sentAt"
  | "acceptedAt"
  | "playingAt"
  | "provenAt"
  | "retryAt"
> & {
  provider: string | null;
  type: string;
  late: number;
  textOnly: number;
  failures: number;
  repeatLevel: DeliveryLevel | null;
};

const SELECT = `SELECT l.pk, l.device_pk AS device, l.user_device_pk AS userDevice, l.type, l.provider, l.level, l.reason,
    l.attempt, l.priority, l.late, l.text_only AS textOnly, l.sent_at AS sentAt, l.accepted_at AS acceptedAt, l.playing_at AS playingAt,
    l.proven_at AS provenAt, l.retry_at AS retryAt, l.repeat_level AS repeatLevel, coalesce(d.failures, 0) AS failures
  FROM deliveries l LEFT JOIN devices d ON d.pk = l.device_pk
  WHERE l.notification_pk = ? AND l.pk > ? AND l.ended_at IS NULL ORDER BY l.pk LIMIT ?`;

/**
 * The open deliveries of a message that are not active, page by page. `again`: devices that an earlier run has reached
 * are asked again instead of being monitored.
 */
export function* loadOpenDeliveries(
  owner: DeliveryOwner & { deliveries: ReadonlySet<Delivery> },
  reader: StoreReader,
  again: boolean,
  providers: Pick<DeliveryProviders, "placesCalls">,
): Generator<Delivery[]> {
  const notification = reader.one<{ pk: number }>("SELECT pk FROM notifications WHERE id = ?", owner.id);
  let last = 0;
  for (const { pk } of owner.deliveries) last = Math.max(last, pk);
  while (notification) {
    const rows = reader.all<StoredDelivery>(SELECT, notification.pk, last, PAGE_ROWS);
    yield rows.map((row) => toDelivery(row, owner, again, providers));
    const end = rows.at(-1);
    if (!end || rows.length < PAGE_ROWS) return;
    last = end.pk;
  }
}

function toDelivery(
  { repeatLevel, ...stored }: StoredDelivery,
  owner: DeliveryOwner,
  again: boolean,
  providers: Pick<DeliveryProviders, "placesCalls">,
): Delivery {
  const previousProof = repeatLevel === null ? null : stored;
  const proven = repeatLevel === "planned" ? NOTHING_PROVEN : null;
  const { type, failures, ...row } = { ...stored, level: repeatLevel ?? stored.level, ...proven };
  const delivery: Delivery = {
    ...row,
    previousProof,
    owner,
    provider: row.provider ?? "",
    userChannel: row.userDevice === null ? null : userChannelOf(type),
    counted: { sent: row.sentAt !== null, answered: row.acceptedAt !== null, failed: false },
    audioMode: audioModeOf(row, type, providers),
    previouslyFailed: failures >= FAILURES_UNTIL_DEPRIORITIZED,
    late: row.late === 1,
    earlierAttempts: row.attempt,
    // Only a failed attempt gives a reason to a row without proof.
    failure: row.level === "planned" ? row.reason : null,
    textOnly: row.textOnly === 1,
    endedAt: null,
    reached: false,
    expiring: false,
    audible: false,
    dispatchState: "queued",
    dispatched: false,
    joinState: "no",
    channelDown: null,
    deviceEvidence: null,
  };
  // Streams of single devices and calls ended with their process and are opened again.
  delivery.reached = !again && delivery.audioMode !== "own" && delivery.audioMode !== "call" && isReached(delivery);
  return delivery;
}

function audioModeOf(
  { userDevice, provider }: Pick<StoredDelivery, "userDevice" | "provider">,
  type: string,
  providers: Pick<DeliveryProviders, "placesCalls">,
): AudioMode {
  if (provider === APPLIANCES_PROVIDER) return "nothing";
  const calls = provider !== null && providers.placesCalls(provider);
  if (userDevice !== null) return calls ? "talk" : "nothing";
  if (calls) return "call";
  return type === "phones" ? "group" : type === "speakers" ? "own" : "nothing";
}
