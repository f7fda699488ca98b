import { expect, it } from "vitest";
import { createEvents } from "../../../../src/lib/events.ts";
import { type ChangeBatch, createChangeBroadcaster } from "../../../../src/webhooks/change-feed/change-broadcaster.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

function open() {
  const clock = createFakeClock();
  const events = createEvents((error) => {
    throw error;
  });
  const folds: ChangeBatch[] = [];
  const rowsOfPlugin = (plugin: string) => [
    { resource: "extensions", id: `row of ${plugin}` },
    { resource: "endpoints", id: "e" },
  ];
  const onBatch = (fold: ChangeBatch) => void folds.push(fold);
  const hub = createChangeBroadcaster({ events, clock, seq: 7, rowsOfPlugin, onBatch });
  const change = (seq: number, id: string, op: "create" | "update" | "delete") =>
    events.emit("row.changed", { seq, resource: "users", id, op });
  return { clock, events, folds, hub, change };
}

it("batches changes of 100 ms: each row once, with the newest position", () => {
  const { clock, folds, change, hub } = open();
  change(8, "a", "create");
  change(9, "b", "update");
  clock.advanceSync(99);
  change(10, "a", "update");
  change(11, "b", "delete");
  expect(folds).toEqual([]);
  clock.advanceSync(1);
  expect(folds).toEqual([
    {
      seq: 11,
      changes: [
        { resource: "users", id: "a", op: "create" },
        { resource: "users", id: "b", op: "delete" },
      ],
    },
  ]);
  clock.advanceSync(10_000);
  expect(folds).toHaveLength(1);
  change(12, "a", "update");
  expect(hub.seq).toBe(12);
  clock.advanceSync(100);
  expect(folds[1]).toEqual({ seq: 12, changes: [{ resource: "users", id: "a", op: "update" }] });
});

it("reports deliveries and activities by notification, the link by appliance, next rings without id, and plugins by their extension and the health they change", () => {
  const { clock, events, folds } = open();
  events.emit("deliveries.changed", { notificationId: "n" });
  events.emit("deliveries.changed", { notificationId: "n" });
  events.emit("notification.settled", { notificationId: "n" });
  events.emit("notification.activity-added", { notificationId: "n" });
  events.emit("link.changed", { endpointId: "e" });
  events.emit("rings.planned", {});
  events.emit("plugin.changed", { plugin: "ip-phones", state: "stopped", reason: null });
  clock.advanceSync(100);
  const told = folds.flatMap(({ seq, changes }) => changes.map(({ resource, id }) => `${seq} ${resource} ${id}`));
  expect(told).toEqual([
    "7 deliveries n",
    "7 notifications n",
    "7 notification-activities n",
    "7 link e",
    "7 bell-rings *",
    "7 extensions row of ip-phones",
    "7 endpoints e",
  ]);
});

it("publishes nothing after stop", () => {
  const { clock, folds, change, hub } = open();
  change(8, "a", "create");
  hub.stop();
  change(9, "b", "create");
  clock.advanceSync(1_000);
  expect([folds, clock.pendingTimers()]).toEqual([[], 0]);
});
