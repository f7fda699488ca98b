import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "vitest";
import { REPOSITORY_ROOT } from "../../support/carillon-process.ts";
import { externalProgram } from "../../support/external-programs.ts";

const systemd = externalProgram("systemd-analyze");

for (const unit of ["carillon.service", "carillon-hub.service", "carillon-upgrade.service"]) {
  systemd.it(`gives ${unit} no more than it needs (exposure at most 3.0)`, () => {
    const path = join(REPOSITORY_ROOT, "systemd", unit);
    // Throws for a unit that is more exposed.
    const args = ["security", "--offline=true", "--threshold=30", "--no-pager", path];
    expect(execFileSync("systemd-analyze", args, { encoding: "utf8" })).toContain("Overall exposure level");
  });
}
