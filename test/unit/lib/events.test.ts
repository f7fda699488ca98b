import { describe, expect, it } from "vitest";
import { createEvents, type EventMap } from "../../../src/lib/events.ts";

const SETTLED: EventMap["notification.settled"] = { notificationId: "n1" };

function eventsWithErrors() {
  const errors: unknown[][] = [];
  return { errors, events: createEvents((error, name) => errors.push([name, error])) };
}

describe("events", () => {
  it("call the listeners of that name in order, with the payload", () => {
    const { events } = eventsWithErrors();
    const seen: string[] = [];
    events.on("notification.settled", ({ notificationId }) => seen.push(`first ${notificationId}`));
    events.on("notification.settled", ({ notificationId }) => seen.push(`second ${notificationId}`));
    events.on("deliveries.changed", () => seen.push("other"));
    events.emit("notification.settled", SETTLED);
    expect(seen).toEqual(["first n1", "second n1"]);
  });

  it("do nothing without listeners", () => {
    const { events, errors } = eventsWithErrors();
    events.emit("notification.settled", SETTLED);
    expect(errors).toEqual([]);
  });

  it("report a listener that throws and continue with the next", () => {
    const { events, errors } = eventsWithErrors();
    const fault = new RangeError("listener");
    let reached = false;
    events.on("notification.settled", () => {
      throw fault;
    });
    events.on("notification.settled", () => {
      reached = true;
    });
    events.emit("notification.settled", SETTLED);
    expect(reached).toBe(true);
    expect(errors).toEqual([["notification.settled", fault]]);
  });

  it("stop calling a removed listener, also when it is removed during a call", () => {
    const { events } = eventsWithErrors();
    const seen: string[] = [];
    const leave = events.on("notification.settled", () => {
      seen.push("once");
      leave();
    });
    events.on("notification.settled", () => seen.push("stays"));
    events.emit("notification.settled", SETTLED);
    events.emit("notification.settled", SETTLED);
    expect(seen).toEqual(["once", "stays", "stays"]);
  });
});
