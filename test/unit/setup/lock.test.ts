import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withLock } from "../../../.ci/setup/lock.mjs";
import { root } from "../../../.ci/setup/tree.mjs";
import { makeTempDir } from "../../support/temp-dir.ts";

/** The id of a process that has ended. */
function deadPid(): number {
  return spawnSync(process.execPath, ["-e", ""]).pid;
}

function leaveLock(folder: string, pid: number): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "holder"), `${pid} ${folder}.gone`);
}

const CONTENDER = `
  const { withLock } = await import(process.argv[1]);
  const { appendFileSync } = await import("node:fs");
  withLock(process.argv[2], () => {
    appendFileSync(process.argv[3], "in " + process.pid + "\\n");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    appendFileSync(process.argv[3], "out " + process.pid + "\\n");
  });`;

describe("set-up lock", () => {
  it("lets one process in at a time, a dead holder notwithstanding", async () => {
    const folder = makeTempDir();
    const [lock, log] = [join(folder, "lock"), join(folder, "log")];
    leaveLock(lock, deadPid());
    const args = ["--input-type=module", "-e", CONTENDER, join(root, ".ci/setup/lock.mjs"), lock, log];
    const children = Array.from({ length: 5 }, () => spawn(process.execPath, args, { stdio: "ignore" }));
    const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0]));
    expect(codes).toEqual([0, 0, 0, 0, 0]);
    const lines = readFileSync(log, "utf8").trimEnd().split("\n");
    expect(lines).toHaveLength(10);
    for (let index = 0; index < lines.length; index += 2) {
      expect(lines[index + 1]).toBe(lines[index]?.replace("in", "out"));
    }
    expect(existsSync(lock)).toBe(false);
  });

  it("opens again when the work throws", () => {
    const lock = join(makeTempDir(), "lock");
    expect(() =>
      withLock(lock, () => {
        throw new RangeError("work");
      }),
    ).toThrow("work");
    expect(withLock(lock, () => existsSync(lock))).toBe(true);
    expect(existsSync(lock)).toBe(false);
  });
});
