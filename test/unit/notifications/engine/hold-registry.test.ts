import { describe, expect, it } from "vitest";
import { createEvents } from "../../../../src/lib/events.ts";
import { createHoldRegistry } from "../../../../src/notifications/engine/hold-registry.ts";

const open = () => {
  const events = createEvents((error) => {
    throw error;
  });
  return { events, gates: createHoldRegistry(events) };
};

/** True once what is waited for has come. */
async function hasCome(waiting: Promise<unknown>): Promise<boolean> {
  let come = false;
  void waiting.then(() => {
    come = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return come;
}

describe("a held message", () => {
  const { signal } = new AbortController();

  it("waits for its own release", async () => {
    const { gates } = open();
    const waiting = gates.waitForRelease("a", signal);
    gates.release("b");
    expect(await hasCome(waiting)).toBe(false);
    gates.release("a");
    expect(await hasCome(waiting)).toBe(true);
  });

  it("passes when it was released earlier, starts, is stopped or is forgotten", async () => {
    const { gates, events } = open();
    gates.release("early");
    gates.startAt("begun", 7);
    const waiting = ["early", "begun", "stopped", "gone"].map((id) => gates.waitForRelease(id, signal));
    events.emit("notification.stopped", { notificationId: "stopped", reason: "aborted" });
    gates.forget("gone");
    expect(await Promise.all(waiting.map(hasCome))).toEqual([true, true, true, true]);
  });

  it("gets its start time, whether it is set before or after it subscribes", () => {
    const { gates } = open();
    const heard: number[] = [];
    gates.startAt("a", 1);
    gates.onStart("a", (at) => heard.push(at));
    gates.onStart("b", (at) => heard.push(at));
    gates.startAt("b", 2);
    expect(heard).toEqual([1, 2]);
  });

  it("stops waiting when the appliance stops", async () => {
    const { gates } = open();
    const ending = new AbortController();
    const waiting = gates.waitForRelease("a", ending.signal);
    ending.abort(new Error("stopping"));
    await expect(waiting).rejects.toThrow("stopping");
  });
});
