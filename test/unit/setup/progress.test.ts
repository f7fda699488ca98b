import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../../.ci/setup/tree.mjs";
import { makeTempDir } from "../../support/temp-dir.ts";

/** What a process writes to stderr whose work blocks it for three seconds. */
function report(terminal: boolean, everyMs: number): string {
  const folder = makeTempDir();
  writeFileSync(join(folder, "one"), "");
  const task = { what: "unpacking", parts: { folder, files: ["one", "two"], unit: "files" } };
  const program = `
    import { withProgress } from ${JSON.stringify(join(root, ".ci/setup/progress.mjs"))};
    const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
    const result = withProgress(${JSON.stringify(task)}, wait, { terminal: ${terminal}, everyMs: ${everyMs} });
    process.stderr.write(result + "\\n");`;
  writeFileSync(join(folder, "program.mjs"), program);
  return spawnSync(process.execPath, [join(folder, "program.mjs")], { encoding: "utf8" }).stderr;
}

describe("progress of the set-up", () => {
  it("writes a line at a time to a log, while the work blocks", () => {
    expect(report(false, 50)).toMatch(/^(set-up: unpacking: 1 of 2 files, \d s\n)+timed-out\n$/);
  });

  it("rewrites one line of a terminal, and clears it", () => {
    const text = report(true, 50);
    expect(text).toContain("\r\x1b[2Kset-up: unpacking: 1 of 2 files, 0 s");
    expect(text.endsWith("\r\x1b[2Ktimed-out\n")).toBe(true);
  });

  it("prints nothing for quick steps", () => {
    expect(report(false, 60_000)).toBe("timed-out\n");
  });
});
