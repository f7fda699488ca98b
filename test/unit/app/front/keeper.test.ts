import { describe, expect, it } from "vitest";
import { createKeeper } from "../../../../src/app/front/keeper.ts";
import type { ProcessNeeds } from "../../../../src/app/front/organisation-process.ts";
import { createQueue } from "../../../../src/app/front/start-queue.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const AT = { host: "127.0.0.1", port: 1_234 };
const about = { host: "a.example.org", dataDir: "a", publicUrl: "https://a.example.org", config: undefined, env: {} };

function scene() {
  const clock = createFakeClock();
  const queue = createQueue(clock, 2, 30_000);
  /** Every process that was started, in order. */
  const started: (ProcessNeeds & { isStopped: boolean })[] = [];
  const pauses: number[] = [];
  const keeper = (name: string) =>
    createKeeper({
      ...{ ...about, name, clock, queue, onLog: () => undefined },
      onCrash: (_reason, againInMs) => pauses.push(againInMs),
      start(needs) {
        const own = { ...needs, isStopped: false };
        started.push(own);
        const stop = (): void => {
          own.isStopped = true;
        };
        return { pid: started.length, announce: async () => undefined, gone: () => undefined, stop };
      },
    });
  const last = () => started[started.length - 1] as ProcessNeeds & { isStopped: boolean };
  return { clock, started, pauses, keeper, last };
}

describe("the keeper of an organisation's process", () => {
  it("starts it again, after ever longer pauses, until it has run well", async () => {
    const { clock, pauses, keeper, last, started } = scene();
    const own = keeper("a");
    await clock.advance(0);
    for (let times = 0; times < 8; times += 1) {
      last().onEnd("ended with code 1: no");
      expect(own.report()).toMatchObject({ state: "ended", restarts: times + 1, reason: "ended with code 1: no" });
      await clock.advance(30_000);
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    const work = { doing: "brings-rows", done: 2_000, of: 10_000 } as const;
    last().onWork(work);
    expect(own.report()).toMatchObject({ state: "starting", work });
    last().onTurn(AT);
    expect([own.report().state, own.report().work, own.target()?.at]).toEqual(["acts", null, AT]);
    await clock.advance(60_001);
    last().onEnd("ended by SIGKILL");
    expect([own.target(), pauses.at(-1), started.length]).toEqual([null, 500, 9]);
    await clock.advance(500);
    expect(started.length).toBe(10);
    last().onTurn(null);
    expect(own.report()).toMatchObject({ state: "stands-by", restarts: 9 });
  });

  it("lets two begin at once, and nobody waits for one that takes long or fails", async () => {
    const { clock, keeper, started } = scene();
    const all = ["a", "b", "c", "d", "e"].map(keeper);
    await clock.advance(0);
    const begun = () => started.map(({ name }) => name).join("");
    expect(begun()).toBe("ab");
    started[0]?.onTurn(AT);
    await clock.advance(0);
    expect([begun(), all[3]?.report().state]).toEqual(["abc", "queued"]);
    started[1]?.onEnd("ended with code 3");
    await clock.advance(0);
    expect(begun()).toBe("abcd");
    // The others hang.
    await clock.advance(30_000);
    expect(begun()).toBe("abcdeb");
  });

  it("starts nothing more once it is stopped, and is done when the process is gone", async () => {
    const { clock, keeper, last, started } = scene();
    const own = keeper("a");
    await clock.advance(0);
    let isDone = false;
    const stopped = own.stop().then(() => {
      isDone = true;
    });
    await clock.advance(1_000);
    expect([last().isStopped, isDone]).toEqual([true, false]);
    last().onEnd("ended with code 0");
    await stopped;
    const crashed = keeper("b");
    await clock.advance(0);
    last().onEnd("ended with code 1");
    await crashed.stop();
    const queued = keeper("c");
    await queued.stop();
    await clock.advance(120_000);
    expect(started.length).toBe(2);
  });
});
