import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import type { ReceivedResponse } from "./http-client.ts";

const PAGE = "<!doctype html><title>Carillon</title>";
const SCRIPT = "console.log('ding');".repeat(100);

let api: ApiFixture;
let folder: string;
beforeAll(async () => {
  const dataDir = makeTempDir();
  folder = join(dataDir, "console");
  api = await openApi(dataDir);
});
afterAll(() => api.close());

/** What a browser gets, without its own decoding and without tidying of the path. */
function get(path: string, headers: Record<string, string> = {}, method = "GET") {
  const { hostname, port } = new URL(api.base);
  return new Promise<{ status: number | undefined; headers: NodeJS.Dict<string | string[]>; body: Buffer }>(
    (resolve, reject) => {
      const sent = request({ hostname, port, path, method, headers }, (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => void parts.push(part));
        response.on("end", () =>
          resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) }),
        );
      });
      sent.on("error", reject).end();
    },
  );
}

describe("the console's files", () => {
  it("are missing with an explanation until the console is built", async () => {
    const answer: ReceivedResponse = await fetch(new URL("/", api.base)).then(async (response) => ({
      status: response.status,
      headers: response.headers,
      text: "",
      body: await response.json(),
    }));
    expect(answer.status).toBe(404);
    expect(answer.body.message).toContain("The console is not built");
  });

  describe("once built", () => {
    beforeAll(() => {
      mkdirSync(join(folder, "assets"), { recursive: true });
      writeFileSync(join(folder, "assets/index-D4c3B2a1.js"), SCRIPT);
      writeFileSync(join(folder, "icon.png"), Buffer.of(1, 2, 3));
      writeFileSync(join(folder, "../beside.txt"), "secret");
      writeFileSync(join(folder, "index.html"), PAGE);
    });

    it("are served with their types; the start page serves every page and is revalidated each time", async () => {
      for (const path of ["/", "/index.html", "/broadcasts/0190", "/send?to=all"]) {
        const page = await get(path);
        expect([page.status, page.body.toString(), page.headers["content-type"]]).toEqual([
          200,
          PAGE,
          "text/html; charset=utf-8",
        ]);
        expect(page.headers["cache-control"]).toBe("no-cache");
      }
      const icon = await get("/icon.png");
      expect([icon.headers["content-type"], icon.body.length]).toEqual(["image/png", 3]);
    });

    it("are cached for ever if their names have a hash, and compressed on request", async () => {
      const plain = await get("/assets/index-D4c3B2a1.js");
      expect(plain.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
      expect([plain.body.toString(), plain.headers["content-encoding"]]).toEqual([SCRIPT, undefined]);
      const squeezed = await get("/assets/index-D4c3B2a1.js", { "accept-encoding": "gzip, br" });
      expect([squeezed.headers["content-encoding"], squeezed.headers.vary]).toEqual(["gzip", "Accept-Encoding"]);
      expect(gunzipSync(squeezed.body).toString()).toBe(SCRIPT);
      expect(squeezed.body.length).toBeLessThan(SCRIPT.length / 4);
    });

    it("are answered 304 if unchanged", async () => {
      const { etag } = (await get("/")).headers;
      const again = await get("/", { "if-none-match": etag as string });
      expect([again.status, again.body.length]).toEqual([304, 0]);
    });

    it("have a content security policy without foreign scripts and frames", async () => {
      const { headers } = await get("/");
      const policy = headers["content-security-policy"] as string;
      for (const rule of [
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
      ]) {
        expect(policy.split("; ")).toContain(rule);
      }
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
      });
    });

    it.each([
      "/../beside.txt",
      "/..%2fbeside.txt",
      "/assets/../../beside.txt",
      "/%2e%2e/beside.txt",
      "//etc/passwd.txt",
      "/assets/\\..\\..\\beside.txt",
      "/missing.js",
      "/assets/index-00000000.js",
      "http://127.0.0.1/beside.txt",
    ])("lead nowhere else: %s", async (path) => {
      const answer = await get(path);
      expect(answer.status).toBe(404);
      expect(answer.body.toString()).not.toContain("secret");
    });

    it("are read-only", async () => {
      const answer = await get("/", {}, "POST");
      expect([answer.status, answer.headers.allow]).toEqual([405, "GET, HEAD"]);
      expect((await get("/", {}, "HEAD")).body.length).toBe(0);
    });

    it("leave the API's own addresses alone", async () => {
      expect(JSON.parse((await get("/api/v1/nothing")).body.toString())).toMatchObject({ type: "not-found" });
    });

    it("switch to a new build as soon as it exists", async () => {
      writeFileSync(join(folder, "assets/index-new.js"), "new");
      writeFileSync(join(folder, "index.html"), `${PAGE}<p>new`);
      utimesSync(join(folder, "index.html"), new Date(), new Date(Date.now() + 5_000));
      expect((await get("/")).body.toString()).toBe(`${PAGE}<p>new`);
      expect((await get("/assets/index-new.js")).body.toString()).toBe("new");
    });
  });
});
