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

/** What of a settled message was not told yet: up to which row of which of its lists. */
export const PENDING_LEDGER_TABLE: InternalTable = {
  name: "pending_ledger_sync",
  sql: `CREATE TABLE IF NOT EXISTS pending_ledger_sync (notification TEXT PRIMARY KEY, list INTEGER NOT NULL, after INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
};

/** What telling needs. */
export interface DeferredLedgerSyncDeps {
  store: Store;
  clock: Clock;
  runner: Pick<SqliteProgramRunner, "runWithin">;
  types: ReplicatedTypes;
  /** Something goes up. */
  wake(): void;
  onFault(error: unknown): void;
}

/** A list that is told: its rows, by the keys of rows of the message. */
interface LedgerList {
  resource: AnyResource;
  rows: string;
}

const ledgerOf = (resource: AnyResource): LedgerList => ({
  resource,
  rows: `SELECT r.pk, r.id FROM ${tableName(resource)} r`,
});

/**
 * Who was reached, device by device and person by person, and what that says of the devices: written in bulk, told once.
 * @source interfaces.md, Ledger levels
 */
const LEDGER_LISTS: readonly LedgerList[] = [
  ledgerOf(notificationRecipients),
  ledgerOf(deliveries),
  { resource: devices, rows: "SELECT r.pk, d.id FROM deliveries r JOIN main.devices d ON d.pk = r.device_pk" },
];
const DEVICES = LEDGER_LISTS.length - 1;
/** Rows that are told in one transaction. own choice: some ms */
const ROWS_PER_TRANSACTION = 100;

/**
 * Remembers, in the transaction that settles a message, that its ledger is to be told; of a message that the cloud had
 * carried out, which tells of it itself, only what it says of the devices.
 */
export function markLedgerPending(tx: Transaction, notificationId: string, isOfCloud: boolean): void {
  const list = isOfCloud ? DEVICES : 0;
  tx.run(
    "INSERT OR REPLACE INTO pending_ledger_sync (notification, list, after) VALUES (?, ?, 0)",
    notificationId,
    list,
  );
}

/** Ledgers that could not be told are tried again so much later. own choice */
const RETRY_MS = 60_000;

/** Tells the ledgers of settled messages in slices, also those that an earlier run left. */
export function createDeferredLedgerSync(needs: DeferredLedgerSyncDeps): { follow(events: Events): () => void } {
  const { store, clock, runner: work, types, onFault } = needs;
  let isStopped = false;
  let isRunning = false;
  /** A message may have settled in the very commit that found nothing more to tell. */
  let isDue = false;
  let again: Timer | null = null;

  async function run(): Promise<void> {
    isRunning = true;
    try {
      while (isDue && !isStopped) {
        isDue = false;
        while (!isStopped && (await store.write(sendBatch))) {
          // Each slice is a transaction of its own.
        }
      }
      needs.wake();
    } catch (error) {
      if (isStopped) return;
      onFault(error);
      again = clock.after(RETRY_MS, wake, { background: true });
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
    const told = LEDGER_LISTS[list];
    if (!told) {
      tx.run("DELETE FROM pending_ledger_sync WHERE notification = ?", notification);
      return true;
    }
    const rows = tx.all<{ pk: number; id: string }>(
      `${told.rows} WHERE r.notification_pk = (SELECT pk FROM notifications WHERE id = ?) AND r.pk > ?
       ORDER BY r.pk LIMIT ${ROWS_PER_TRANSACTION}`,
      notification,
      after,
    );
    const { resource } = told;
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
      work.runWithin(tx, recordLocalWrite(write, types));
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
    again?.cancel();
    if (!isRunning) void run();
  }

  return {
    follow(events) {
      wake();
      const stop = events.on("notification.settled", wake);
      return () => {
        isStopped = true;
        again?.cancel();
        stop();
      };
    },
  };
}
