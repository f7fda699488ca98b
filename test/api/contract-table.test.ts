import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import Koa from "koa";
import inject from "light-my-request";
import { expect, it } from "vitest";
import { readRows, summaryTable, tableErrors } from "../contract/contract-table.ts";
import { createApiRouter } from "../contract/instrumentation/router.ts";
import { observation } from "../contract/instrumentation/state.ts";
import { servedOperations } from "../contract/served-operations.ts";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";

it("names a test for each operation that is served, and for nothing else; `npm run contract -- --write` finds them", async () => {
  const [rows, served] = [readRows(), await servedOperations()];
  expect(tableErrors(rows, served)).toEqual([]);
  expect(rows.filter(({ file, name }) => name === "" || !existsSync(join(REPOSITORY_ROOT, file)))).toEqual([]);
  expect(readFileSync(join(REPOSITORY_ROOT, "docs/api-coverage.md"), "utf8")).toContain(summaryTable(rows, served));
});

/** Titles of tests as their sources have them; a pattern for those with placeholders. */
function titlesIn(files: readonly string[]): { exact: ReadonlySet<string>; patterns: readonly RegExp[] } {
  const exact = new Set<string>();
  const patterns = new Map<string, RegExp>();
  for (const file of files) {
    const source = readFileSync(file, "utf8");
    for (const [, , quoted = ""] of source.matchAll(/(?<=[([{,:\s])(["'`])((?:\\.|(?!\1)[^\\\n])*)\1/g)) {
      const title = quoted.replace(/\\(["'`\\])/g, "$1");
      if (!/%[sdij]|\$[\w{]/.test(title)) exact.add(title);
      else {
        const parts = title.split(/%[sdij]|\$\{[^}]*\}|\$\w+(?:\.\w+)*/);
        patterns.set(
          title,
          new RegExp(`^${parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*")}$`, "s"),
        );
      }
    }
  }
  return { exact, patterns: [...patterns.values()] };
}

it("names tests that there are; after a test is renamed, `npm run contract -- --write FILE` finds it again", () => {
  const folders = ["api", "api/access-matrix", "e2e"].map((name) => join(REPOSITORY_ROOT, "test", name));
  const files = folders.flatMap((folder) =>
    readdirSync(folder).flatMap((name) => (name.endsWith(".ts") ? [join(folder, name)] : [])),
  );
  const { exact, patterns } = titlesIn(files);
  // A pattern without words would match every title.
  const telling = patterns.filter(({ source }) => /[a-z]{3}/i.test(source.replace(/\\x?[\da-f]*|\.\*/g, "")));
  const isKnown = (part: string): boolean => exact.has(part) || telling.some((pattern) => pattern.test(part));
  // Names of a word or two may come from tables.
  const parts = readRows().flatMap(({ file, name }) =>
    name.split(" > ").flatMap((part) => (part.split(" ").length > 2 ? [[part, file] as const] : [])),
  );
  const unknown = [...new Map(parts)].filter(([part]) => !isKnown(part));
  expect(unknown).toEqual([]);
});

it("finds missing, dead and duplicate operations", () => {
  const row = (operation: string) => ({ operation, file: "a.test.ts", name: "a", isProven: true });
  const served = ["GET /v1/a", "GET /v1/b"].map((operation) => ({ operation, route: operation, group: "a" }));
  expect(tableErrors([row("GET /v1/a"), row("GET /v1/a"), row("GET /v1/c")], served)).toEqual([
    "GET /v1/b names no test",
    "GET /v1/c is not served",
    "GET /v1/a stands twice",
  ]);
});

it("removes one route as if it did not exist, and records who requested it", async () => {
  const endpoints = (["get", "put"] as const).map((method) => ({
    ...{ method, at: "v1/things/{thingId}" },
    serve: async () => ({ body: null }),
  }));
  const app = new Koa();
  app.use(async (context, next) => {
    context.body = "served";
    await next().catch((error: Error) => {
      context.body = error.constructor.name;
    });
  });
  app.use(createApiRouter(endpoints, (endpoint) => endpoint.serve({} as never)) as Koa.Middleware);
  const handle = app.callback() as (request: IncomingMessage, response: ServerResponse) => void;
  const ask = async (method: "GET" | "PUT"): Promise<string> =>
    (await inject(handle, { method, url: "/api/v1/things/1" })).payload;
  try {
    observation.without = "PUT /v1/things/{}";
    expect([await ask("GET"), observation.isMissed]).toEqual(["served", false]);
    expect([await ask("PUT"), observation.isMissed]).toEqual(["MethodNotAllowedError", true]);
  } finally {
    Object.assign(observation, { without: null, isMissed: false, met: null });
  }
});
