import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import type { TenantStatus } from "../../src/gateway/gateway.ts";
import { type RunningDaemon, runCarillon, runInit, spawnDaemon } from "../support/carillon-process.ts";
import { type ConnectProxy, openConnectProxy } from "../support/connect-proxy.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { externalProgram } from "../support/external-programs.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { eventually } from "../support/timeouts.ts";

const postgres = externalProgram("pg_ctlcluster");
const NAMES = ["north", "south"] as const;
type Name = (typeof NAMES)[number];
const LONG_MS = 300_000;

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

postgres.describe("organisations of one database, served by one command", () => {
  const dir = makeTempDir();
  const tokens = { north: "", south: "" };
  const appliances: TestDaemon[] = [];
  let server: TestPostgres;
  let tunnel: ConnectProxy;
  let front: RunningDaemon;
  let port = 0;

  const hostOf = (name: string): string => `${name}.example.test`;
  const authorityOf = (name: Name): string => readFileSync(join(dir, name, "tls", "authority.crt"), "utf8");
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCarillon(args, { CARILLON_DATABASE: server.url });
    expect([args.join(" "), code, stderr]).toEqual([args.join(" "), 0, ""]);
    return stdout;
  };

  /** Asks at the front by name, as `token`'s holder. */
  function ask(name: Name, method: string, path: string, more: { token?: string; host?: string; body?: object } = {}) {
    const { token = tokens[name], host = hostOf(name), body } = more;
    return new Promise<Answer>((resolve, reject) => {
      const headers = { host: `${host}:${port}`, authorization: `Bearer ${token}`, "content-type": "application/json" };
      const about = { host: "127.0.0.1", port, servername: hostOf(name), ca: authorityOf(name), agent: false as const };
      const asking = request({ ...about, method, path: `/api/v1${path}`, headers }, async (response) => {
        const parts = await response.toArray();
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(parts).toString()) });
      });
      asking.on("error", reject).end(body && JSON.stringify(body));
    });
  }

  const namesAt = async (name: Name, path: string): Promise<unknown[]> =>
    ((await ask(name, "GET", path)).body.data as { name: string }[]).map((row) => row.name);

  async function processOf(name: Name): Promise<TenantStatus | null> {
    const told = JSON.parse(await run("hub-organisations", "--data", dir, "--json"));
    return (
      (told as { name: string; process: TenantStatus | null }[]).find((each) => each.name === name)?.process ?? null
    );
  }

  const answers = (name: Name) => eventually(async () => (await ask(name, "GET", "/sites")).status === 200);

  beforeAll(async () => {
    server = await startPostgres();
    tunnel = await openConnectProxy();
    for (const name of NAMES) {
      tokens[name] = (await runInit(join(dir, name))).token;
      await run("hub-organisations", "add", name, "--host", hostOf(name));
    }
    const config = join(makeTempDir(), "carillon.yaml");
    writeFileSync(config, "tls: {listen: 127.0.0.1:0}\n");
    const args = ["hub", "--all-organisations", "--data", dir, "--listen", "127.0.0.1:0", "--config", config];
    front = await spawnDaemon(args, { CARILLON_DATABASE: server.url });
    port = Number(new URL(front.url).port);
    for (const name of NAMES) await answers(name);
  }, LONG_MS);
  afterAll(async () => {
    for (const each of appliances) await each.stop();
    await front?.end("SIGTERM");
    tunnel?.end();
    await server?.stop();
  }, 60_000);

  postgres.it(
    "are told apart by their names: neither knows the other's people and rows",
    async () => {
      for (const name of NAMES) await ask(name, "POST", "/sites", { body: { name: `Site ${name}` } });
      for (const name of NAMES) expect(await namesAt(name, "/sites")).toEqual([`Site ${name}`]);
      expect((await ask("south", "GET", "/sites", { token: tokens.north })).status).toBe(401);
      // Who asks one for what is the other's.
      expect((await ask("south", "GET", "/sites", { host: hostOf("north") })).status).toBe(421);
    },
    LONG_MS,
  );

  postgres.it(
    "are all that there is: another name is refused",
    async () => {
      const stranger = { host: "127.0.0.1", port, servername: "east.example.test", agent: false as const };
      const refused = new Promise((resolve) => request(stranger).on("error", resolve).end());
      expect(String(await refused)).toMatch(/unrecognized.name/i);
    },
    LONG_MS,
  );

  postgres.it(
    "have their own appliances, which show their certificates through it",
    async () => {
      for (const name of NAMES) {
        const alone = await startTestDaemon({ settings: `cloud: {proxy: "${tunnel.url}"}\n` });
        const { code } = JSON.parse(await run("link", "code", "--data", join(dir, name), "--json"));
        const hub = `https://${hostOf(name)}:${port}`;
        await alone.cloudLink.site?.enrol({ hub, code, mode: "join", authority: authorityOf(name) });
        await alone.stop();
        appliances.push(await startTestDaemon({ after: alone, settings: `cloud: {proxy: "${tunnel.url}"}\n` }));
      }
      for (const [at, name] of NAMES.entries()) {
        const appliance = appliances[at] as TestDaemon;
        await eventually(async () => (await processOf(name))?.links === 1);
        expect((await processOf(name))?.state).toBe("acts");
        const sites = async () => (await appliance.call<{ data: { name: string }[] }>("GET", "/sites")).body.data;
        await eventually(async () => (await sites()).length > 0);
        expect((await sites()).map((row) => row.name)).toEqual([`Site ${name}`]);
        const links = front
          .log()
          .split("\n")
          .filter((line) => line.includes('"link.connected"'));
        const own = links.filter((line) => line.startsWith(`{"organisation":"${name}"`));
        expect(own.map((line) => JSON.parse(line).byCertificate)).toContain(true);
      }
    },
    LONG_MS,
  );

  postgres.it(
    "do not go down with each other: a process that is killed comes back, and its appliance with it",
    async () => {
      const [before, other] = [await processOf("north"), await processOf("south")];
      // What everybody on the machine may read.
      expect(readFileSync(`/proc/${before?.pid}/cmdline`, "utf8")).not.toContain("postgres:");
      process.kill(before?.pid as number, "SIGKILL");
      expect((await ask("south", "GET", "/sites")).status).toBe(200);
      await eventually(async () => {
        const found = await processOf("north");
        return found?.state === "acts" && found.links === 1;
      });
      const after = await processOf("north");
      expect([after?.pid === before?.pid, after?.restarts]).toEqual([false, 1]);
      expect(await namesAt("north", "/sites")).toEqual(["Site north"]);
      expect(await processOf("south")).toMatchObject({ pid: other?.pid, restarts: 0 });
    },
    LONG_MS,
  );

  postgres.it(
    "come and go without a restart: whose name is taken away is not served, and keeps its rows",
    async () => {
      const { pid } = (await processOf("south")) ?? {};
      await run("hub-organisations", "release", "south");
      await eventually(async () => isGone(pid as number));
      await expect(ask("south", "GET", "/sites")).rejects.toThrow(/unrecognized.name/i);
      expect(await namesAt("north", "/sites")).toEqual(["Site north"]);
      await run("hub-organisations", "add", "south", "--host", hostOf("south"));
      await answers("south");
      expect(await namesAt("south", "/sites")).toEqual(["Site south"]);
    },
    LONG_MS,
  );
});

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
