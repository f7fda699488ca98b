import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { installPeers, peers, present, remedy, strict } from "../../../.ci/setup/debian.mjs";
import { makeTempDir } from "../../support/temp-dir.ts";

/** A PATH of one folder with an apt-get that writes down its calls and, with `works`, brings every peer. */
function stubPath(works: boolean): { calls(): string } {
  const folder = makeTempDir();
  mkdirSync(join(folder, "bin"));
  const brings = works
    ? peers().map(
        ({ command }) => `[ $1 = install ] && : > ${folder}/bin/${command} && /bin/chmod +x ${folder}/bin/${command}`,
      )
    : [];
  writeFileSync(
    join(folder, "bin/apt-get"),
    ["#!/bin/sh", `echo "$@" >> ${folder}/calls`, ...brings, "exit 0\n"].join("\n"),
  );
  chmodSync(join(folder, "bin/apt-get"), 0o755);
  vi.stubEnv("PATH", join(folder, "bin"));
  return { calls: () => readFileSync(join(folder, "calls"), "utf8") };
}

describe("programs for the tests", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  it("are listed with package and command", () => {
    expect(peers()).toContainEqual({ package: "ffmpeg", command: "ffmpeg" });
  });

  it("are found on the PATH if executable", () => {
    const folder = makeTempDir();
    symlinkSync(process.execPath, join(folder, "runs"));
    writeFileSync(join(folder, "does-not"), "");
    vi.stubEnv("PATH", `/nowhere:${folder}`);
    expect(["runs", "does-not", "absent"].map(present)).toEqual([true, false, false]);
  });

  it("are installed by root after an update, without waiting for another apt for ever", () => {
    const apt = stubPath(true);
    vi.spyOn(process, "getuid").mockReturnValue(0);
    expect(installPeers()).toEqual([]);
    const [update, install] = apt.calls().split("\n");
    expect(update).toBe("update -oDPkg::Lock::Timeout=400");
    expect(install).toMatch(/^install -y --no-install-recommends -oDPkg::Lock::Timeout=400 .*ffmpeg/);
  });

  it("are reported as missing if apt could not install them, and to users without root", () => {
    stubPath(false);
    const uid = vi.spyOn(process, "getuid").mockReturnValue(0);
    expect(installPeers()).toEqual(peers());
    uid.mockReturnValue(1_000);
    expect(installPeers()).toEqual(peers());
    expect(remedy(peers())).toMatch(/^apt-get install .*ffmpeg/);
  });

  it("are required under CI only", () => {
    for (const [value, expected] of [
      ["true", true],
      ["1", true],
      ["false", false],
      ["0", false],
      ["", false],
    ] as const) {
      vi.stubEnv("CI", value);
      expect(strict()).toBe(expected);
    }
  });
});
