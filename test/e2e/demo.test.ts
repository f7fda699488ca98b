import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { makeTempDir } from "../support/temp-dir.ts";

const MAIN = join(REPOSITORY_ROOT, "dist/src/main.js");

/** Starts the demo with a folder of its own for temporary files. */
function startDemo(args: readonly string[]) {
  const folder = makeTempDir();
  const env = { ...process.env, TMPDIR: folder };
  const child = spawn(process.execPath, [MAIN, "demo", ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const lines: string[] = [];
  const told: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  createInterface({ input: child.stderr }).on("line", (line) => told.push(line));
  const ended = once(child, "close") as Promise<[number | null]>;
  return { child, folder, lines, told, ended };
}

describe("the demo", { timeout: 180_000 }, () => {
  it("reaches every phone that is there and every zone, and shows it", async () => {
    const { folder, lines, told, ended } = startDemo(["--once"]);
    const [code] = await ended;
    expect(code, told.join("\n")).toBe(0);
    const figures = JSON.parse(lines.at(-1) as string) as Record<string, unknown>;
    expect(figures).toMatchObject({
      devices: 60,
      phones: { playing: 47, failed: 3 },
      zones: { sent: 10 },
      listened: { listeners: 57, exact: 57 },
    });
    expect(figures.firstPacketMsP99).toBeGreaterThan(0);
    expect(figures.seconds).toBeGreaterThan(0);
    const rows = lines.filter((line) => /^(Room|Zone) /.test(line));
    expect(rows).toHaveLength(60);
    const failed = rows.filter((row) => / failed /.test(row));
    expect(failed).toEqual(rows.slice(-3));
    expect(lines.at(-4)).toMatch(/^57 of 60 devices reached, 99 % of them heard the first packet within \d+ ms\.$/);
    for (const row of failed) expect(row).toMatch(/ the phone\b/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("reaches a recipient by every channel, and verifies each as far as the channel can", async () => {
    const { folder, lines, told, ended } = startDemo(["--channels", "--once"]);
    const [code] = await ended;
    expect(code, told.join("\n")).toBe(0);
    const { channels } = JSON.parse(lines.at(-1) as string) as { channels: Record<string, { ok: boolean }> };
    expect(Object.entries(channels).filter(([, { ok }]) => !ok)).toEqual([]);
    expect(Object.keys(channels)).toEqual(
      expect.arrayContaining(["IP phones", "E-mail", "Text message", "SIP speaker"]),
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it("cleans up when its output is closed", async () => {
    const { child, folder, told, ended } = startDemo(["--once"]);
    await once(child.stderr, "data");
    child.stdout.destroy();
    expect((await ended)[0], told.join("\n")).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("runs until it is interrupted, then ends both processes and removes their data", async () => {
    const { child, folder, lines, told, ended } = startDemo([]);
    const stillRuns = async (): Promise<string> => {
      while (!lines.at(-1)?.startsWith("{")) await once(child.stdout, "data");
      return lines.find((line) => line.startsWith("API"))?.split(/\s+/)[1] as string;
    };
    const url = await stillRuns();
    const token = lines.find((line) => line.startsWith("Token"))?.split(/\s+/)[1];
    const answer = await fetch(`${url}/notifications`, { headers: { authorization: `Bearer ${token}` } });
    expect(((await answer.json()) as { data: unknown[] }).data).toHaveLength(1);
    const groupId = /deviceGroupIds\[\]=([0-9a-f-]{36})'/.exec(lines.join("\n"))?.[1];
    const group = await fetch(`${url}/device-groups/${groupId}`, { headers: { authorization: `Bearer ${token}` } });
    expect(group.status).toBe(200);
    const report = lines.find((line) => line.startsWith("Report"))?.split(/\s+/)[1] as string;
    expect((await fetch(report)).status).toBe(200);
    child.kill("SIGINT");
    const [code] = await ended;
    expect(code, told.join("\n")).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
    await expect(fetch(report)).rejects.toThrow();
    expect(readdirSync(folder)).toEqual([]);
  });
});
