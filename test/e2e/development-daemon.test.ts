import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { unusedPort } from "../support/free-port.ts";
import { makeTempDir } from "../support/temp-dir.ts";

/** What `npm run dev` says at the end: where the console is, and who logs in there. */
const READY = /console (\S+) {2}log in as (\S+) with (\S+)$/;

describe("npm run dev", () => {
  let child: ChildProcess;
  let log = "";
  let url = "";
  let login: { email?: string | undefined; password?: string | undefined };

  beforeAll(async () => {
    const [listen, consolePort] = [`127.0.0.1:${await unusedPort()}`, String(await unusedPort())];
    const options = ["--listen", listen, "--console-port", consolePort, "--folder", makeTempDir()];
    child = spawn(process.execPath, [join(REPOSITORY_ROOT, ".ci/dev.mjs"), ...options], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stderr?.on("data", (part) => {
      log += part;
    });
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      log += `${line}\n`;
      const [, where = "", email, password] = READY.exec(line) ?? [];
      if (!where) continue;
      url = where;
      login = { email, password };
      break;
    }
  });
  afterAll(() => void child.kill("SIGKILL"));

  const ask = async (path: string, headers: Record<string, string> = {}, body?: object) => {
    const call = request(`${url}${path}`, { method: body ? "POST" : "GET", headers });
    call.end(body && JSON.stringify(body));
    const [answer] = (await once(call, "response")) as [IncomingMessage];
    return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
  };

  it("serves the console from its sources", async () => {
    expect(url, log).toMatch(/^http:\/\/localhost:\d+$/);
    expect((await ask("/")).body).toContain("/@vite/client");
    const source = await ask("/router.tsx");
    expect(source.headers["content-type"]).toMatch(/javascript/);
    expect(source.body).toContain("features/");
  });

  it("serves the modules of a folder named as the API, and the API", async () => {
    const source = await ask("/api/client.ts");
    expect(source.headers["content-type"]).toMatch(/javascript/);
    expect((await ask("/api/client.ts?t=1")).headers["content-type"]).toMatch(/javascript/);
    expect(JSON.parse((await ask("/api/setup")).body)).toMatchObject({ needed: false });
    expect((await ask("/help")).status).toBe(200);
  });

  it("lets the administrator it names log in and see the demo school", async () => {
    const answer = await ask("/api/login", { "content-type": "application/json", origin: url }, login);
    expect(answer.status, log).toBe(204);
    const [cookie = ""] = (answer.headers["set-cookie"] ?? []).map((each) => each.split(";")[0] ?? "");
    const groups = JSON.parse((await ask("/api/v1/device-groups", { cookie })).body) as object;
    expect(groups).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ id: expect.any(String) })]),
    });
  });

  it("ends with its daemon", async () => {
    child.kill("SIGTERM");
    const [code] = (await once(child, "exit")) as [number | null];
    expect(code).toBe(0);
  });
});
