import { execFile } from "node:child_process";
import { expect } from "vitest";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { externalProgram } from "../support/external-programs.ts";

const TIMEOUT_MS = 120_000;

/** Runs scenes of the harness in network namespaces of its own; resolves with its output and exit code. */
function playScenes(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const program = ["--disable-warning=ExperimentalWarning", "test/faults/main.ts", "network", ...args];
    execFile(process.execPath, program, { cwd: REPOSITORY_ROOT, timeout: TIMEOUT_MS }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: `${stdout}${stderr}` }),
    );
  });
}

externalProgram("ip").describe("a network that changes under the daemon", () => {
  externalProgram("ip").it(
    "is followed: an address that comes late and one that changes",
    async () => {
      const { code, output } = await playScenes("2");
      expect([code, output]).toEqual([0, expect.stringContaining('"scenes":2')]);
    },
    TIMEOUT_MS,
  );

  externalProgram("nft").it(
    "gets audio marked EF and call signalling marked CS3",
    async () => {
      const { code, output } = await playScenes("9");
      expect([code, output]).toEqual([0, expect.stringContaining('"scenes":2')]);
    },
    TIMEOUT_MS,
  );
});
