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
  const telling = createStartupStatusReporter({
    ...{ clock, terminal: { out: (line) => lines.push(line), env: { WATCHDOG_USEC: "30000000" } } },
    log: { info: (_: object, words: string) => logged.push(words) } as never,
    notify: (...words) => void told.push(words),
  });
  return { clock, told, lines, logged, telling };
}

describe("a node of a cloud that is not ready yet", () => {
  it("asks the service manager for time as long as it gets on, says how far it is, and never that it is ready", async () => {
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
    expect(told.slice(2)).toEqual([[more, "STATUS=Begins to act."]]);
  });

  it("is told to be ready and alive once it stands by, also while it takes over, until the daemon speaks for itself", async () => {
    const { clock, told, lines, telling } = scene();
    telling.report({ doing: "stands-by" });
    expect(lines).toEqual([JSON.stringify({ event: "standby", pid: process.pid })]);
    await clock.advance(10_000);
    telling.report({ doing: "compares", done: 1, of: 2 });
    await clock.advance(1_000);
    telling.report({ doing: "compares", done: 2, of: 2 });
    telling.report({ doing: "begins" });
    const compared = ["STATUS=Verifying the replica against the database: 2 of 2."];
    const ready = ["READY=1", "STATUS=Stands by."];
    expect(told).toEqual([ready, ["WATCHDOG=1"], compared, ["STATUS=Begins to act."]]);
    telling.stop();
    await clock.advance(60_000);
    expect(told.length).toBe(4);
  });

  it("is understood by who started it, and nothing else is taken for it", () => {
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
