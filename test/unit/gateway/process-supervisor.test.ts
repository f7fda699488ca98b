import { describe, expect, it } from "vitest";
import { createTenantSupervisor } from "../../../src/gateway/process-supervisor.ts";
import { createStartQueue } from "../../../src/gateway/start-queue.ts";
import type { TenantProcessDeps } from "../../../src/gateway/tenant-process.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const AT = { host: "127.0.0.1", port: 1_234 };
const about = { host: "a.example.org", dataDir: "a", publicUrl: "https://a.example.org", config: undefined, env: {} };

function scene() {
  const clock = createFakeClock();
  const queue = createStartQueue(clock, 2, 30_000);
  /** Every process that was started, in order. */
  const started: (TenantProcessDeps & { isStopped: boolean })[] = [];
  const pauses: number[] = [];
  const keeper = (name: string) =>
    createTenantSupervisor({
      ...{ ...about, name, clock, queue, onLog: () => undefined },
      onCrash: (_reason, againInMs) => pauses.push(againInMs),
      start(needs) {
        const own = { ...needs, isStopped: false };
        started.push(own);
        const stop = (): void => {
          own.isStopped = true;
        };
        return { pid: started.length, announceClient: async () => undefined, releaseClient: () => undefined, stop };
      },
    });
  const last = () => started[started.length - 1] as TenantProcessDeps & { isStopped: boolean };
  return { clock, started, pauses, keeper, last };
}

describe("the keeper of an organisation's process", () => {
  it("starts it again, after ever longer pauses, until it has run well", async () => {
    const { clock, pauses, keeper, last, started } = scene();
    const own = keeper("a");
    await clock.advance(0);
    for (let times = 0; times < 8; times += 1) {
      last().onEnd("ended with code 1: no");
      expect(own.status()).toMatchObject({ state: "ended", restarts: times + 1, reason: "ended with code 1: no" });
      await clock.advance(30_000);
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    const work = { doing: "brings-rows", done: 2_000, of: 10_000 } as const;
    last().onProgress(work);
    expect(own.status()).toMatchObject({ state: "starting", work });
    last().onRoleChange(AT);
    expect([own.status().state, own.status().work, own.target()?.at]).toEqual(["acts", null, AT]);
    await clock.advance(60_001);
    last().onEnd("ended by SIGKILL");
    expect([own.target(), pauses.at(-1), started.length]).toEqual([null, 500, 9]);
    await clock.advance(500);
    expect(started.length).toBe(10);
    last().onRoleChange(null);
    expect(own.status()).toMatchObject({ state: "stands-by", restarts: 9 });
  });

  it("lets two begin at once, and nobody waits for one that takes long or fails", async () => {
    const { clock, keeper, started } = scene();
    const all = ["a", "b", "c", "d", "e"].map(keeper);
    await clock.advance(0);
    const begun = () => started.map(({ name }) => name).join("");
    expect(begun()).toBe("ab");
    started[0]?.onRoleChange(AT);
    await clock.advance(0);
    expect([begun(), all[3]?.status().state]).toEqual(["abc", "queued"]);
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
