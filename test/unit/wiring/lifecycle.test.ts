import { expect, it } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { startInOrder, stopInReverse } from "../../../src/wiring/lifecycle.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { waitForAssertions } from "../../support/timeouts.ts";

it("stops parts in reverse within 5 s, even if some fail or hang", async () => {
  const clock = createFakeClock();
  const ended: string[] = [];
  const part = (name: string, stop: () => unknown = () => undefined) => ({
    name,
    stop: () => {
      ended.push(name);
      return stop();
    },
  });
  const done = stopInReverse(
    [
      part("data"),
      part("slow", () => new Promise(() => undefined)),
      part("broken", () => {
        throw new TypeError("broken");
      }),
      part("rejected", () => Promise.reject(new TypeError("broken"))),
      part("server"),
    ],
    clock,
    silentLog,
  );
  await clock.advance(5_000);
  await done;
  expect(ended).toEqual(["server", "rejected", "broken", "slow", "data"]);
  expect(clock.pendingTimers()).toBe(0);
});

it("starts modules in order, those of an inner list together", async () => {
  const seen: string[] = [];
  const gates: (() => void)[] = [];
  const module = (name: string, start: () => unknown) => ({
    name,
    start: () => {
      seen.push(name);
      return start();
    },
  });
  const waits = (): Promise<void> => new Promise((resolve) => void gates.push(resolve));
  const started = startInOrder([
    module("data", () => undefined),
    [module("network", waits), module("plugins", waits)],
    { name: "only stopped", stop: () => undefined },
    module("bells", () => undefined),
  ]);
  await waitForAssertions(() => expect(gates).toHaveLength(2));
  expect(seen).toEqual(["data", "network", "plugins"]);
  for (const open of gates) open();
  await started;
  expect(seen.at(-1)).toBe("bells");
});

it("starts nothing behind a module that fails", async () => {
  const seen: string[] = [];
  const order = [
    { name: "data", start: () => Promise.reject(new TypeError("broken")) },
    { name: "bells", start: () => void seen.push("bells") },
  ];
  await expect(startInOrder(order)).rejects.toThrow("broken");
  expect(seen).toEqual([]);
});
