import { expect, it, vi } from "vitest";
import { createEvents, type Events } from "../../../src/lib/events.ts";
import { createDeferredLedgerSync } from "../../../src/sync/capture/deferred-ledger-sync.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const throwing = (error: unknown): never => {
  throw error;
};

/** Follows what settles; each look for more to tell answers by `look`. */
function following(look: (events: Events, nth: number) => Promise<boolean>) {
  const clock = createFakeClock(0);
  const events = createEvents(throwing);
  const faults: unknown[] = [];
  const write = vi.fn(() => look(events, write.mock.calls.length));
  const wake = vi.fn();
  const onFault = (error: unknown): void => void faults.push(error);
  const stop = createDeferredLedgerSync({ store: { write }, clock, wake, onFault } as never).follow(events);
  return { clock, write, wake, faults, stop };
}

it("sends the ledger of a notification that settles during the last batch", async () => {
  const { write, wake, stop } = following(async (events, nth) => {
    await Promise.resolve();
    if (nth === 1) events.emit("notification.settled", { notificationId: "n" } as never);
    return false;
  });
  await expect.poll(() => wake.mock.calls.length).toBe(1);
  expect(write).toHaveBeenCalledTimes(2);
  stop();
});

it("retries a failed ledger until it is stopped", async () => {
  const { clock, write, wake, faults, stop } = following(async (_, nth) => {
    if (nth < 3) throw new Error("full");
    return false;
  });
  await expect.poll(() => faults.length).toBe(1);
  clock.advanceSync(60_000);
  await expect.poll(() => faults.length).toBe(2);
  clock.advanceSync(60_000);
  await expect.poll(() => wake.mock.calls.length).toBe(1);
  stop();
  clock.advanceSync(600_000);
  expect(write).toHaveBeenCalledTimes(3);
});
