import { isMoreUrgent } from "../../devices/device-claims.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { StoreReader } from "../../store/store.ts";
import type { ActiveBroadcast } from "./active-broadcast.ts";
import type { Delivery } from "./delivery.ts";
import { APPLIANCES_PROVIDER, type DeliveryProviders } from "./delivery-providers.ts";
import { willListen } from "./delivery-state.ts";

/** What taking groups over needs. */
export interface MulticastPreemptionDeps {
  clock: Clock;
  log: Log;
  store: StoreReader;
  providers: Pick<DeliveryProviders, "placesCalls">;
}

/** The emergency class. @source interfaces.md, Priorities */
const EMERGENCY = 0;

/** By then phones have moved to the emergency's own group, or can't be; the address rests for longer. own choice */
const GROUP_TAKEOVER_MS = 120_000;

const PHONES = `SELECT l.device_pk AS device, l.provider FROM notifications n JOIN deliveries l ON l.notification_pk = n.pk
  WHERE n.id = ? AND l.type = 'phones' AND l.ended_at IS NULL AND l.device_pk IS NOT NULL`;

/**
 * Sends an emergency into the groups, too, where phones listen to something less urgent and are all meant: they hear it
 * from its beginning, and only then are told, one by one, to leave for its own group. A group with somebody in it who is
 * not meant is left alone. Gives, by internal key of the phone, the deliveries of those who listen or were asked to and have
 * not answered yet; none for any other message.
 * own choice; to be called before the deliveries of the emergency are added.
 */
export function preemptMulticastGroups(
  live: ActiveBroadcast,
  onAir: Iterable<ActiveBroadcast>,
  needs: MulticastPreemptionDeps,
): Map<number, Delivery> {
  const listening = new Map<number, Delivery>();
  const { sound } = live;
  if (live.priority !== EMERGENCY || !sound || sound.over || sound.t0 !== null) return listening;
  const others = [...onAir].filter((other) => other.group && other.sound?.over === false && isMoreUrgent(live, other));
  if (others.length === 0) return listening;
  const meant = phonesOf(live.id, needs);
  for (const other of others) {
    const joining = [...other.deliveries].filter(({ audioMode }) => audioMode === "group");
    if (!joining.every(({ device }) => device !== null && meant.has(device))) continue;
    for (const delivery of joining) if (willListen(delivery)) listening.set(delivery.device ?? 0, delivery);
    preemptGroup(live, other, needs);
  }
  return listening;
}

function preemptGroup(
  live: ActiveBroadcast,
  { group, sound: before }: ActiveBroadcast,
  { clock, log }: MulticastPreemptionDeps,
): void {
  const { sound } = live;
  if (!group || !sound) return;
  before?.closeStream(group);
  sound.openStream(group).then(
    () => void clock.after(GROUP_TAKEOVER_MS, () => sound.closeStream(group), { background: true }),
    (error: unknown) => {
      if (!sound.over) log.warn({ err: error, notificationId: live.id }, "a group of phones was not taken over");
    },
  );
}

/** Internal keys of the phones that are to join a message's own group. */
function phonesOf(notificationId: string, { store, providers }: MulticastPreemptionDeps): Set<number> {
  const rows = store.all<{ device: number; provider: string | null }>(PHONES, notificationId);
  const joins = (provider: string | null): boolean =>
    provider !== null && provider !== APPLIANCES_PROVIDER && !providers.placesCalls(provider);
  return new Set(rows.filter(({ provider }) => joins(provider)).map(({ device }) => device));
}
