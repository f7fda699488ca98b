import { expect, it } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { stopInReverse } from "../../../src/wiring/shutdown.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

it("ends parts in reverse, past those that fail or hang, within 5 s", async () => {
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
