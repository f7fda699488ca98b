import { isMoreUrgent } from "../../devices/device-claims.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { StoreReader } from "../../store/store.ts";
import type { ActiveBroadcast } from "./active-broadcast.ts";
import type { Delivery } from "./delivery.ts";
import { APPLIANCES_PROVIDER, type DeliveryProviders } from "./delivery-providers.ts";
import { willListen } from "./delivery-state.ts";

export interface MulticastPreemptionDeps {
  clock: Clock;
  log: Log;
  store: StoreReader;
  providers: Pick<DeliveryProviders, "placesCalls">;
}

/** The emergency class. @source docs/decisions/0022-priorities.md */
const EMERGENCY = 0;

/** By then phones have moved to the emergency's own group, or never will; the address is reserved for longer. */
const GROUP_TAKEOVER_MS = 120_000;

const PHONES = `SELECT l.device_pk AS device, l.provider FROM notifications n JOIN deliveries l ON l.notification_pk = n.pk
  WHERE n.id = ? AND l.type = 'phones' AND l.ended_at IS NULL AND l.device_pk IS NOT NULL`;

/**
 * Sends an emergency also into the groups of less urgent messages if all phones there are targets: they hear it from
 * its beginning, and are then asked, one by one, to move to its own group. A group with a phone that is not a target is
 * left alone. Returns, by internal key of the phone, the deliveries of those that listen or were asked to and have not
 * answered; null for any other message. Call before adding the emergency's deliveries.
 */
export function preemptMulticastGroups(
  live: ActiveBroadcast,
  onAir: Iterable<ActiveBroadcast>,
  deps: MulticastPreemptionDeps,
): Map<number, Delivery> {
  const listening = new Map<number, Delivery>();
  const { sound } = live;
  if (live.priority !== EMERGENCY || !sound || sound.over || sound.t0 !== null) return listening;
  const others = [...onAir].filter((other) => other.group && other.sound?.over === false && isMoreUrgent(live, other));
  if (others.length === 0) return listening;
  const targets = phonesOf(live.id, deps);
  for (const other of others) {
    const joining = [...other.deliveries].filter(({ audioMode }) => audioMode === "group");
    if (!joining.every(({ device }) => device !== null && targets.has(device))) continue;
    for (const delivery of joining) if (willListen(delivery)) listening.set(delivery.device ?? 0, delivery);
    preemptGroup(live, other, deps);
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
  sound.openStream({ ...group, waitsForNetwork: true }).then(
    () => void clock.after(GROUP_TAKEOVER_MS, () => sound.closeStream(group), { background: true }),
    (error: unknown) => {
      if (!sound.over)
        log.warn(
          { event: "multicast.preemption_failed", err: error, notificationId: live.id },
          "Multicast group could not be taken over.",
        );
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
