import { afterAll, beforeAll, expect, it } from "vitest";
import { createSentenceRegistry } from "../../src/lib/sentences/registry.ts";
import type { PluginRequest } from "../../src/plugin-api/index.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
const seen: [string, PluginRequest][] = [];
beforeAll(async () => {
  const handleRequest = async (plugin: string, request: PluginRequest) => {
    if (plugin !== "bells") return null;
    seen.push([plugin, request]);
    const body = request.url === "/bytes" ? Uint8Array.of(0, 255, 10) : `<${request.url}>`;
    return { status: 207, headers: { "content-type": "text/xml", "x-own": "1", "content-length": "999" }, body };
  };
  api = await openApi(makeTempDir(), {
    needs: {
      plugins: {
        handleRequest,
        configFields: () => ({}),
        profileSchema: () => null,
        restart: async () => {},
        sentences: createSentenceRegistry(),
        readLog: () => null,
        reports: () => [],
        readReport: async () => null,
      },
    },
  });
});
afterAll(() => api.close());

it("hands a request below /x/<plugin> to the plugin, without asking for a token", async () => {
  const answer = await api.call("PUT", "/x/bells/deep/path?a=1&b", {
    token: null,
    body: "hello",
    headers: { "x-mark": "m", cookie: "carillon=secret" },
  });
  expect(answer).toMatchObject({ status: 207, text: "</deep/path?a=1&b>" });
  expect([answer.headers.get("content-type"), answer.headers.get("x-own")]).toEqual(["text/xml", "1"]);
  const [plugin, request] = seen[0] as [string, PluginRequest];
  expect(plugin).toBe("bells");
  expect(request).toMatchObject({ method: "PUT", url: "/deep/path?a=1&b", remoteAddress: "127.0.0.1" });
  expect([request.headers["x-mark"], request.headers.cookie]).toEqual(["m", undefined]);
  expect(Buffer.from(request.body).toString()).toBe("hello");
  expect((await api.call("GET", "/x/bells", { token: null })).text).toBe("</>");
});

it("gives bytes back as they are", async () => {
  const response = await fetch(new URL("/x/bells/bytes", api.base));
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(Uint8Array.of(0, 255, 10));
});

it("answers 404 where no such plugin runs, and 413 to more than 64 KiB", async () => {
  expect((await api.call("GET", "/x/nobody/path")).body).toMatchObject({ status: 404, type: "not-found" });
  const before = seen.length;
  const large = await api.call("POST", "/x/bells/path", { body: "x".repeat(65_537) });
  expect(large.body).toMatchObject({ status: 413, type: "too-large" });
  expect(seen).toHaveLength(before);
});
