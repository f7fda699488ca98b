import { describe, expect, it } from "vitest";
import { createStartupStatusReporter } from "../../../src/cli/startup-status-reporter.ts";
import { type NodeProgress, parseProgressLine, progressLine } from "../../../src/wiring/cloud-node/node-status.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const rows = (done: number): NodeProgress => ({ doing: "brings-rows", done, of: 9 });
const WORDS = "Uploading rows to the database";

function scene() {
  const clock = createFakeClock();
  const told: string[][] = [];
  const lines: string[] = [];
  const logged: string[] = [];
  const feeds: string[] = [];
  const telling = createStartupStatusReporter({
    ...{ clock, terminal: { out: (line) => lines.push(line), env: { WATCHDOG_USEC: "30000000" } } },
    log: { info: (_: object, words: string) => logged.push(words) } as never,
    notify: (...words) => void told.push(words),
    startFeed: () => {
      feeds.push("started");
      return { allow: () => undefined, stop: () => void feeds.push("stopped") };
    },
  });
  return { clock, told, feeds, lines, logged, telling };
}

describe("startup status of a cloud node", () => {
  it("extends the start timeout while it makes progress, reports progress, and never sends READY", async () => {
    const { clock, told, lines, logged, telling } = scene();
    for (let done = 0; done < 9; done += 1) {
      telling.report(rows(done));
      await clock.advance(1_000);
    }
    const more = "EXTEND_TIMEOUT_USEC=120000000";
    expect(told).toEqual([
      [more, `STATUS=${WORDS}: 1 of 9.`],
      [more, `STATUS=${WORDS}: 6 of 9.`],
    ]);
    expect(lines.map(parseProgressLine)).toEqual([rows(1), rows(6)]);
    expect(logged).toEqual([`${WORDS}: 1 of 9.`, `${WORDS}: 6 of 9.`]);
    // It hangs.
    await clock.advance(600_000);
    expect(told.length).toBe(2);
    telling.report({ doing: "begins" });
    expect(told.slice(2)).toEqual([[more, "STATUS=Becoming active."]]);
  });

  it("sends READY and WATCHDOG as a standby, also while it takes over, until the daemon reports itself", async () => {
    const { clock, told, feeds, lines, telling } = scene();
    telling.report({ doing: "stands-by" });
    expect(lines).toEqual([JSON.stringify({ event: "standby", pid: process.pid })]);
    await clock.advance(10_000);
    telling.report({ doing: "compares", done: 1, of: 2 });
    await clock.advance(1_000);
    telling.report({ doing: "compares", done: 2, of: 2 });
    telling.report({ doing: "begins" });
    const compared = ["STATUS=Verifying the replica against the database: 2 of 2."];
    const ready = ["READY=1", "STATUS=Standby."];
    expect(told).toEqual([ready, compared, ["STATUS=Becoming active."]]);
    expect(feeds).toEqual(["started"]);
    telling.stop();
    await clock.advance(60_000);
    expect([told.length, feeds]).toEqual([3, ["started", "stopped"]]);
  });

  it("prints progress lines that the gateway parses, and ignores all others", () => {
    const work: NodeProgress = { doing: "takes-files", done: 0, of: 12 };
    expect(parseProgressLine(progressLine(work, 7))).toEqual(work);
    for (const line of [
      "",
      '{"event":"standby","pid":1}',
      '{"event":"starting","doing":"naps","done":1,"of":2,"pid":1}',
    ])
      expect(parseProgressLine(line)).toBeNull();
  });
});
