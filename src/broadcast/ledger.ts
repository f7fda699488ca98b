import type { Clock, Timer } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Store, Transaction } from "../store/store.ts";
import type { Counted, Delivery } from "./delivery.ts";
import { writeSaid } from "./device-starts.ts";
import { standingOf } from "./proof.ts";
import { APPLIANCES } from "./providers.ts";
import { countSending } from "./sendings.ts";
import { laneOf } from "./stage.ts";
import { learnDelays, type StartReport } from "./start-delays.ts";

/** Writes what is known of deliveries: many changes fold into one transaction. @source interfaces.md, The plugin's door */
export interface Ledger {
  /** The row of this delivery differs from what is known. */
  touch(delivery: Delivery): void;
  /** Resolves when everything touched before is committed; rejects with what the store says. */
  flush(): Promise<void>;
  /** Ends the timer; what is touched after that waits for `flush`. */
  stop(): void;
}

/** What the ledger needs. */
export interface LedgerNeeds {
  store: Pick<Store, "write">;
  clock: Clock;
  log: Log;
}

/** @source interfaces.md: folded into one ledger transaction per 50 ms */
const FOLD_MS = 50;
/** Rows of one transaction: about 3 ms of the event loop. */
const MOST_ROWS = 200;
/** The disk may be full: what is known stays in memory until it can be written. */
const TRY_AGAIN_MS = 1_000;

const UPDATE = `UPDATE deliveries SET level = ?, reason = ?, attempt = ?, late = ?, sent_at = ?, accepted_at = ?,
  playing_at = ?, proven_at = ?, ended_at = ?, retry_at = ?, repeat_level = ?, updated_at = ? WHERE pk = ?`;
/** What the last delivery says of its device. */
const SHOWED = {
  life: `UPDATE main.devices SET state = 'answering', last_level = ?, last_seen_at = ?, failures = 0, proven_at = ?,
    proven_by = 'delivery' WHERE pk = ?`,
  packets: "UPDATE main.devices SET state = 'sent', last_level = ?, failures = 0 WHERE pk = ?",
  silence:
    "UPDATE main.devices SET state = 'silent', last_level = ?, failures = coalesce(failures, 0) + 1 WHERE pk = ?",
};

/** Makes a ledger with nothing to write. */
export function createLedger(needs: LedgerNeeds): Ledger {
  const { store, clock, log } = needs;
  const touched = new Set<Delivery>();
  let timer: Timer | null = null;
  let stopped = false;
  let writing: Promise<void> = Promise.resolve();

  const arm = (delayMs: number): void => {
    if (stopped || touched.size === 0) return;
    timer ??= clock.after(delayMs, () => {
      timer = null;
      void fold().then(
        () => arm(FOLD_MS),
        (error) => {
          log.error({ err: error, rows: touched.size }, "ledger not written");
          arm(TRY_AGAIN_MS);
        },
      );
    });
  };

  /** One fold at a time, so that the rows of a failed one are back before the next looks. */
  const fold = (): Promise<void> => {
    const next = writing.then(async () => {
      while (touched.size > 0) await writeSome();
    });
    writing = next.catch(() => {});
    return next;
  };

  const writeSome = async (): Promise<void> => {
    const batch = [...takeFirst(touched, MOST_ROWS)];
    const urgent = batch.reduce((least, delivery) => Math.min(least, delivery.priority), 9);
    const counted = new Map<Delivery, Counted>();
    try {
      await store.write((tx) => writeRows(tx, batch, clock.now(), counted), laneOf(urgent));
    } catch (error) {
      for (const delivery of batch) touched.add(delivery);
      throw error;
    }
    for (const [delivery, known] of counted) delivery.counted = known;
    for (const delivery of batch) {
      if (touched.has(delivery)) continue;
      delivery.deviceShowed = null;
      delivery.said = undefined;
    }
  };

  return {
    touch(delivery) {
      touched.add(delivery);
      arm(FOLD_MS);
    },
    flush: fold,
    stop() {
      stopped = true;
      timer?.cancel();
      timer = null;
    },
  };
}

function* takeFirst<T>(set: Set<T>, most: number): Generator<T> {
  let taken = 0;
  for (const item of set) {
    if (taken++ === most) return;
    set.delete(item);
    yield item;
  }
}

function writeRows(tx: Transaction, batch: readonly Delivery[], now: number, counted: Map<Delivery, Counted>): void {
  const notifications = new Set<string>();
  const starts: StartReport[] = [];
  for (const delivery of batch) {
    const { attempt, endedAt, retryAt } = delivery;
    const { level, reason, sentAt, acceptedAt, playingAt, provenAt } = standingOf(delivery);
    const repeatLevel = delivery.before === null ? null : delivery.level;
    const late = Number(delivery.late);
    tx.run(
      UPDATE,
      level,
      reason,
      attempt,
      late,
      sentAt,
      acceptedAt,
      playingAt,
      provenAt,
      endedAt,
      retryAt,
      repeatLevel,
      now,
      delivery.pk,
    );
    writeDevice(tx, delivery, now);
    const { said } = delivery;
    if (said) writeSaid(tx, delivery.pk, said);
    // When it began by itself, that says nothing of how slow its model is.
    if (said?.started && delivery.owner.isTogether)
      starts.push({ deliveryPk: delivery.pk, heldMs: 0, ...said.started });
    if (delivery.sending) counted.set(delivery, countSending(tx, delivery));
    notifications.add(delivery.owner.id);
  }
  if (starts.length > 0) learnDelays(tx, starts, now);
  for (const notificationId of notifications) tx.emit("deliveries.changed", { notificationId });
}

function writeDevice(tx: Transaction, delivery: Delivery, now: number): void {
  const { device, deviceShowed, level, provider } = delivery;
  // Of devices of other appliances these tell themselves.
  if (device === null || deviceShowed === null || provider === APPLIANCES) return;
  const seenAt = acceptedAtOf(delivery, now);
  const moments = deviceShowed === "life" ? [seenAt, seenAt] : [];
  tx.run(SHOWED[deviceShowed], level, ...moments, device);
}

function acceptedAtOf(delivery: Delivery, now: number): number {
  return delivery.playingAt ?? delivery.acceptedAt ?? now;
}
