import type { Clock, Timer } from "../../lib/clock.ts";
import type { Events } from "../../lib/events.ts";
import { newId } from "../../lib/ids.ts";
import devices from "../../resources/devices/devices.ts";
import deliveries from "../../resources/notifications/deliveries.ts";
import notificationRecipients from "../../resources/notifications/notification-recipients.ts";
import { tableName } from "../../schema/catalogue.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { InternalTable, Store, Transaction } from "../../store/store.ts";
import { replicatedBody } from "../protocol/replicated-body.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import { recordLocalWrite } from "../site/local-writes.ts";
import type { SqliteProgramRunner } from "../storage/sqlite-program-runner.ts";

/** Settled notifications whose ledger was not sent yet: the next list, and the last row sent of it. */
export const PENDING_LEDGER_TABLE: InternalTable = {
  name: "pending_ledger_sync",
  sql: `CREATE TABLE IF NOT EXISTS pending_ledger_sync (notification TEXT PRIMARY KEY, list INTEGER NOT NULL, after INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
};

export interface DeferredLedgerSyncDeps {
  store: Store;
  clock: Clock;
  runner: Pick<SqliteProgramRunner, "runWithin">;
  types: ReplicatedTypes;
  /** Called when there is something to send. */
  wake(): void;
  onFault(error: unknown): void;
}

/** A list of the ledger: its rows, by the notification's key. */
interface LedgerList {
  resource: AnyResource;
  rows: string;
}

const ledgerOf = (resource: AnyResource): LedgerList => ({
  resource,
  rows: `SELECT r.pk, r.id FROM ${tableName(resource)} r`,
});

/**
 * Recipients, deliveries and the device state that follows from them: written in bulk, sent once.
 * @source docs/decisions/0016-notification-engine.md
 */
const LEDGER_LISTS: readonly LedgerList[] = [
  ledgerOf(notificationRecipients),
  ledgerOf(deliveries),
  { resource: devices, rows: "SELECT r.pk, d.id FROM deliveries r JOIN main.devices d ON d.pk = r.device_pk" },
];
const DEVICES = LEDGER_LISTS.length - 1;
/** @source docs/decisions/0300-sync-limits.md */
const ROWS_PER_TRANSACTION = 100;

/**
 * Marks the ledger of a settled notification as pending, in the transaction that settles it. For one that the cloud relayed
 * only the device state is sent: the cloud has the rest.
 */
export function markLedgerPending(tx: Transaction, notificationId: string, isOfCloud: boolean): void {
  const list = isOfCloud ? DEVICES : 0;
  tx.run(
    "INSERT OR REPLACE INTO pending_ledger_sync (notification, list, after) VALUES (?, ?, 0)",
    notificationId,
    list,
  );
}

/** @source docs/decisions/0300-sync-limits.md */
const RETRY_MS = 60_000;

/** Sends pending ledgers in batches, also those that an earlier process left. */
export function createDeferredLedgerSync(deps: DeferredLedgerSyncDeps): { follow(events: Events): () => void } {
  const { store, clock, runner, types, onFault } = deps;
  let isStopped = false;
  let isRunning = false;
  /** Set again if a notification settles during the last batch. */
  let isDue = false;
  let retryTimer: Timer | null = null;

  async function run(): Promise<void> {
    isRunning = true;
    try {
      while (isDue && !isStopped) {
        isDue = false;
        while (!isStopped && (await store.write(sendBatch))) {
          // Each batch is its own transaction.
        }
      }
      deps.wake();
    } catch (error) {
      if (isStopped) return;
      onFault(error);
      retryTimer = clock.after(RETRY_MS, wake, { background: true });
    } finally {
      isRunning = false;
    }
  }

  function sendBatch(tx: Transaction): boolean {
    const next = tx.one<{ notification: string; list: number; after: number }>(
      "SELECT * FROM pending_ledger_sync LIMIT 1",
    );
    if (!next) return false;
    const { notification, list, after } = next;
    const ledger = LEDGER_LISTS[list];
    if (!ledger) {
      tx.run("DELETE FROM pending_ledger_sync WHERE notification = ?", notification);
      return true;
    }
    const rows = tx.all<{ pk: number; id: string }>(
      `${ledger.rows} WHERE r.notification_pk = (SELECT pk FROM notifications WHERE id = ?) AND r.pk > ?
       ORDER BY r.pk LIMIT ${ROWS_PER_TRANSACTION}`,
      notification,
      after,
    );
    const { resource } = ledger;
    for (const { id } of rows) {
      const row = tx.get(resource, id) as Readonly<Record<string, unknown>> | null;
      if (!row) continue;
      const write = {
        type: resource.name,
        id,
        before: null,
        after: replicatedBody(resource, row),
        actor: "",
        at: clock.now(),
        newId,
      };
      runner.runWithin(tx, recordLocalWrite(write, types));
    }
    const isMore = rows.length === ROWS_PER_TRANSACTION;
    tx.run(
      "UPDATE pending_ledger_sync SET list = ?, after = ? WHERE notification = ?",
      isMore ? list : list + 1,
      isMore ? (rows.at(-1)?.pk ?? 0) : 0,
      notification,
    );
    return true;
  }

  function wake(): void {
    isDue = true;
    retryTimer?.cancel();
    if (!isRunning) void run();
  }

  return {
    follow(events) {
      wake();
      const stop = events.on("notification.settled", wake);
      return () => {
        isStopped = true;
        retryTimer?.cancel();
        stop();
      };
    },
  };
}
