import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type InitOutput,
  REPOSITORY_ROOT,
  type RunningDaemon,
  runCarillon,
  runInit,
  serveAppliance,
} from "../support/carillon-process.ts";
import { makeTempDir } from "../support/temp-dir.ts";

const MAIN = join(REPOSITORY_ROOT, "dist/src/main.js");

async function statusOf(url: string, path: string, token: string): Promise<number> {
  const response = await fetch(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
  return response.status;
}

describe("an appliance, from init to its end", () => {
  let data: string;
  let first: InitOutput;
  let daemon: RunningDaemon;

  beforeAll(async () => {
    data = makeTempDir();
    chmodSync(data, 0o755);
    first = await runInit(data);
    daemon = await serveAppliance(data);
  });
  afterAll(() => daemon.end("SIGKILL"));

  it("says on one line where it is, and takes the token of init", async () => {
    expect(daemon.lines).toEqual([]);
    expect(daemon.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(daemon.urls["ip-phones/auth"]).toMatch(/^http:\/\//);
    expect(await statusOf(daemon.url, `/users/${first.userId}`, first.token)).toBe(200);
    const { extensionId, endpointId, domainId } = first;
    expect(await statusOf(daemon.url, `/extensions/${extensionId}/endpoints/${endpointId}`, first.token)).toBe(200);
    expect(await statusOf(daemon.url, `/domains/${domainId}`, first.token)).toBe(200);
  });

  it("restricts its files to its user, in a folder that others may read", () => {
    const open = readdirSync(data).filter((name) => (statSync(join(data, name)).mode & 0o077) !== 0);
    expect(open).toEqual([]);
  });

  it("gives and takes away tokens while it runs", async () => {
    const about = ["--data", data, "--json"];
    const made = await runCarillon(["token", "create", ...about, "--user", "admin@example.org", "--name", "x"]);
    const { id, token } = JSON.parse(made.stdout) as { id: string; token: string };
    expect(await statusOf(daemon.url, "/users", token)).toBe(200);
    expect((await runCarillon(["token", "revoke", id, ...about])).code).toBe(0);
    expect(await statusOf(daemon.url, "/users", token)).toBe(401);
  });

  it("shares its data with no other daemon and is not set up twice", async () => {
    const second = await runCarillon(["serve", "--data", data, "--listen", "127.0.0.1:0"]);
    expect(second).toMatchObject({ code: 3, stdout: "" });
    expect(second.stderr).toContain("Another process uses the data");
    const again = ["init", "--data", data, "--admin-email", "b@example.org", "--admin-password", "12345678"];
    expect((await runCarillon(again)).code).toBe(3);
    expect(await statusOf(daemon.url, "/users", first.token)).toBe(200);
  });

  it("starts again after it was killed, and stops cleanly on request", async () => {
    await daemon.end("SIGKILL");
    daemon = await serveAppliance(data);
    expect(await statusOf(daemon.url, "/users", first.token)).toBe(200);
    const asked = performance.now();
    expect(await daemon.end("SIGTERM")).toBe(0);
    expect(performance.now() - asked).toBeLessThan(30_000);
    expect(daemon.lines).toEqual([]);
    const lines = daemon.log().trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toContain("ready");
    expect(daemon.log()).not.toContain(first.token);
  });
});

describe("serve refuses", () => {
  it.each([
    ["a folder without an appliance", [], 3],
    ["settings that are wrong", ["--config", "wrong.yaml"], 4],
    ["an address that is none", ["--listen", "nowhere"], 2],
  ])("%s", async (_what, more, code) => {
    const data = makeTempDir();
    if (code === 2) await runInit(data);
    const wrong = join(data, "wrong.yaml");
    writeFileSync(wrong, "listne: 127.0.0.1:1\n");
    const args = more.map((word) => (word === "wrong.yaml" ? wrong : word));
    const ran = await runCarillon(["serve", "--data", data, ...args]);
    expect(ran).toMatchObject({ code, stdout: "" });
    expect(ran.stderr).toMatch(/^carillon: /m);
  });
});

it("exits with 74 when the disk fails while writing, and has all acknowledged writes afterwards", async () => {
  const data = makeTempDir();
  const { token } = await runInit(data);
  // The system refuses to let any file grow beyond this: the write-ahead log soon meets an I/O error.
  const blocks = Math.ceil(statSync(join(data, "carillon.db")).size / 512) + 200;
  const command = `ulimit -f ${blocks}; exec "$0" "$@"`;
  const args = ["-c", command, process.execPath, MAIN, "serve", "--data", data, "--listen", "127.0.0.1:0"];
  const child = spawn("sh", args, { stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(child, "close") as Promise<[number | null]>;
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const { url } = JSON.parse(line) as { url: string };
  const kept: string[] = [];
  let refusal = 0;
  for (let round = 0; round < 5_000 && refusal === 0; round++) {
    const answer = await fetch(`${url}/api/v1/users`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: `User ${round}`, email: `user-${round}@example.org` }),
    }).catch(() => null);
    if (answer?.status === 200) kept.push(((await answer.json()) as { id: string }).id);
    else refusal = answer?.status ?? 1;
  }
  expect([503, 1]).toContain(refusal);
  expect((await ended)[0]).toBe(74);

  const daemon = await serveAppliance(data);
  const list = await fetch(`${daemon.url}/api/v1/users?limit=1000`, { headers: { authorization: `Bearer ${token}` } });
  const ids = ((await list.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  await daemon.end("SIGTERM");
  expect(kept.length).toBeGreaterThan(0);
  expect(kept.filter((id) => !ids.includes(id))).toEqual([]);
}, 180_000);
