import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { REPOSITORY_ROOT } from "../../support/carillon-process.ts";

const hasAnalyze = spawnSync("systemd-analyze", ["--version"]).status === 0;

it.skipIf(!hasAnalyze).each(["carillon.service", "carillon-hub.service", "carillon-upgrade.service"])(
  "gives %s no more than it needs (exposure at most 3.0)",
  (unit) => {
    const path = join(REPOSITORY_ROOT, "systemd", unit);
    // Throws for a unit that is more exposed.
    const args = ["security", "--offline=true", "--threshold=30", "--no-pager", path];
    expect(execFileSync("systemd-analyze", args, { encoding: "utf8" })).toContain("Overall exposure level");
  },
);
