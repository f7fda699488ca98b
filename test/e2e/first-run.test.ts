import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { printSetupCode } from "../../src/cli/run-daemon.ts";
import { type RunningDaemon, runCarillon, runInit, serveAppliance } from "../support/carillon-process.ts";
import { makeTempDir } from "../support/temp-dir.ts";

const ADMIN = { email: "head@example.org", password: "correct horse battery", name: "Head" };

describe("a new appliance in an empty folder", () => {
  let data: string;
  let daemon: RunningDaemon;
  let cookie: string;

  beforeAll(async () => {
    data = join(makeTempDir(), "data");
    daemon = await serveAppliance(data);
  });
  afterAll(() => daemon.end("SIGKILL"));

  const codeFile = () => join(data, "setup-code");
  const code = () => readFileSync(codeFile(), "utf8").trim();
  const needed = async () => ((await (await fetch(`${daemon.url}/api/setup`)).json()) as { needed: boolean }).needed;
  const setUp = (given: object) =>
    fetch(`${daemon.url}/api/setup`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: daemon.url },
      body: JSON.stringify(given),
    });
  const lines = (log: string, words: string) =>
    log
      .split("\n")
      .filter((line) => line.includes(words))
      .map((line) => JSON.parse(line) as object);
  const get = async (path: string) => {
    const response = await fetch(`${daemon.url}/api/v1${path}`, { headers: { cookie } });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };

  it("waits for its administrator with a code that is stored in its folder only", async () => {
    expect(await needed()).toBe(true);
    expect(code()).toMatch(/^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/);
    expect(statSync(codeFile()).mode & 0o777).toBe(0o600);
    expect(daemon.log()).not.toContain(code());
    const told = lines(daemon.log(), "set it up in the browser");
    expect(told).toMatchObject([{ url: daemon.url, file: codeFile() }]);
    expect(daemon.lines.join()).not.toContain(code());
    expect((await fetch(`${daemon.url}/api/v1/users`)).status).toBe(401);
  });

  it("keeps waiting, with the same code, over a restart", async () => {
    const before = code();
    expect(await daemon.end("SIGTERM")).toBe(0);
    daemon = await serveAppliance(data);
    expect([await needed(), code()]).toEqual([true, before]);
  });

  it("refuses a wrong code, another site's page and an administrator without a proper password", async () => {
    expect((await setUp({ ...ADMIN, code: "00000-00000" })).status).toBe(401);
    expect((await setUp({ ...ADMIN, code: "" })).status).toBe(400);
    expect((await setUp({ ...ADMIN, code: code(), password: "short" })).status).toBe(400);
    const foreign = await fetch(`${daemon.url}/api/setup`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: "http://evil.example.org" },
      body: JSON.stringify({ ...ADMIN, code: code() }),
    });
    expect(foreign.status).toBe(403);
    expect(await needed()).toBe(true);
  });

  it("takes its code once, however it is typed, and logs its administrator in", async () => {
    const typed = code().toLowerCase().replace("-", " ");
    const answers = await Promise.all([setUp({ ...ADMIN, code: typed }), setUp({ ...ADMIN, code: typed })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409]);
    cookie = answers
      .find(({ status }) => status === 204)
      ?.headers.get("set-cookie")
      ?.split(";")[0] as string;
    expect(await needed()).toBe(false);
    expect(existsSync(codeFile())).toBe(false);
    expect((await setUp({ ...ADMIN, code: typed })).status).toBe(409);
    expect((await get("/session")).body).toMatchObject({ name: "Head", email: ADMIN.email, accessToken: null });
    expect((await get("/users")).body.total).toBe(1);
    expect((await get("/extensions")).body).toMatchObject({ partial: false });
  });

  it("shows the configuration of its plugins without secrets", async () => {
    const schema = (await (await fetch(`${daemon.url}/api/schema`, { headers: { cookie } })).json()) as {
      extensions: Record<string, { type: string; properties: object }>;
    };
    const plugins = ((await get("/extensions")).body.data as { id: string; plugin?: string; name: string }[]).filter(
      ({ id }) => id in schema.extensions,
    );
    expect(plugins.length).toBe(Object.keys(schema.extensions).length);
    expect(plugins.length).toBeGreaterThanOrEqual(2);
    for (const each of Object.values(schema.extensions)) expect(each.type).toBe("object");
    expect(JSON.stringify(schema.extensions)).toContain('"writeOnly":true');
  });

  it("pushes changes to its console, and does not wait for it when it stops", async () => {
    const socket = new WebSocket(`${daemon.url.replace("http", "ws")}/api/live`, {
      headers: { cookie, origin: daemon.url },
    });
    const closed = once(socket, "close");
    const told: { resource: string; id: string; op: string }[] = [];
    socket.on("message", (data) => told.push(...(JSON.parse(String(data)).changes ?? [])));
    await once(socket, "open");
    const made = await fetch(`${daemon.url}/api/v1/users`, {
      method: "POST",
      headers: { cookie, origin: daemon.url, "x-carillon-console": "1", "content-type": "application/json" },
      body: JSON.stringify({ name: "Teacher", email: "teacher@example.org" }),
    });
    const { id } = (await made.json()) as { id: string };
    while (!told.some((change) => change.id === id)) await once(socket, "message");
    expect(told).toContainEqual({ resource: "users", id, op: "create" });
    const asked = performance.now();
    expect(await daemon.end("SIGTERM")).toBe(0);
    expect(performance.now() - asked).toBeLessThan(30_000);
    await closed;
    daemon = await serveAppliance(data);
  });

  it("keeps the session and asks for no code after a restart", async () => {
    expect(await daemon.end("SIGTERM")).toBe(0);
    daemon = await serveAppliance(data);
    expect(await needed()).toBe(false);
    expect(existsSync(codeFile())).toBe(false);
    expect((await get("/session")).status).toBe(200);
  });
});

describe("serve creates no appliance", () => {
  it("in a folder that is not empty", async () => {
    const data = makeTempDir();
    writeFileSync(join(data, "mine.txt"), "mine");
    const ran = await runCarillon(["serve", "--data", data, "--listen", "127.0.0.1:0"]);
    expect(ran).toMatchObject({ code: 3, stdout: "" });
    expect(existsSync(join(data, "carillon.db"))).toBe(false);
  });

  it("where one exists, and leaves no code beside an administrator", async () => {
    const data = makeTempDir();
    await runInit(data);
    writeFileSync(join(data, "setup-code"), "00000-00000\n");
    const daemon = await serveAppliance(data);
    expect(await (await fetch(`${daemon.url}/api/setup`)).json()).toMatchObject({
      needed: false,
      loggedIn: false,
    });
    expect(existsSync(join(data, "setup-code"))).toBe(false);
    await daemon.end("SIGTERM");
  });
});

it("prints the code on a terminal only", () => {
  const data = makeTempDir();
  mkdirSync(data, { recursive: true });
  const told: string[] = [];
  const tell = (errIsTerminal: boolean) =>
    printSetupCode({ err: (line) => void told.push(line), errIsTerminal }, data, "http://box:8080");
  tell(true);
  expect(told).toEqual([]);
  writeFileSync(join(data, "setup-code"), "ABCDE-12345\n");
  tell(false);
  expect(told).toEqual([]);
  tell(true);
  expect(told.join()).toContain("http://box:8080");
  expect(told.join()).toContain("ABCDE-12345");
});
