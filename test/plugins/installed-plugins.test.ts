import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { extensionIdOf } from "../../src/plugin-host/extension-rows.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { anyActor, itemOf, openAppliance, type TestAppliance } from "./test-appliance.ts";

const FIXTURES = new URL("./fixtures/", import.meta.url);
const HOSTILE = new URL("./hostile/", import.meta.url).pathname;

const dataDir = makeTempDir();
const own = join(dataDir, "plugin-data", "hostile");
const other = join(dataDir, "plugin-data", "other");
let appliance: TestAppliance;
let server: Server;
let port = 0;
let requests = 0;

/** Has the hostile plugin try something. */
async function attempt(act: string, more: object = {}): Promise<{ status: number; text: string }> {
  const body = new TextEncoder().encode(JSON.stringify({ act, ...more }));
  const request = { method: "POST", url: "/try", headers: {}, body, remoteAddress: "127.0.0.1" };
  const answer = await appliance.host.handleRequest("hostile", request);
  const text = typeof answer?.body === "string" ? answer.body : new TextDecoder().decode(answer?.body);
  return { status: answer?.status ?? 0, text };
}

/** A round trip through the plugin of the product. */
async function expectSteady(deliveryId: number): Promise<void> {
  appliance.host.deliver("steady", [itemOf(deliveryId)]);
  await appliance.until(() => appliance.outcomes.some((outcome) => outcome.deliveryId === deliveryId));
}

async function restart(): Promise<void> {
  await appliance.host.restart(extensionIdOf("hostile"), anyActor);
  await appliance.until(() => appliance.host.state("hostile") === "running");
}

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);

beforeAll(async () => {
  server = createServer((_request, response) => {
    requests += 1;
    response.end("told");
  });
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  port = (server.address() as AddressInfo).port;
  cpSync(HOSTILE, join(dataDir, "plugins", "hostile"), { recursive: true });
  mkdirSync(other, { recursive: true });
  for (const [file, text] of [
    [join(dataDir, "carillon.yaml"), "site: {}"],
    [join(other, "state"), "other"],
  ] as const)
    writeFileSync(file, text);
  appliance = await openAppliance(dataDir, FIXTURES, { ownPluginFolder: pathToFileURL(`${dataDir}/plugins/`) });
  await appliance.host.start();
  await appliance.store.update(extensions, extensionIdOf("hostile"), { disabled: false }, anyActor);
  await appliance.until(() => appliance.host.state("hostile") === "running");
});
afterAll(async () => {
  await appliance.close();
  server.closeAllConnections();
  server.close();
});

describe("an installed plugin", () => {
  it("works: it delivers, has routes and ports, and connects to what it declares", async () => {
    appliance.host.deliver("hostile", [itemOf(1)]);
    await appliance.until(() => appliance.outcomes.some((outcome) => outcome.provider === "hostile"));
    expect(await (await fetch(appliance.host.urls()["hostile/hello"] as string)).text()).toBe("hello");
    expect(await attempt("fetch", { host: "127.0.0.2", port })).toEqual({ status: 200, text: "200" });
    expect(await attempt("fetch of the interface", { host: "127.0.0.2", port })).toEqual({ status: 200, text: "200" });
  });

  it("connects to what the administrator sets, and to devices of its messages", async () => {
    expect((await attempt("connect", { host: "127.0.0.3", port })).status).toBe(403);
    const { changes } = appliance;
    const before = changes.length;
    await appliance.store.update(
      extensions,
      extensionIdOf("hostile"),
      { config: { server: `http://127.0.0.3:${port}/` } },
      anyActor,
    );
    await appliance.until(() => changes.slice(before).some(({ state }) => state === "running"));
    expect(await attempt("connect", { host: "127.0.0.3", port })).toEqual({ status: 200, text: "connected" });
    expect((await attempt("connect", { host: "127.0.0.4", port })).status).toBe(403);
    const device = { ...itemOf(2).device, attributes: { Url: `http://127.0.0.4:${port}/lamp` } };
    appliance.host.deliver("hostile", [itemOf(2, { device })]);
    await appliance.until(() => appliance.outcomes.some(({ deliveryId }) => deliveryId === 2));
    expect(await attempt("connect", { host: "127.0.0.4", port })).toEqual({ status: 200, text: "connected" });
  });

  it("connects to names that the administrator sets", async () => {
    const { changes } = appliance;
    const before = changes.length;
    const config = { server: `http://localhost:${port}/` };
    await appliance.store.update(extensions, extensionIdOf("hostile"), { config }, anyActor);
    await appliance.until(() => changes.slice(before).some(({ state }) => state === "running"));
    expect(await attempt("fetch", { host: "localhost", port })).toEqual({ status: 200, text: "200" });
    await appliance.store.update(extensions, extensionIdOf("hostile"), { config: {} }, anyActor);
    await appliance.until(() => changes.slice(before).filter(({ state }) => state === "running").length > 1);
    expect((await attempt("fetch", { host: "localhost", port })).status).toBe(403);
  });

  it("has a folder of its own, and nobody else reads it", async () => {
    expect(statSync(own).mode & 0o777).toBe(0o700);
    expect(await attempt("write", { path: join(own, "file") })).toMatchObject({ status: 200 });
    expect(readFileSync(join(own, "file"), "utf8")).toBe("x");
    expect(await attempt("read", { path: join(own, "file") })).toEqual({ status: 200, text: "1" });
  });

  it("runs in a process with an empty environment, that is gone when the plugin is disabled", async () => {
    const pid = Number((await attempt("pid")).text);
    expect(pid).not.toBe(process.pid);
    expect(await attempt("environment")).toEqual({ status: 200, text: "" });
    await appliance.store.update(extensions, extensionIdOf("hostile"), { disabled: true }, anyActor);
    await appliance.until(() => appliance.host.state("hostile") === "disabled");
    await expect.poll(() => isAlive(pid)).toBe(false);
    await appliance.store.update(extensions, extensionIdOf("hostile"), { disabled: false }, anyActor);
    await appliance.until(() => appliance.host.state("hostile") === "running");
  });
});

const FILES = () => [
  ["the database", join(dataDir, readdirSync(dataDir).find((name) => name.endsWith(".db")) ?? "carillon.db")] as const,
  ["the secret key", join(dataDir, "secret-key")] as const,
  ["the settings", join(dataDir, "carillon.yaml")] as const,
  ["the data of another plugin", join(other, "state")] as const,
];

describe("a hostile plugin", () => {
  it.each([
    ...["read", "read as bytes", "read a file URL", "read by a promise", "open a stream", "copy", "link", "symlink"],
    ...["read by a relative path", "import", "require", "write", "append", "remove", "rename", "chmod"],
    ...[
      "open with sqlite",
      "load sqlite inside",
      "change the current folder",
      "write traces",
      "write snapshots of the heap",
      "engine flags that write files",
      "a heap snapshot",
      "a report",
    ],
  ])("does not %s files of the appliance", async (act) => {
    for (const [what, path] of FILES()) {
      const before = readFileSync(path);
      const { status, text } = await attempt(act, { path });
      expect([what, status, text]).toEqual([what, 403, expect.stringMatching(/./)]);
      expect(readFileSync(path).equals(before)).toBe(true);
    }
  });

  it.each([
    ["list", { path: dataDir }],
    ["list", { path: join(dataDir, "plugin-data") }],
    ["write", { path: join(dataDir, "plugins", "hostile", "index.js") }],
    ["write", { path: join(dataDir, "plugin-data", "hostile2") }],
    ["read", { path: "/etc/passwd" }],
    ["the environment of the daemon", {}],
    ["the memory of the daemon", {}],
    ["the files of the daemon", {}],
    ...["spawn", "exec", "fork", "fork a cluster", "execve", "worker", "addon", "require an addon", "binding"].map(
      (act) => [act, {}] as [string, object],
    ),
    ...["linked binding", "wasi", "inspector", "inspector session", "kill the daemon", "kill the daemon, raw"].map(
      (act) => [act, {}] as [string, object],
    ),
    ...[
      "signal the debugger of the daemon",
      "debug the daemon",
      "slow the daemon down",
      "kill by a child's handle",
    ].map((act) => [act, {}] as [string, object]),
    ...["look up a name", "look up a name by a promise", "ask the name server", "listen"].map(
      (act) => [act, {}] as [string, object],
    ),
    ["listen at a unix socket", {}],
  ])("is refused: %s %o", async (act, more) => {
    const { status, text } = await attempt(act, more);
    expect([status, text]).toEqual([403, expect.stringMatching(/./)]);
    expect(await attempt("pid")).toMatchObject({ status: 200 });
  });

  it.each([
    ...["connect", "connect by another class", "connect with a look-up of its own", "connect by a raw handle", "fetch"],
    ...["fetch of the interface", "http request", "http2", "WebSocket", "datagram", "connected datagram"],
    ...["ask a name server", "connect after replacing what checks"],
  ])("does not connect to what it does not declare: %s", async (act) => {
    const before = requests;
    for (const host of ["127.0.0.1", "127.0.0.9", "localhost", "::1", "::ffff:127.0.0.9", "169.254.169.254"]) {
      const { status, text } = await attempt(act, { host, port });
      expect([host, status, text]).toEqual([host, 403, expect.stringMatching(/./)]);
    }
    expect(requests).toBe(before);
    await restart();
  });

  it("does not reach the control socket of the daemon", async () => {
    const { status } = await attempt("unix socket", { path: join(dataDir, "control.sock") });
    expect(status).toBe(403);
  });

  it("says in its log what was refused", () => {
    const lines = appliance.host.readLog(extensionIdOf("hostile"), 500, 0) ?? [];
    const refused = lines.filter(({ details }) => details?.includes("plugin.act_refused"));
    expect(refused.length).toBeGreaterThan(5);
    expect(refused.map(({ details }) => details).join()).toContain("127.0.0.9");
  });

  it.each([
    ["flood", /too many messages/],
    ["flood with output", /too many messages|out of memory|no response/],
    ["flood with large messages", /too many messages|out of memory/],
    ["write what is no message", /invalid message/],
    ["announce a message of 4 GB", /invalid message/],
    ["write a short message that is none", /invalid message/],
    ["send a log line of no level", /invalid message/],
    ["send outcomes that are none", /invalid message/],
    ["send a report that is none", /invalid message/],
    ["send no message", /invalid message/],
    ["send an unknown kind", /invalid message/],
    ["answer with a status that is none", /invalid message/],
    ["answer with a header that is two", /invalid message/],
    ["fill the heap", /out of memory/],
    ["fill buffers", /out of memory/],
    ["spin", /no response/],
    ["exit", /exited with code 3/],
    ["kill itself", /out of memory|ended by/],
  ])("is ended and started again, and delays nothing: %s", async (act, reason) => {
    await restart();
    const pid = Number((await attempt("pid")).text);
    const { changes } = appliance;
    const before = changes.length;
    void attempt(act);
    await expectSteady(1_000 + before);
    const ended = await appliance.until(() =>
      changes.slice(before).find(({ plugin, state }) => plugin === "hostile" && state === "restarting"),
    );
    expect(ended.reason).toMatch(reason);
    await expect.poll(() => isAlive(pid)).toBe(false);
    await expectSteady(2_000 + before);
  });

  it.each(["spin", "pid"])("ends with its host, when that is killed: %s", async (act) => {
    const script = new URL("./hostile/host.ts", import.meta.url).pathname;
    const host = spawn(process.execPath, ["--no-warnings", script, dataDir, act], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(host.stdout as Readable, "data")) as [Buffer];
    const pid = Number(String(line).trim());
    expect(isAlive(pid)).toBe(true);
    host.kill("SIGKILL");
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("does not keep the appliance from stopping", async () => {
    await restart();
    const pid = Number((await attempt("pid")).text);
    void attempt("spin");
    await appliance.host.stop();
    expect(isAlive(pid)).toBe(false);
  });
});
