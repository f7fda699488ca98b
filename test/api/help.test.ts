import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

/** A request without a token, whose path reaches the server unchanged. */
function get(path: string, headers: Record<string, string> = {}, method = "GET") {
  const { hostname, port } = new URL(api.base);
  return new Promise<{ status: number | undefined; headers: NodeJS.Dict<string | string[]>; text: string }>(
    (resolve, reject) => {
      const sent = request({ hostname, port, path, method, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
      });
      sent.on("error", reject).end();
    },
  );
}

describe("the handbook at /help/", () => {
  it("needs no login and runs no scripts", async () => {
    const { status, headers, text } = await get("/help/");
    expect(status).toBe(200);
    expect(text).toContain('<h1 id="administrator-handbook">');
    expect(text).not.toContain("<script");
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
    });
    const policy = String(headers["content-security-policy"]).split("; ");
    expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "frame-ancestors 'none'"]));
    expect(policy.join("; ")).not.toMatch(/script-src|unsafe/);
  });

  it("serves every page of its table of contents", async () => {
    const { text } = await get("/help/");
    const paths = new Set([...text.matchAll(/href="(\/help\/[a-z0-9-]+)"/g)].map(([, path = ""]) => path));
    expect(paths.size).toBeGreaterThan(15);
    for (const path of paths) expect([path, (await get(path)).status]).toEqual([path, 200]);
  });

  it("searches on the server", async () => {
    const { status, text } = await get("/help/search?q=igmp+snooping");
    expect(status).toBe(200);
    expect(text).toContain('<a href="/help/networks#');
    expect(text).toMatch(/<mark>igmp<\/mark>/i);
  });

  it("sends an unchanged page once", async () => {
    const { etag } = (await get("/help/bells")).headers;
    expect((await get("/help/bells", { "if-none-match": String(etag) })).status).toBe(304);
  });

  it.each([
    "/help/absent",
    "/help/../../package.json",
    "/help/..%2f..%2fpackage.json",
    "/help/order.json",
    "/help/%00",
  ])("answers 404 to %s", async (path) => {
    const { status, text } = await get(path);
    expect([status, text.includes('"dependencies"')]).toEqual([404, false]);
    expect(text).toContain("Page not found");
  });

  it("is read-only and checks the host", async () => {
    const { status, headers } = await get("/help/", {}, "POST");
    expect([status, headers.allow]).toEqual([405, "GET, HEAD"]);
    expect(await get("/help/", {}, "HEAD")).toMatchObject({ status: 200, text: "" });
    expect((await get("/help/", { host: "elsewhere.example" })).status).toBe(421);
  });
});
