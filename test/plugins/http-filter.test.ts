import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/http-filter/index.ts";
import type { DeviceFilterRequest } from "../../src/plugin-api/index.ts";
import { type InlinePlugin, runInline } from "./inline-plugin.ts";

const REQUEST: DeviceFilterRequest = {
  ...{ notificationId: "n-1", subject: "Fire drill", priority: 5, drill: true },
  candidates: [
    { id: "d-1", type: "phones", deviceIdentifier: "SEP1", name: "Hall", userId: null },
    { id: "d-2", type: "email", deviceIdentifier: "eve@example.org", name: "Mail", userId: "u-2" },
  ],
};

let running: InlinePlugin | undefined;
let closeServer: (() => Promise<void>) | undefined;
const requests: { authorization: string | undefined; body: unknown }[] = [];
afterEach(async () => {
  await running?.close();
  await closeServer?.();
  running = undefined;
  closeServer = undefined;
  requests.length = 0;
});

/** A service on loopback that answers every request so, or never. */
async function service(answer: { status?: number; body: string } | "never"): Promise<string> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    requests.push({
      authorization: request.headers.authorization,
      body: JSON.parse(Buffer.concat(parts).toString("utf8")),
    });
    if (answer !== "never") response.writeHead(answer.status ?? 200).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closeServer = () =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/filter`;
}

async function run(config: object, options: { allowedTargets?: readonly string[] } = {}): Promise<InlinePlugin> {
  running = await runInline(plugin, { config: { url: null, secret: null, timeoutMs: 500, ...config }, ...options });
  return running;
}

describe("the filter service", () => {
  it("gets the devices and the secret, and names those to leave out", async () => {
    const url = await service({ body: JSON.stringify({ exclude: ["d-2"], reason: "off duty" }) });
    const { filter } = await run({ url, secret: "s3cret" });
    expect(await filter(REQUEST)).toEqual({ excluded: ["d-2"], reason: "off duty" });
    const { candidates, ...message } = REQUEST;
    expect(requests).toEqual([{ authorization: "Bearer s3cret", body: { ...message, devices: candidates } }]);
  });

  it.each([
    ["another status", { status: 503, body: "{}" }, "the service responded with HTTP 503"],
    ["a redirect", { status: 302, body: "" }, "the service responded with HTTP 302"],
    ["no JSON", { body: "<html>" }, "the response must be an object with a list of ids, exclude"],
    ["no list", { body: '{"exclude": "d-2"}' }, "the response must be an object with a list of ids, exclude"],
    ["numbers", { body: '{"exclude": [2]}' }, "the response must be an object with a list of ids, exclude"],
    ["a reason that is no text", { body: '{"exclude": [], "reason": 1}' }, "the member reason must be a text"],
  ])("leaves out nothing with %s", async (_what, answer, problem) => {
    const { filter, statuses } = await run({ url: await service(answer) });
    expect(await filter(REQUEST)).toEqual({ problem });
    expect(statuses.at(-1)).toEqual({ state: "degraded", reason: problem });
  });

  it("leaves out nothing when it is late, or may not be asked", async () => {
    const url = await service("never");
    const { filter, close } = await run({ url, timeoutMs: 100 });
    expect(await filter(REQUEST)).toEqual({ problem: expect.stringMatching(/: no response within 0\.1 s$/) });
    await close();
    const refused = await run({ url }, { allowedTargets: [] });
    expect(await refused.filter(REQUEST)).toEqual({ problem: expect.any(String) });
    expect(requests).toHaveLength(1);
  });

  it("is not asked before it is set up", async () => {
    const { filter, statuses } = await run({});
    expect(statuses).toEqual([{ state: "unconfigured", reason: "url must be set" }]);
    expect(await filter(REQUEST)).toEqual({ excluded: [] });
  });
});
