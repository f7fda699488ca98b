import { type Clock, type Timer, yieldToEventLoop } from "../lib/clock.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import type { DeliveryOutcome } from "../notifications/engine/delivery-providers.ts";
import type { NotificationService, SimulatedDelivery } from "../notifications/notification-service.ts";
import type { OfflineRing } from "../plugin-api/index.ts";
import type { ActorContext, Store, StoreReader } from "../store/store.ts";
import { ringNotificationOf } from "./ring-executor.ts";
import { markRungOffline, missedRingsPlayedOffline, type RingRow } from "./ring-repository.ts";
import { DAY_MS } from "./time-zones.ts";

/** What devices have played without the appliance. */
export interface OfflineRings {
  /**
   * Enters rings that a device played by itself: with their message where there is one, else with the ring, which counts as
   * rung once every device that it was for has played it. Telling it again changes nothing. Throws CallerError.
   */
  record(provider: string, deviceIdentifier: string, rings: readonly OfflineRing[]): Promise<void>;
  stop(): void;
}

/** What entering needs. */
export interface OfflineRingDeps {
  store: Store;
  clock: Clock;
  log: Log;
  notificationService: Pick<NotificationService, "simulate" | "handleOutcomes">;
  by: ActorContext;
}

/** Those of the last days are taken. @source as long as what became of rings is kept */
const ACCEPTED_AGE_MS = 40 * DAY_MS;
/** So far a device's clock may be ahead. own choice */
const CLOCK_TOLERANCE_MS = 3_600_000;
const MAX_RINGS_PER_REPORT = 500;
const MAX_RINGS_PER_DEVICE = 5_000;
/** Many devices tell of the same rings: these are looked at once they had time to. own choice */
const RESOLVE_DELAY_MS = 2_000;
const TIME_SLICE_MS = 4;
const PLAYED_OFFLINE_REASON = "The device played it by itself while the appliance could not be reached.";

/** True when some device holds a plan that is not over. */
export function canRingOffline(reader: StoreReader, now: number): boolean {
  const sql = "SELECT 1 FROM devices WHERE attributes ->> 'RingPlanUntil' > ? LIMIT 1";
  return reader.one(sql, new Date(now).toISOString()) !== null;
}

/** Makes the desk that takes them. */
export function createOfflineRings(needs: OfflineRingDeps): OfflineRings {
  const { store, clock, log, notificationService } = needs;
  let timer: Timer | null = null;
  /** Something was told since the last look. */
  let hasNewReports = false;
  let isStopped = false;

  /** One look at a time: there may be many rings. */
  const resolve = async (): Promise<void> => {
    hasNewReports = false;
    try {
      await resolveMissedRings(needs);
    } catch (error) {
      log.error({ err: error }, "rings that were played alone are not settled");
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
      const told = rings
        .slice(0, MAX_RINGS_PER_REPORT)
        .filter(({ ringId, at }) => isUuid(ringId) && at > now - ACCEPTED_AGE_MS && at < now + CLOCK_TOLERANCE_MS);
      const device = await store.write((tx) => {
        const found = tx.one<{ pk: number }>(
          "SELECT pk FROM devices WHERE device_identifier = ? AND provider = ?",
          deviceIdentifier,
          provider,
        );
        if (!found) throw new CallerError("invalid-value", `rings.playedAlone: ${deviceIdentifier} is no device of it`);
        tx.run("DELETE FROM bell_offline_rings WHERE at < ?", now - ACCEPTED_AGE_MS);
        for (const { ringId, at } of told)
          tx.run("INSERT OR IGNORE INTO bell_offline_rings (device, ring, at) VALUES (?, ?, ?)", found.pk, ringId, at);
        const sql = "SELECT count(*) AS n FROM bell_offline_rings WHERE device = ?";
        if ((tx.one<{ n: number }>(sql, found.pk)?.n ?? 0) > MAX_RINGS_PER_DEVICE)
          throw new CallerError("limit-exceeded", `rings.playedAlone: at most ${MAX_RINGS_PER_DEVICE} of a device`);
        return found.pk;
      });
      notificationService.handleOutcomes(told.flatMap((ring) => toOutcome(ring, device, provider, store) ?? []));
      if (told.length === 0) return;
      log.warn({ deviceIdentifier, rings: told.length }, "rings were played without the appliance");
      scheduleResolve();
    },
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}

/** What the ledger is told of a ring whose message the appliance had sent; null where it has none for the device. */
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

/** What the appliance missed and every device has played is not missed any more. */
async function resolveMissedRings(needs: OfflineRingDeps): Promise<void> {
  const { store, clock, log } = needs;
  const meant = new Map<string, ExpectedRecipients>();
  let began = clock.monotonicMs();
  for (const ring of missedRingsPlayedOffline(store)) {
    if (clock.monotonicMs() - began > TIME_SLICE_MS) {
      await yieldToEventLoop(clock);
      began = clock.monotonicMs();
    }
    if (!(await isPlayedByAllDevices(ring, meant, needs))) continue;
    await store.write((tx) => markRungOffline(tx, ring.pk, "Its devices played it by themselves."));
    log.info({ ringId: ring.id }, "a ring that the appliance missed was played by its devices");
  }
}

/** Who was to hear a ring; null where it would not be sent at all. */
type ExpectedRecipients = Pick<SimulatedDelivery, "deviceIds" | "reachesPeople"> | null;

async function isPlayedByAllDevices(
  ring: RingRow,
  known: Map<string, ExpectedRecipients>,
  needs: OfflineRingDeps,
): Promise<boolean> {
  const { store, by } = needs;
  const sending = ringNotificationOf(ring, store, by);
  if (!sending) return false;
  const { input, sender, options } = sending;
  // Many rings are alike: who hears them is found once.
  const alike = JSON.stringify([input, sender.scope.domainId, options.source]);
  let meant = known.get(alike);
  if (meant === undefined) {
    meant = await expectedRecipientsOf(sending, needs);
    known.set(alike, meant);
  }
  if (!meant || meant.reachesPeople) return false;
  const players = store.all<{ id: string }>(
    "SELECT d.id FROM bell_offline_rings l JOIN devices d ON d.pk = l.device WHERE l.ring = ?",
    ring.id,
  );
  const played = new Set(players.map(({ id }) => id));
  return meant.deviceIds.every((id) => played.has(id));
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
