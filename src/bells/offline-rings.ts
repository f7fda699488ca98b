import type { Clock, Timer } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
import type { DeliveryOutcome } from "../notifications/engine/delivery-providers.ts";
import type { NotificationService, SimulatedDelivery } from "../notifications/notification-service.ts";
import type { OfflineRing } from "../plugin-api/index.ts";
import type { ActorContext, Store, StoreReader } from "../store/store.ts";
import { ringNotificationOf } from "./ring-executor.ts";
import { markRungOffline, missedRingsPlayedOffline, type RingRow } from "./ring-repository.ts";

/** Records rings that devices played while the appliance was unreachable. */
export interface OfflineRings {
  /**
   * Records rings that a device played offline: on the delivery if the notification exists, else on the ring, which counts
   * as rung once all its devices have played it. Idempotent. Throws CallerError.
   */
  record(provider: string, deviceIdentifier: string, rings: readonly OfflineRing[]): Promise<void>;
  stop(): void;
}

export interface OfflineRingDeps {
  store: Store;
  clock: Clock;
  log: Log;
  notificationService: Pick<NotificationService, "simulate" | "handleOutcomes">;
  by: ActorContext;
}

/** Older reports are ignored: ring records have the same retention. */
const ACCEPTED_AGE_MS = 40 * DAY_MS;
/** How far a device's clock may be ahead. @source docs/decisions/0200-bell-engine-limits.md, Offline rings */
const CLOCK_TOLERANCE_MS = 3_600_000;
const MAX_RINGS_PER_REPORT = 500;
const MAX_RINGS_PER_DEVICE = 5_000;
/** Many devices report the same rings: wait for the others before resolving. @source docs/decisions/0200-bell-engine-limits.md, Offline rings */
const RESOLVE_DELAY_MS = 2_000;
const PLAYED_OFFLINE_REASON = sentence("delivery.played-offline");

/** True if at least one device holds a plan that has not expired. */
export function canRingOffline(reader: StoreReader, now: number): boolean {
  const sql = "SELECT 1 FROM devices WHERE attributes ->> 'RingPlanUntil' > ? LIMIT 1";
  return reader.one(sql, new Date(now).toISOString()) !== null;
}

export function createOfflineRings(deps: OfflineRingDeps): OfflineRings {
  const { store, clock, log, notificationService } = deps;
  let timer: Timer | null = null;
  /** Set by reports that arrived since the last run. */
  let hasNewReports = false;
  let isStopped = false;

  /** Runs one at a time: there may be many rings. */
  const resolve = async (): Promise<void> => {
    hasNewReports = false;
    try {
      await resolveMissedRings(deps);
    } catch (error) {
      log.error(
        { event: "bell.offline_ring_resolve_failed", err: error },
        "failed to resolve missed rings that devices played offline",
      );
    }
    timer = null;
    if (hasNewReports) scheduleResolve();
  };
  const scheduleResolve = (): void => {
    hasNewReports = true;
    if (!isStopped) timer ??= clock.after(RESOLVE_DELAY_MS, () => void resolve(), { background: true });
  };

  return {
    async record(provider, deviceIdentifier, rings) {
      const now = clock.now();
      const reported = rings
        .slice(0, MAX_RINGS_PER_REPORT)
        .filter(({ ringId, at }) => isUuid(ringId) && at > now - ACCEPTED_AGE_MS && at < now + CLOCK_TOLERANCE_MS);
      const device = await store.write((tx) => {
        const found = tx.one<{ pk: number }>(
          "SELECT pk FROM devices WHERE device_identifier = ? AND provider = ?",
          deviceIdentifier,
          provider,
        );
        if (!found)
          throw new CallerError("invalid-value", `rings.playedAlone: the plugin has no device ${deviceIdentifier}`);
        tx.run("DELETE FROM bell_offline_rings WHERE at < ?", now - ACCEPTED_AGE_MS);
        for (const { ringId, at } of reported)
          tx.run("INSERT OR IGNORE INTO bell_offline_rings (device, ring, at) VALUES (?, ?, ?)", found.pk, ringId, at);
        const sql = "SELECT count(*) AS n FROM bell_offline_rings WHERE device = ?";
        if ((tx.one<{ n: number }>(sql, found.pk)?.n ?? 0) > MAX_RINGS_PER_DEVICE)
          throw new CallerError(
            "limit-exceeded",
            `rings.playedAlone: at most ${MAX_RINGS_PER_DEVICE} rings per device`,
          );
        return found.pk;
      });
      notificationService.handleOutcomes(reported.flatMap((ring) => toOutcome(ring, device, provider, store) ?? []));
      if (reported.length === 0) return;
      log.warn(
        { event: "bell.offline_rings_reported", deviceIdentifier, rings: reported.length },
        "device rang offline while the appliance was unreachable",
      );
      scheduleResolve();
    },
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}

/** The delivery outcome of an offline ring; null if the notification has no delivery for the device. */
function toOutcome(
  { ringId, at }: OfflineRing,
  device: number,
  provider: string,
  reader: StoreReader,
): DeliveryOutcome | null {
  const found = reader.one<{ pk: number }>(
    `SELECT l.pk FROM notifications n JOIN deliveries l ON l.notification_pk = n.pk
     WHERE n.id = ? AND l.device_pk = ?`,
    ringId,
    device,
  );
  const details = { reason: PLAYED_OFFLINE_REASON };
  return found && { provider, deliveryId: found.pk, level: "playing", details, at, isLast: true, isAutonomous: true };
}

/** Marks missed rings as rung if all their devices played them offline. */
async function resolveMissedRings(deps: OfflineRingDeps): Promise<void> {
  const { store, clock, log } = deps;
  const expected = new Map<string, ExpectedRecipients>();
  const slice = createTimeSlice(clock);
  for (const ring of missedRingsPlayedOffline(store)) {
    if (slice.isOver()) await slice.next();
    if (!(await isPlayedByAllDevices(ring, expected, deps))) continue;
    await store.write((tx) => markRungOffline(tx, ring.pk, sentence("ring.played-offline")));
    log.info(
      { event: "bell.missed_ring_played_offline", ringId: ring.id },
      "missed ring was played offline by its devices",
    );
  }
}

/** Expected recipients of a ring; null if it would not be sent. */
type ExpectedRecipients = Pick<SimulatedDelivery, "deviceIds" | "reachesPeople"> | null;

async function isPlayedByAllDevices(
  ring: RingRow,
  known: Map<string, ExpectedRecipients>,
  deps: OfflineRingDeps,
): Promise<boolean> {
  const { store, by } = deps;
  const sending = ringNotificationOf(ring, store, by);
  if (!sending) return false;
  const { input, sender, options } = sending;
  // Many rings have the same content: look up its recipients once.
  const contentKey = JSON.stringify([input, sender.scope.domainId, options.source]);
  let expected = known.get(contentKey);
  if (expected === undefined) {
    expected = await expectedRecipientsOf(sending, deps);
    known.set(contentKey, expected);
  }
  if (!expected || expected.reachesPeople) return false;
  const players = store.all<{ id: string }>(
    "SELECT d.id FROM bell_offline_rings l JOIN devices d ON d.pk = l.device WHERE l.ring = ?",
    ring.id,
  );
  const played = new Set(players.map(({ id }) => id));
  return expected.deviceIds.every((id) => played.has(id));
}

async function expectedRecipientsOf(
  { input, sender, options }: NonNullable<ReturnType<typeof ringNotificationOf>>,
  { notificationService }: OfflineRingDeps,
): Promise<ExpectedRecipients> {
  try {
    return await notificationService.simulate(input, sender, options, null);
  } catch (error) {
    if (error instanceof CallerError || error instanceof ConflictError) return null;
    throw error;
  }
}
