import type { Clock, Timer } from "../../base/clock.ts";
import type { Events } from "../../base/events.ts";
import { newId } from "../../base/ids.ts";
import deliveries from "../../resources/broadcasts/deliveries.ts";
import notificationRecipients from "../../resources/broadcasts/notification-recipients.ts";
import devices from "../../resources/devices/devices.ts";
import { tableOf } from "../../schema/catalogue.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { RoomTable, Store, Transaction } from "../../store/store.ts";
import { bodyOf } from "../bodies.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { recordLocalWrite } from "../site/local-writes.ts";
import type { SqliteWork } from "../sqlite-work.ts";

/** What of a settled message was not told yet: up to which row of which of its lists. */
export const TOLD_AT_END_TABLE: RoomTable = {
  name: "repl_untold",
  sql: `CREATE TABLE IF NOT EXISTS repl_untold (notification TEXT PRIMARY KEY, list INTEGER NOT NULL, after INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
};

/** What telling needs. */
export interface ToldAtEndNeeds {
  store: Store;
  clock: Clock;
  work: Pick<SqliteWork, "within">;
  types: ReplicatedTypes;
  /** Something goes up. */
  wake(): void;
  onFault(error: unknown): void;
}

/** A list that is told: its rows, by the keys of rows of the message. */
interface List {
  resource: AnyResource;
  rows: string;
}

const ofMessage = (resource: AnyResource): List => ({
  resource,
  rows: `SELECT r.pk, r.id FROM ${tableOf(resource)} r`,
});

/**
 * Who was reached, device by device and person by person, and what that says of the devices: written in bulk, told once.
 * @source interfaces.md, Ledger levels
 */
const LISTS: readonly List[] = [
  ofMessage(notificationRecipients),
  ofMessage(deliveries),
  { resource: devices, rows: "SELECT r.pk, d.id FROM deliveries r JOIN main.devices d ON d.pk = r.device_pk" },
];
const DEVICES = LISTS.length - 1;
/** Rows that are told in one transaction. own choice: some ms */
const AT_ONCE = 100;

/**
 * Remembers, in the transaction that settles a message, that its ledger is to be told; of a message that the cloud had
 * carried out, which tells of it itself, only what it says of the devices.
 */
export function markUntold(tx: Transaction, notificationId: string, isOfCloud: boolean): void {
  const list = isOfCloud ? DEVICES : 0;
  tx.run("INSERT OR REPLACE INTO repl_untold (notification, list, after) VALUES (?, ?, 0)", notificationId, list);
}

/** Ledgers that could not be told are tried again so much later. own choice */
const AGAIN_MS = 60_000;

/** Tells the ledgers of settled messages in slices, also those that an earlier run left. */
export function createToldAtEnd(needs: ToldAtEndNeeds): { follow(events: Events): () => void } {
  const { store, clock, work, types, onFault } = needs;
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
        while (!isStopped && (await store.write(tellSlice))) {
          // Each slice is a transaction of its own.
        }
      }
      needs.wake();
    } catch (error) {
      if (isStopped) return;
      onFault(error);
      again = clock.after(AGAIN_MS, wake, { background: true });
    } finally {
      isRunning = false;
    }
  }

  function tellSlice(tx: Transaction): boolean {
    const next = tx.one<{ notification: string; list: number; after: number }>("SELECT * FROM repl_untold LIMIT 1");
    if (!next) return false;
    const { notification, list, after } = next;
    const told = LISTS[list];
    if (!told) {
      tx.run("DELETE FROM repl_untold WHERE notification = ?", notification);
      return true;
    }
    const rows = tx.all<{ pk: number; id: string }>(
      `${told.rows} WHERE r.notification_pk = (SELECT pk FROM notifications WHERE id = ?) AND r.pk > ?
       ORDER BY r.pk LIMIT ${AT_ONCE}`,
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
        after: bodyOf(resource, row),
        actor: "",
        at: clock.now(),
        newId,
      };
      work.within(tx, recordLocalWrite(write, types));
    }
    const isMore = rows.length === AT_ONCE;
    tx.run(
      "UPDATE repl_untold SET list = ?, after = ? WHERE notification = ?",
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
