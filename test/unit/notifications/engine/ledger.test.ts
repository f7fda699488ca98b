import { beforeEach, describe, expect, it } from "vitest";
import { silentLog } from "../../../../src/lib/log.ts";
import type { Delivery } from "../../../../src/notifications/engine/delivery.ts";
import { createDeliveryLedger, type DeliveryLedger } from "../../../../src/notifications/engine/ledger.ts";
import type { Store, Transaction } from "../../../../src/store/store.ts";
import { anyActor } from "../../../plugins/test-appliance.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";

let clock: FakeClock;
let ledger: DeliveryLedger;
/** Rows of each transaction, with its lane. */
let transactions: { lane: string; rows: number; told: string[] }[];
let full: boolean;

const write: Store["write"] = async (fn, lane = "normal") => {
  await Promise.resolve();
  if (full) throw new RangeError("disk full");
  const transaction = { lane, rows: 0, told: [] as string[] };
  fn({
    run: (sql: string) => {
      if (sql.startsWith("UPDATE deliveries")) transaction.rows++;
    },
    emit: (_name: string, { notificationId }: { notificationId: string }) => transaction.told.push(notificationId),
  } as unknown as Transaction);
  transactions.push(transaction);
  return undefined as never;
};

const delivery = (pk: number, owner: string, priority = 5) =>
  ({ pk, owner: { id: owner }, priority, device: null, level: "accepted", previousProof: null }) as unknown as Delivery;

beforeEach(() => {
  clock = createFakeClock();
  transactions = [];
  full = false;
  ledger = createDeliveryLedger({
    ...{ store: { write }, clock, log: silentLog, by: anyActor },
    ...{ endpointId: () => "", providers: { extensionId: (provider) => provider } },
  });
});

describe("the ledger", () => {
  it("folds changes within 50 ms into one transaction and emits one event per message", async () => {
    const one = delivery(1, "a");
    for (const each of [one, delivery(2, "a"), one, delivery(3, "b")]) ledger.markDirty(each);
    await clock.advance(49);
    expect(transactions).toEqual([]);
    await clock.advance(1);
    expect(transactions).toEqual([{ lane: "normal", rows: 3, told: ["a", "b"] }]);
  });

  it("writes thousands of rows in chunks, and an emergency in its own lane", async () => {
    for (let pk = 1; pk <= 450; pk++) ledger.markDirty(delivery(pk, "a", pk === 450 ? 0 : 5));
    await clock.advance(60);
    expect(transactions.map(({ lane, rows }) => [lane, rows])).toEqual([
      ["normal", 200],
      ["normal", 200],
      ["emergency", 50],
    ]);
  });

  it("keeps changes until they can be written", async () => {
    full = true;
    ledger.markDirty(delivery(1, "a"));
    await clock.advance(2_500);
    await expect(ledger.flush()).rejects.toThrow("disk full");
    full = false;
    await clock.advance(1_000);
    expect(transactions).toMatchObject([{ rows: 1 }]);
    await ledger.flush();
    expect(transactions).toHaveLength(1);
    expect(clock.pendingTimers()).toBe(0);
  });
});
