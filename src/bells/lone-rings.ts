import { type Clock, nextTurn, type Timer } from "../base/clock.ts";
import { CallerError, ConflictError } from "../base/errors.ts";
import { isUuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Broadcaster, Foresight } from "../broadcast/broadcaster.ts";
import type { Outcome } from "../broadcast/providers.ts";
import type { LoneRing } from "../plugin-api/index.ts";
import type { By, Reader, Store } from "../store/store.ts";
import { missedPlayedAlone, type RingRow, ringAlone } from "./ring-book.ts";
import { sendingOf } from "./ring-port.ts";
import { DAY_MS } from "./zones.ts";

/** What devices have played without the appliance. */
export interface LoneRings {
  /**
   * Enters rings that a device played by itself: with their message where there is one, else with the ring, which counts as
   * rung once every device that it was for has played it. Telling it again changes nothing. Throws CallerError.
   */
  enter(provider: string, deviceIdentifier: string, rings: readonly LoneRing[]): Promise<void>;
  stop(): void;
}

/** What entering needs. */
export interface LoneRingNeeds {
  store: Store;
  clock: Clock;
  log: Log;
  broadcaster: Pick<Broadcaster, "foresee" | "takeOutcomes">;
  by: By;
}

/** Those of the last days are taken. @source as long as what became of rings is kept */
const TAKEN_MS = 40 * DAY_MS;
/** So far a device's clock may be ahead. own choice */
const AHEAD_MS = 3_600_000;
const MOST_TAKEN = 500;
const MOST_OF_DEVICE = 5_000;
/** Many devices tell of the same rings: these are looked at once they had time to. own choice */
const LOOK_AFTER_MS = 2_000;
const SLICE_MS = 4;
const WORDS = "The device played it by itself while the appliance could not be reached.";

/** True when some device holds a plan that is not over. */
export function canRingAlone(reader: Reader, now: number): boolean {
  const sql = "SELECT 1 FROM devices WHERE attributes ->> 'RingPlanUntil' > ? LIMIT 1";
  return reader.one(sql, new Date(now).toISOString()) !== null;
}

/** Makes the desk that takes them. */
export function createLoneRings(needs: LoneRingNeeds): LoneRings {
  const { store, clock, log, broadcaster } = needs;
  let timer: Timer | null = null;
  /** Something was told since the last look. */
  let isTold = false;
  let isOver = false;

  /** One look at a time: there may be many rings. */
  const look = async (): Promise<void> => {
    isTold = false;
    try {
      await settleMissed(needs);
    } catch (error) {
      log.error({ err: error }, "rings that were played alone are not settled");
    }
    timer = null;
    if (isTold) lookSoon();
  };
  const lookSoon = (): void => {
    isTold = true;
    if (!isOver) timer ??= clock.after(LOOK_AFTER_MS, () => void look(), { background: true });
  };

  return {
    async enter(provider, deviceIdentifier, rings) {
      const now = clock.now();
      const told = rings
        .slice(0, MOST_TAKEN)
        .filter(({ ringId, at }) => isUuid(ringId) && at > now - TAKEN_MS && at < now + AHEAD_MS);
      const device = await store.write((tx) => {
        const found = tx.one<{ pk: number }>(
          "SELECT pk FROM devices WHERE device_identifier = ? AND provider = ?",
          deviceIdentifier,
          provider,
        );
        if (!found) throw new CallerError("invalid-value", `rings.playedAlone: ${deviceIdentifier} is no device of it`);
        tx.run("DELETE FROM bell_lone_rings WHERE at < ?", now - TAKEN_MS);
        for (const { ringId, at } of told)
          tx.run("INSERT OR IGNORE INTO bell_lone_rings (device, ring, at) VALUES (?, ?, ?)", found.pk, ringId, at);
        const sql = "SELECT count(*) AS n FROM bell_lone_rings WHERE device = ?";
        if ((tx.one<{ n: number }>(sql, found.pk)?.n ?? 0) > MOST_OF_DEVICE)
          throw new CallerError("limit-exceeded", `rings.playedAlone: at most ${MOST_OF_DEVICE} of a device`);
        return found.pk;
      });
      broadcaster.takeOutcomes(told.flatMap((ring) => outcomeOf(ring, device, provider, store) ?? []));
      if (told.length === 0) return;
      log.warn({ deviceIdentifier, rings: told.length }, "rings were played without the appliance");
      lookSoon();
    },
    stop() {
      isOver = true;
      timer?.cancel();
    },
  };
}

/** What the ledger is told of a ring whose message the appliance had sent; null where it has none for the device. */
function outcomeOf({ ringId, at }: LoneRing, device: number, provider: string, reader: Reader): Outcome | null {
  const found = reader.one<{ pk: number }>(
    `SELECT l.pk FROM notifications n JOIN deliveries l ON l.notification_pk = n.pk
     WHERE n.id = ? AND l.device_pk = ?`,
    ringId,
    device,
  );
  const details = { reason: WORDS };
  return found && { provider, deliveryId: found.pk, level: "playing", details, at, isLast: true, alone: true };
}

/** What the appliance missed and every device has played is not missed any more. */
async function settleMissed(needs: LoneRingNeeds): Promise<void> {
  const { store, clock, log } = needs;
  const meant = new Map<string, Meant>();
  let began = clock.monotonicMs();
  for (const ring of missedPlayedAlone(store)) {
    if (clock.monotonicMs() - began > SLICE_MS) {
      await nextTurn(clock);
      began = clock.monotonicMs();
    }
    if (!(await isPlayedByAll(ring, meant, needs))) continue;
    await store.write((tx) => ringAlone(tx, ring.pk, "Its devices played it by themselves."));
    log.info({ ringId: ring.id }, "a ring that the appliance missed was played by its devices");
  }
}

/** Who was to hear a ring; null where it would not be sent at all. */
type Meant = Pick<Foresight, "deviceIds" | "reachesPeople"> | null;

async function isPlayedByAll(ring: RingRow, known: Map<string, Meant>, needs: LoneRingNeeds): Promise<boolean> {
  const { store, by } = needs;
  const sending = sendingOf(ring, store, by);
  if (!sending) return false;
  const { input, sender, options } = sending;
  // Many rings are alike: who hears them is found once.
  const alike = JSON.stringify([input, sender.scope.domainId, options.source]);
  let meant = known.get(alike);
  if (meant === undefined) {
    meant = await meantBy(sending, needs);
    known.set(alike, meant);
  }
  if (!meant || meant.reachesPeople) return false;
  const players = store.all<{ id: string }>(
    "SELECT d.id FROM bell_lone_rings l JOIN devices d ON d.pk = l.device WHERE l.ring = ?",
    ring.id,
  );
  const played = new Set(players.map(({ id }) => id));
  return meant.deviceIds.every((id) => played.has(id));
}

async function meantBy(
  { input, sender, options }: NonNullable<ReturnType<typeof sendingOf>>,
  { broadcaster }: LoneRingNeeds,
): Promise<Meant> {
  try {
    return await broadcaster.foresee(input, sender, options, null);
  } catch (error) {
    if (error instanceof CallerError || error instanceof ConflictError) return null;
    throw error;
  }
}
