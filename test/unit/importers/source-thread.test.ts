import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import type { SourceFindings, SourceRequest } from "../../../src/importers/source-messages.ts";
import { readSourceInThread, type SourceThreadDeps } from "../../../src/importers/source-thread.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { MACHINE_FOLDER } from "../../../src/time-zones/zone-data.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

function requestFor(text: string): SourceRequest {
  const path = join(makeTempDir(), "people.csv");
  writeFileSync(path, text);
  return {
    kind: "start",
    definition: { type: "table", path: "people.csv", fileName: null, mapping: null, ...FORMAT },
    ...{ source: { path }, isConfirmed: false, hasFormerLists: false, changes: [], fileStates: new Map() },
    ...{ now: 0, timeZone: "Europe/Berlin", zoneFolders: { folder: MACHINE_FOLDER, installedFolder: null } },
  };
}
const FORMAT = { delimiter: null, encoding: null, quote: null } as const;

function depsWith(given: Partial<SourceThreadDeps> = {}): SourceThreadDeps & { findings: SourceFindings[] } {
  const findings: SourceFindings[] = [];
  return {
    ...{ clock: systemClock, signal: new AbortController().signal, records: () => [], onLines: () => undefined },
    onFindings: (found) => void findings.push(found),
    ...{ findings, ...given },
  };
}

const ENDLESS = "require('node:worker_threads').parentPort.on('message', () => { for (;;); })";
const endless = (): Worker => new Worker(ENDLESS, { eval: true });

/** Counts in `released` how often it is asked to release its memory, and answers if `answers`. */
const counting = (released: Int32Array, answers: boolean) => (): Worker =>
  new Worker(COUNTING, { eval: true, workerData: { released, answers } });
const COUNTING = `
const { parentPort, workerData } = require("node:worker_threads");
const findings = { linesRead: 0, linesWithErrors: 0, errors: [], warnings: [], files: [] };
parentPort.on("message", ({ kind }) => {
  if (kind === "start") parentPort.postMessage({ kind: "read", people: 0, namesAllLists: true, findings });
  else if (kind === "slice") parentPort.postMessage({ kind: "slice", items: [] });
  else {
    Atomics.add(workerData.released, 0, 1);
    if (workerData.answers) parentPort.postMessage({ kind: "released" });
  }
});`;

describe("a source that is read in a thread", () => {
  it("hands over all people in slices, and the lists that somebody is on", async () => {
    const lines = Array.from({ length: 1_001 }, (_, at) => `k${at},Person ${at},p${at}@example.org,All;List ${at % 3}`);
    const deps = depsWith();
    const source = await readSourceInThread(requestFor(["key,name,email,lists", ...lines].join("\n")), deps);
    const slices: number[] = [];
    const keys = new Set<string>();
    for await (const people of source.people()) {
      slices.push(people.length);
      for (const { key } of people) keys.add(key);
    }
    await source.close();
    expect([source.peopleCount, slices, keys.size]).toEqual([1_001, [250, 250, 250, 250, 1], 1_001]);
    expect([...source.lists.values()].map(({ name, isUsed }) => [name, isUsed])).toEqual([
      ["All", true],
      ["List 0", true],
      ["List 1", true],
      ["List 2", true],
    ]);
    expect(deps.findings.map(({ linesRead, linesWithErrors }) => [linesRead, linesWithErrors])).toEqual([[1_001, 0]]);
  });

  it("fails in words if it cannot be read", async () => {
    const read = readSourceInThread(requestFor("a,b\n1,2\n"), depsWith());
    await expect(read).rejects.toMatchObject({ state: "failed", message: /Missing column email, name/ });
  });

  it("is ended when it makes no progress", async () => {
    const clock = createFakeClock();
    const read = readSourceInThread(requestFor("email,name\n"), depsWith({ clock, spawn: endless }));
    const refused = expect(read).rejects.toThrow("Reading the source made no progress for 120 s");
    await clock.advance(120_000);
    await refused;
  });

  it("releases its memory before it ends", async () => {
    const released = new Int32Array(new SharedArrayBuffer(4));
    const source = await readSourceInThread(requestFor(""), depsWith({ spawn: counting(released, true) }));
    await source.close();
    await source.close();
    expect(released[0]).toBe(1);
  });

  it("ends also if it does not answer that it released its memory", async () => {
    const clock = createFakeClock();
    const released = new Int32Array(new SharedArrayBuffer(4));
    const deps = depsWith({ clock, spawn: counting(released, false) });
    const source = await readSourceInThread(requestFor(""), deps);
    const closed = source.close();
    await clock.advance(120_000);
    await closed;
    await expect(source.people()[Symbol.asyncIterator]().next()).rejects.toThrow("made no progress");
  });

  it("is ended with the appliance", async () => {
    const stopping = new AbortController();
    const deps = depsWith({ signal: stopping.signal, spawn: endless });
    const read = readSourceInThread(requestFor("email,name\n"), deps);
    const refused = expect(read).rejects.toThrow("aborted");
    stopping.abort();
    await refused;
  });
});
