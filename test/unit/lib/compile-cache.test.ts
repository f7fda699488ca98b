import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { REPOSITORY_ROOT } from "../../support/carillon-process.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

function run(env: NodeJS.ProcessEnv): { status: number | null; stderr: string } {
  return spawnSync(process.execPath, [join(REPOSITORY_ROOT, "dist/src/main.js"), "--version"], {
    env,
    encoding: "utf8",
    timeout: 60_000,
  });
}

describe("compile cache", () => {
  it("uses the cache folder of the service, else of the user", () => {
    const [service, user] = [makeTempDir(), makeTempDir()];
    expect(run({ CACHE_DIRECTORY: service, HOME: user }).status).toBe(0);
    expect(readdirSync(service)).toEqual(["code"]);
    expect(readdirSync(user)).toEqual([]);
    expect(run({ HOME: user }).status).toBe(0);
    expect(readdirSync(join(user, ".cache/carillon/code"), { recursive: true }).length).toBeGreaterThan(5);
  });

  it("is emptied when many versions have accumulated", () => {
    const folder = makeTempDir();
    mkdirSync(join(folder, "code/old"), { recursive: true });
    for (let at = 0; at < 1_001; at++) writeFileSync(join(folder, "code/old", String(at)), "");
    run({ CACHE_DIRECTORY: folder });
    expect(readdirSync(join(folder, "code"))).not.toContain("old");
  });

  it("is disabled without a folder", () => {
    const file = join(makeTempDir(), "file");
    writeFileSync(file, "");
    for (const env of [
      {},
      { HOME: file },
      { HOME: "/proc" },
      { HOME: join(file, "none") },
      { CACHE_DIRECTORY: "/proc/none" },
    ]) {
      expect(run(env)).toMatchObject({ status: 0, stderr: "" });
    }
  });
});
