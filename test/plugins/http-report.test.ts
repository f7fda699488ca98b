import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/http-report/index.ts";
import { type InlinePlugin, runInline } from "./inline-plugin.ts";

let running: InlinePlugin | undefined;
let closeServer: (() => Promise<void>) | undefined;
afterEach(async () => {
  await running?.close();
  await closeServer?.();
  running = undefined;
  closeServer = undefined;
});

const requests: { authorization: string | undefined; body: unknown }[] = [];

async function service(status: number, body: string): Promise<string> {
  requests.length = 0;
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString("utf8");
    requests.push({ authorization: request.headers.authorization, body: JSON.parse(text) });
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closeServer = () => new Promise((resolve) => server.close(() => resolve()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/report`;
}

async function run(reports: unknown): Promise<InlinePlugin> {
  running = await runInline(plugin, { config: { reports, secret: "s3cret" } });
  return running;
}

const badges = (url: string) => ({
  ...{ key: "badges", name: "Badges", url, columns: ["person", "door", "count", "more"] },
  parameters: [{ name: "building", description: "Only this building.", required: true }],
});
const ASKED = { parameters: { building: "A" }, userId: "u-1" };

describe("a report of a service", () => {
  it("is offered with its parameters, and its lines are fetched by column", async () => {
    const data = [{ person: "Eve", count: 3, more: { a: 1 } }, ["Bob", "North", null, true], null];
    const url = await service(200, JSON.stringify({ data }));
    const { reports, report } = await run([badges(url)]);
    const { url: _url, ...offered } = badges(url);
    expect(reports).toEqual([{ ...offered, description: "" }]);
    expect(await report("badges", ASKED)).toEqual({
      lines: [
        ["Eve", null, 3, '{"a":1}'],
        ["Bob", "North", null, true],
        [null, null, null, null],
      ],
    });
    expect(requests).toEqual([{ authorization: "Bearer s3cret", body: { report: "badges", ...ASKED } }]);
  });

  it.each([
    [500, "{}", "the service responded with HTTP 500"],
    [200, "[]", "the response must be an object with a list of lines, data"],
    [200, "no", "the response must be an object with a list of lines, data"],
    [200, '{"data": {}}', "the response must be an object with a list of lines, data"],
  ])("says what is wrong with %s %s", async (status, body, problem) => {
    const { report } = await run([badges(await service(status, body))]);
    expect(await report("badges", ASKED)).toEqual({ problem });
  });

  it.each([
    ["a key with a space", { key: "a b" }, "reports[0] must have a key of lower-case letters, digits and hyphens"],
    ["no name", { name: " " }, "reports[0] must have a name of at most 140 characters"],
    ["a file", { url: "file:///etc/passwd" }, "reports[0] must have an http or https url"],
    ["no columns", { columns: [] }, "reports[0] must have 1 to 100 columns"],
    ["a column twice", { columns: ["a", "a"] }, "reports[0] must have different columns of at most 140 characters"],
    [
      "a parameter with brackets",
      { parameters: [{ name: "a[b]" }] },
      "reports[0] has a parameter without a name of letters, digits and underscores",
    ],
  ])("is not offered with %s, and the others are", async (_what, change, reason) => {
    const url = "https://doors.example.org/report";
    const { reports, statuses } = await run([
      { ...badges(url), ...change },
      { ...badges(url), key: "other" },
    ]);
    expect(reports.map(({ key }) => key)).toEqual(["other"]);
    expect(statuses).toEqual([{ state: "degraded", reason }]);
  });
});
