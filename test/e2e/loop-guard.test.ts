import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApiClient } from "../../src/api-client/api-client.ts";
import { LOOPBACK_SETTINGS, type RunningDaemon, runInit, serveAppliance } from "../support/carillon-process.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { eventually } from "../support/timeouts.ts";

/** Blocks the loop of a daemon on a signal: for a while, or for ever. */
const BLOCKS = `
const block = (ms) => { for (const until = Date.now() + ms; Date.now() < until; ); };
process.on("SIGUSR2", () => block(400));
process.on("SIGURG", () => block(Infinity));
`;
const WATCHDOG_SECONDS = 2;

describe("a daemon whose event loop is blocked", () => {
  let daemon: RunningDaemon;
  let notes = "";
  let token = "";

  beforeAll(async () => {
    const folder = makeTempDir();
    const dataDir = makeTempDir();
    notes = join(folder, "notes");
    // Takes the place of the service manager's end of the socket.
    const notify = join(folder, "systemd-notify");
    writeFileSync(notify, `#!/bin/sh\nprintf '%s\\n' "$@" >> ${notes}\n`);
    chmodSync(notify, 0o755);
    const blocks = join(folder, "blocks.mjs");
    writeFileSync(blocks, BLOCKS);
    const config = join(folder, "carillon.yaml");
    writeFileSync(config, LOOPBACK_SETTINGS);
    ({ token } = await runInit(dataDir));
    daemon = await serveAppliance(dataDir, ["--config", config], {
      NOTIFY_SOCKET: join(folder, "notify"),
      WATCHDOG_USEC: String(WATCHDOG_SECONDS * 1_000_000),
      PATH: `${folder}:${process.env.PATH}`,
      NODE_OPTIONS: `--import ${pathToFileURL(blocks).href}`,
    });
  });
  afterAll(() => daemon?.end("SIGKILL"));

  const watchdogs = (): number =>
    existsSync(notes)
      ? readFileSync(notes, "utf8")
          .split("\n")
          .filter((line) => line === "WATCHDOG=1").length
      : 0;
  const logged = (event: string): Record<string, unknown>[] =>
    daemon
      .log()
      .split("\n")
      .filter((line) => line.includes(`"${event}"`))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it("reports the turn in its log and metrics, and feeds the watchdog", async () => {
    const before = watchdogs();
    daemon.child.kill("SIGUSR2");
    const isBlock = ({ ms }: Record<string, unknown>): boolean => Number(ms) >= 300;
    await eventually(async () => expect(logged("loop.blocked").some(isBlock)).toBe(true));
    expect(logged("loop.blocked").find(isBlock)).toMatchObject({ level: 40, work: expect.any(String) });
    const metrics = await (
      await fetch(`${daemon.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    ).text();
    expect(metrics).toMatch(/^carillon_loop_blocked_turns_total\{work="[^"]+"\} \d+$/m);
    await eventually(async () => expect(watchdogs()).toBeGreaterThan(before + 1));
    expect(await createApiClient(daemon.url, token).get("/users?limit=1")).toMatchObject({ total: 1 });
  });

  it("stops feeding the watchdog, and logs what it was busy with", async () => {
    daemon.child.kill("SIGURG");
    await eventually(async () => expect(logged("watchdog.hung")).toHaveLength(1));
    const [hung] = logged("watchdog.hung");
    expect(hung).toMatchObject({ level: 60, work: expect.any(String) });
    expect(Number(hung?.ms)).toBeGreaterThanOrEqual(4_000);
    // Notes of before may still be written.
    let last = -1;
    await eventually(async () => {
      const now = watchdogs();
      const isSame = now === last;
      last = now;
      expect(isSame).toBe(true);
    });
  });
});
