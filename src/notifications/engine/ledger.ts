/**
 * State and reason of every device of a message: why a phone was not reached. The reasons of devices that are not reached are
 * decided in delivery-state.ts; the API lists those not reached at GET /notifications/{id}/devices.
 */

import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Sentence } from "../../lib/sentences/sentences.ts";
import { createSerialQueue } from "../../lib/serial-queue.ts";
import type { Store, Transaction } from "../../store/store.ts";
import type { CountedEvents, Delivery } from "./delivery.ts";
import { APPLIANCES_PROVIDER } from "./delivery-providers.ts";
import { effectiveState } from "./delivery-state.ts";
import { recordDeviceReport, recordMatch } from "./device-start-times.ts";
import { writeLaneOf } from "./pipeline-stage.ts";
import { type DeviceStartReport, recordStartReports } from "./start-latency.ts";
import { recordUnreachedChannels, type UnreachedChannelDeps } from "./unreached-channels.ts";
import { countUserDelivery } from "./user-channel-counters.ts";

/**
 * Writes the state of deliveries: many changes per transaction. @source docs/decisions/0016-notification-engine.md,
 * Ledger
 */
export interface DeliveryLedger {
  /** The row of this delivery is out of date. */
  markDirty(delivery: Delivery): void;
  /** Resolves when all earlier changes are committed; rejects with the store's error. */
  flush(): Promise<void>;
  /** Stops the timer; later changes wait for `flush`. */
  stop(): void;
}

export interface DeliveryLedgerDeps extends UnreachedChannelDeps {
  store: Pick<Store, "write">;
  clock: Clock;
  log: Log;
}

/** @source docs/decisions/0016-notification-engine.md, Ledger */
const FLUSH_INTERVAL_MS = 50;
/** Rows of one transaction: about 3 ms of the event loop. */
const MAX_ROWS = 200;
/** The disk may be full: changes stay in memory until they can be written. */
const RETRY_MS = 1_000;

const UPDATE = `UPDATE deliveries SET level = ?, reason = ?, attempt = ?, late = ?, text_only = ?, sent_at = ?, accepted_at = ?,
  playing_at = ?, proven_at = ?, ended_at = ?, retry_at = ?, repeat_level = ?, updated_at = ? WHERE pk = ?`;
/** What the last delivery says about its device. */
const DEVICE_UPDATE_SQL = {
  life: `UPDATE main.devices SET state = 'answering', last_level = ?, last_seen_at = ?, failures = 0, proven_at = ?,
    proven_by = 'delivery' WHERE pk = ?`,
  packets: "UPDATE main.devices SET state = 'sent', last_level = ?, failures = 0 WHERE pk = ?",
  silence:
    "UPDATE main.devices SET state = 'silent', last_level = ?, failures = coalesce(failures, 0) + 1 WHERE pk = ?",
};

export function createDeliveryLedger(deps: DeliveryLedgerDeps): DeliveryLedger {
  const { store, clock, log } = deps;
  const dirty = new Set<Delivery>();
  let timer: Timer | null = null;
  let stopped = false;
  const writes = createSerialQueue();

  const scheduleFlush = (delayMs: number): void => {
    if (stopped || dirty.size === 0) return;
    timer ??= clock.after(delayMs, () => {
      timer = null;
      void flushAll().then(
        () => scheduleFlush(FLUSH_INTERVAL_MS),
        (error) => {
          log.error(
            { event: "ledger.write_failed", err: error, rows: dirty.size },
            "Ledger could not be written; retrying.",
          );
          scheduleFlush(RETRY_MS);
        },
      );
    });
  };

  /** One flush at a time, so that the rows of a failed one are back before the next. */
  const flushAll = (): Promise<void> =>
    writes.run(async () => {
      while (dirty.size > 0) await writeBatch();
    });

  const writeBatch = async (): Promise<void> => {
    const batch = [...drainFirst(dirty, MAX_ROWS)];
    const urgent = batch.reduce((least, delivery) => Math.min(least, delivery.priority), 9);
    const counted = new Map<Delivery, CountedEvents>();
    try {
      await store.write((tx) => writeRows(tx, batch, counted, deps), writeLaneOf(urgent));
    } catch (error) {
      for (const delivery of batch) dirty.add(delivery);
      throw error;
    }
    for (const [delivery, known] of counted) delivery.counted = known;
    for (const delivery of batch) {
      if (dirty.has(delivery)) continue;
      delivery.channelDown = null;
      delivery.deviceEvidence = null;
      delivery.deviceReport = undefined;
    }
  };

  return {
    markDirty(delivery) {
      dirty.add(delivery);
      scheduleFlush(FLUSH_INTERVAL_MS);
    },
    flush: flushAll,
    stop() {
      stopped = true;
      timer?.cancel();
      timer = null;
    },
  };
}

function* drainFirst<T>(set: Set<T>, limit: number): Generator<T> {
  let taken = 0;
  for (const item of set) {
    if (taken++ === limit) return;
    set.delete(item);
    yield item;
  }
}

function writeRows(
  tx: Transaction,
  batch: readonly Delivery[],
  counted: Map<Delivery, CountedEvents>,
  deps: DeliveryLedgerDeps,
): void {
  const now = deps.clock.now();
  /** Messages, with their channels that could not be reached. */
  const notifications = new Map<string, Map<string, Sentence>>();
  const starts: DeviceStartReport[] = [];
  for (const delivery of batch) {
    const { attempt, endedAt, retryAt } = delivery;
    const { level, reason, sentAt, acceptedAt, playingAt, provenAt } = effectiveState(delivery);
    const repeatLevel = delivery.previousProof === null ? null : delivery.level;
    const late = Number(delivery.late);
    tx.run(
      UPDATE,
      level,
      reason,
      attempt,
      late,
      Number(delivery.textOnly),
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
    const { deviceReport } = delivery;
    if (deviceReport) recordDeviceReport(tx, delivery.pk, deviceReport);
    if (deviceReport?.match) recordMatch(tx, delivery.pk, deviceReport.match);
    // A start on its own says nothing about the latency of the model.
    if (deviceReport?.started && delivery.owner.synchronizedStart)
      starts.push({ deliveryPk: delivery.pk, heldMs: 0, ...deviceReport.started });
    if (delivery.userChannel) counted.set(delivery, countUserDelivery(tx, delivery));
    const unreached = notifications.get(delivery.owner.id) ?? new Map<string, Sentence>();
    if (delivery.channelDown) unreached.set(delivery.provider, delivery.channelDown);
    notifications.set(delivery.owner.id, unreached);
  }
  if (starts.length > 0) recordStartReports(tx, starts, now);
  for (const [notificationId, unreached] of notifications) {
    recordUnreachedChannels(tx, notificationId, unreached, deps);
    tx.emit("deliveries.changed", { notificationId });
  }
}

function writeDevice(tx: Transaction, delivery: Delivery, now: number): void {
  const { device, deviceEvidence, level, provider } = delivery;
  // The devices of other appliances are reported by those appliances.
  if (device === null || deviceEvidence === null || provider === APPLIANCES_PROVIDER) return;
  const seenAt = lastSeenAt(delivery, now);
  const moments = deviceEvidence === "life" ? [seenAt, seenAt] : [];
  tx.run(DEVICE_UPDATE_SQL[deviceEvidence], level, ...moments, device);
}

function lastSeenAt(delivery: Delivery, now: number): number {
  return delivery.playingAt ?? delivery.acceptedAt ?? now;
}
