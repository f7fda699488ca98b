import { existsSync, readFileSync } from "node:fs";
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
