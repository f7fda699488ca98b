import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MAX_CLOUD_CONNECTIONS } from "../../../src/http/http-server.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createDaemonRuns, DAEMON_RUNS } from "../../../src/ops/daemon-runs.ts";
import { createWatchdog, notifyReadyAndWatchdog } from "../../../src/ops/systemd-watchdog.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { externalProgram } from "../../support/external-programs.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

describe("the watchdog", () => {
  function scene() {
    const clock = createFakeClock();
    const told: string[] = [];
    let stuck = { sending: 0, bells: 0 };
    let answer: (fail?: Error) => void = () => undefined;
    let holds = false;
    let silent = false;
    const store = {
      write: () =>
        holds
          ? new Promise((done, fail) => (answer = (error) => (error ? fail(error) : done(null))))
          : Promise.resolve(),
      one: () => stuck,
    } as unknown as Pick<Store, "write" | "one">;
    let isAllowed = true;
    const watchdog = createWatchdog({
      ...{ store, clock, log: silentLog, watchdogTimeoutMs: 3_000, isSilent: () => silent },
      tell: (...words) => void told.push(...words),
      startFeed: () => ({
        allow(allowed) {
          isAllowed = allowed;
        },
        stop: () => undefined,
      }),
    });
    watchdog.ready();
    expect(told).toEqual(["READY=1", "STATUS=Messages can be sent."]);
    /** Whether WATCHDOG is sent after this time. */
    const isFed = async (ms: number): Promise<boolean> => {
      await clock.advance(ms);
      return isAllowed;
    };
    return {
      isFed,
      hold: (on: boolean) => (holds = on),
      answer: (error?: Error) => answer(error),
      stick: (now: typeof stuck) => (stuck = now),
      hush: (on: boolean) => (silent = on),
    };
  }

  it("sends WATCHDOG while the database responds, also when the disk is full, and stops once it hangs", async () => {
    const { isFed, hold, answer } = scene();
    expect(await isFed(3_000)).toBe(true);
    hold(true);
    // A slow disk takes seconds for one write.
    expect(await isFed(14_000)).toBe(true);
    expect(await isFed(4_000)).toBe(false);
    answer(Object.assign(new Error("full"), { type: "storage-full" }));
    expect(await isFed(1)).toBe(true);
    answer(new Error("broken"));
    hold(false);
    expect(await isFed(3_000)).toBe(true);
  });

  it("stops sending WATCHDOG when the database cannot be written", async () => {
    const { isFed, hold, answer } = scene();
    hold(true);
    await isFed(1_000);
    answer(new Error("broken"));
    expect(await isFed(1)).toBe(false);
    hold(false);
    expect(await isFed(1_000)).toBe(true);
  });

  it("stops sending WATCHDOG if messages or bells are stuck or probes fail, but not right after a start", async () => {
    for (const stuck of [
      { sending: 1, bells: 0 },
      { sending: 0, bells: 1 },
    ]) {
      const { isFed, stick, hush } = scene();
      stick(stuck);
      expect(await isFed(3_000)).toBe(true);
      expect(await isFed(600_000)).toBe(false);
      stick({ sending: 0, bells: 0 });
      expect(await isFed(3_000)).toBe(true);
      hush(true);
      expect(await isFed(3_000)).toBe(false);
      hush(false);
    }
  });
});

describe("a standby node", () => {
  it("sends READY, and WATCHDOG until it is cancelled", () => {
    const told: string[][] = [];
    const feeds: string[] = [];
    const options = {
      ...{ env: { WATCHDOG_USEC: "30000000" }, clock: createFakeClock(), log: silentLog },
      notify: (...words: string[]): void => void told.push(words),
      startFeed: (timeoutMs: number) => {
        feeds.push(`every ${timeoutMs} ms`);
        return { allow: () => undefined, stop: () => void feeds.push("stopped") };
      },
    };
    const standby = notifyReadyAndWatchdog(options, "Stands by.");
    expect([told, feeds]).toEqual([[["READY=1", "STATUS=Stands by."]], ["every 30000 ms"]]);
    standby.cancel();
    expect(feeds).toEqual(["every 30000 ms", "stopped"]);
    notifyReadyAndWatchdog({ ...options, env: {} }, "Stands by.").cancel();
    expect(feeds).toHaveLength(2);
  });
});

describe("runs", () => {
  it("are recorded with their ends, and an unclean end is reported for an hour", async () => {
    const [dataDir, clock] = [makeTempDir(), createFakeClock()];
    const events = createEvents((error) => expect.fail(String(error)));
    const onFatal = (): void => undefined;
    const options = { dataDir, catalogue: createCatalogue([]), clock, events, log: silentLog, onFatal };
    const store = openStore({ ...options, inMemory: true, tables: [DAEMON_RUNS] });
    const run = () => createDaemonRuns({ store, clock, dataDir, version: "1.2.3" });
    const start = async () => {
      const runs = run();
      const started = runs.start();
      await clock.advance(0);
      return { runs, how: await started };
    };
    const first = await start();
    expect([first.how, first.runs.healthReasons()]).toEqual([null, []]);
    const stopped = first.runs.stop();
    await clock.advance(0);
    await stopped;
    expect((await start()).how).toBeNull();
    writeFileSync(join(dataDir, "last-end"), "watchdog killed KILL\n");
    const third = await start();
    expect(third.how).toBe("watchdog");
    expect(third.runs.healthReasons()).toMatchObject([
      { level: "yellow", reason: expect.stringContaining("(watchdog)") },
    ]);
    expect((await start()).how).toBe("unknown");
    await clock.advance(3_600_001);
    expect(third.runs.healthReasons()).toEqual([]);
    expect(third.runs.newest(9).map(({ ending }) => ending)).toEqual([null, "unknown", "watchdog", "stopped"]);
    await store.close();
  });
});

externalProgram("systemd-analyze").describe("the units of systemd", () => {
  it.each(["carillon.service", "carillon-hub.service"])("expose %s no more than 1.5", (unit) => {
    const args = ["security", "--offline=true", "--threshold=15", "--no-pager", `systemd/${unit}`];
    expect(execFileSync("systemd-analyze", args, { encoding: "utf8" })).toMatch(
      new RegExp(`level for ${unit}: 1\\.[0-5] OK`),
    );
  });

  it("have only directives that systemd knows", () => {
    const units = readdirSync("systemd")
      .filter((name) => !name.endsWith(".nft"))
      .sort();
    expect(units).toEqual([
      "carillon-backup.service",
      "carillon-backup.timer",
      "carillon-hub.service",
      "carillon-marking.service",
      "carillon-upgrade.path",
      "carillon-upgrade.service",
      "carillon.service",
    ]);
    // What is not installed on this machine, such as the program, is none of the units' faults.
    const { stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...units.map((unit) => `systemd/${unit}`)], {
      encoding: "utf8",
    });
    expect(stderr.split("\n").filter((line) => /systemd\/carillon\S*:\d+:|lvalue|Unknown/.test(line))).toEqual([]);
  });

  it("let the audio thread raise its priority", () => {
    const unit = readFileSync("systemd/carillon.service", "utf8");
    const filters = [...unit.matchAll(/^SystemCallFilter=(.*)$/gm)].map(([, list = ""]) => list);
    const removed = filters.findIndex((list) => /^~.*@resources/.test(list));
    // A later entry adds to the list again.
    expect(filters.findIndex((list) => list.split(" ").includes("setpriority"))).toBeGreaterThan(removed);
    expect(unit).toMatch(/^LimitNICE=-20$/m);
  });

  it("give the hub enough time and memory", () => {
    const hub = readFileSync("systemd/carillon-hub.service", "utf8");
    const number = (name: string): number => Number(new RegExp(`^${name}=(\\d+)$`, "m").exec(hub)?.[1]);
    // Each of all organisations' processes has 15 s; each caller of theirs is two connections.
    expect(number("TimeoutStopSec")).toBeGreaterThanOrEqual(20);
    expect(number("LimitNOFILE")).toBeGreaterThan(2 * (2 * MAX_CLOUD_CONNECTIONS + 4_000));
    expect(hub).not.toMatch(/^(Requires|BindsTo|Requisite)=.*postgresql/m);
  });
});
