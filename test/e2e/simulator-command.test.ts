import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REPOSITORY_ROOT, runCarillon } from "../support/carillon-process.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

const MAIN = join(REPOSITORY_ROOT, "dist/src/main.js");

describe("the campus command", () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startTestDaemon();
  });
  afterAll(() => daemon.stop());

  /** Runs a campus until it is ready, asks it to end, and gives its lines. */
  async function campus(...args: string[]): Promise<{ code: number | null; lines: string[] }> {
    const child = spawn(process.execPath, [MAIN, "campus", ...args], { stdio: ["ignore", "pipe", "ignore"] });
    const lines: string[] = [];
    const ended = once(child, "close") as Promise<[number | null]>;
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (lines.push(line) === 1) child.kill("SIGTERM");
    });
    return { code: (await ended)[0], lines };
  }

  it("prints its devices, and at the end what was played", async () => {
    const { code, lines } = await campus("--phones", "3", "--zones", "2", "--no-rtp", "1", "--seed", "4");
    expect([code, lines.length]).toEqual([0, 2]);
    const ready = JSON.parse(lines[0] as string) as { event: string; devices: unknown[] };
    expect(ready.event).toBe("ready");
    expect(ready.devices).toHaveLength(5);
    expect(JSON.parse(lines[1] as string)).toMatchObject({ summary: { phones: 3, zones: 2, packets: 0 } });
  });

  it("makes its devices known to an appliance, also when it comes back", async () => {
    const register = ["--register", daemon.url, "--token", daemon.first.token];
    for (const phones of ["2", "3"]) {
      expect((await campus("--phones", phones, "--zones", "1", ...register)).code).toBe(0);
    }
    const { body } = await daemon.call<{ total: number }>("GET", "/devices");
    expect(body.total).toBe(4);
  });

  it("reports errors of its arguments", async () => {
    expect(await runCarillon(["campus", "--phones", "many"])).toMatchObject({ code: 2, stdout: "" });
    expect((await runCarillon(["campus", "--register", daemon.url])).stderr).toContain("requires a token");
    const wrong = await runCarillon(["campus", "--zones", "1", "--register", daemon.url, "--token", "wrong"]);
    expect([wrong.code, wrong.stdout]).toEqual([1, ""]);
    expect(wrong.stderr).toContain("401");
  });
});
