import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { systemClock, yieldToEventLoop } from "../../../src/lib/clock.ts";
import { markWork, runAs, takeLongestWork, watchCurrentWork } from "../../../src/lib/current-work.ts";

/** Keeps the event loop busy. */
function block(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

describe("current work", () => {
  it("names the work that took longest, however requests take turns", async () => {
    const work = async (ms: number): Promise<void> => {
      for (let turn = 0; turn < 3; turn++) {
        await yieldToEventLoop(systemClock);
        block(ms);
      }
    };
    takeLongestWork();
    await Promise.all([runAs("GET v1/short", () => work(2)), runAs("GET v1/long", () => work(20))]);
    expect(takeLongestWork()).toBe("GET v1/long");
  });

  it("names who set a timer", async () => {
    let found = "";
    await new Promise<void>((resolve) => {
      runAs("bells", () => {
        systemClock.after(1, () => {
          takeLongestWork();
          block(20);
          found = takeLongestWork();
          resolve();
        });
      });
    });
    expect(found).toBe("bells");
  });

  it("names work without a name as other, also after work with one", async () => {
    runAs("webhooks", () => block(1));
    await pause(1);
    markWork();
    takeLongestWork();
    block(10);
    expect(takeLongestWork()).toBe("other");
  });

  it("reports each change of work", () => {
    const seen: string[] = [];
    watchCurrentWork((work) => void seen.push(work));
    runAs("areas", () => runAs("inputs", markWork));
    watchCurrentWork(null);
    runAs("identity", markWork);
    expect(seen).toEqual(["areas", "inputs"]);
  });
});
