import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { type FetchOptions, guardedFetch } from "../../../src/lib/guarded-fetch.ts";
import { createSsrfGuard } from "../../../src/lib/ssrf-guard.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const NAMES: Record<string, string[]> = {
  "web.example": ["192.0.2.7"],
  "both.example": ["127.0.0.1", "192.0.2.8"],
  "inside.example": ["127.0.0.1"],
  "nowhere.example": [],
};

function policy(allowedTargets: string[] = []) {
  return createSsrfGuard({
    allowedTargets,
    localAddresses: () => ["10.1.2.3", "2001:db8::1"],
    resolve: async (host) => (NAMES[host] ?? []).map((address) => ({ address, family: 4 as const })),
  });
}

describe("the SSRF guard", () => {
  it.each([
    "127.0.0.1",
    "127.8.8.8",
    "0.0.0.0",
    "169.254.169.254",
    "224.0.0.1",
    "239.255.255.255",
    "255.255.255.255",
    "10.1.2.3",
    "[::1]",
    "::",
    "fe80::1",
    "ff02::1",
    "2001:db8::1",
    "[::ffff:127.0.0.1]",
    "::ffff:a9fe:a9fe",
    "inside.example",
    "nowhere.example",
    // IPv4 addresses inside of IPv6 ones: mapped, compatible, translated, NAT64, 6to4.
    "::ffff:10.1.2.3",
    "::127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a01:203",
    "64:ff9b:1::169.254.1.1",
    "2002:7f00:1::1",
  ])("refuses %s", async (host) => {
    await expect(policy().resolveAllowed(host)).rejects.toMatchObject({ type: "upstream" });
  });

  it.each([
    ["192.168.1.20", "192.168.1.20"],
    ["10.1.2.4", "10.1.2.4"],
    ["[2001:db8::2]", "2001:db8::2"],
    ["web.example", "192.0.2.7"],
    ["both.example", "192.0.2.8"],
  ])("lets %s through, to one address", async (host, address) => {
    expect(await policy().resolveAllowed(host)).toMatchObject({ address });
  });

  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.0/8", "127.9.9.9"],
    ["10.1.2.3", "10.1.2.3"],
    ["::1", "[::1]"],
    ["Inside.example", "inside.example"],
  ])("lets what the setting %s names through: %s", async (allowed, host) => {
    await expect(policy([allowed]).resolveAllowed(host)).resolves.toBeDefined();
    await expect(policy().resolveAllowed(host)).rejects.toThrow("not allowed");
  });

  const METADATA = [
    ...["169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"],
    ...[
      "[fd00:ec2::254]",
      "FD00:0EC2:0:0:0:0:0:0254",
      "::ffff:169.254.169.254",
      "::ffff:a9fe:a9fe",
      "::169.254.169.254",
    ],
    ...["64:ff9b::169.254.169.254", "64:ff9b::6464:64c8", "2002:a9fe:a9fe::1", "fd20:ce::254"],
  ];

  it.each(METADATA)("refuses the metadata address %s even if the settings allow it", async (host) => {
    const bare = host.replace(/^\[|\]$/g, "");
    for (const allowed of [[], ["0.0.0.0/0", "::/0"], [bare], [host]]) {
      await expect(policy(allowed).resolveAllowed(host)).rejects.toThrow("not allowed");
      expect(policy(allowed).isAllowed(bare)).toBe(false);
    }
  });

  it("refuses a name of a metadata address even if the settings allow the name", async () => {
    const resolve = async () => [{ address: "169.254.169.254", family: 4 as const }];
    const guard = createSsrfGuard({ allowedTargets: ["metadata.example"], localAddresses: () => [], resolve });
    await expect(guard.resolveAllowed("metadata.example")).rejects.toThrow("not allowed");
  });

  it("decides about addresses at once", () => {
    for (const [address, isAllowed] of [
      ...([
        ["192.168.1.20", true],
        ["127.0.0.1", false],
        ["10.1.2.3", false],
        ["fe80::1%eth0", false],
      ] as const),
      ...([
        ["web.example", false],
        ["", false],
        ["2130706433", false],
        ["0x7f.1", false],
        ["127.1", false],
      ] as const),
    ])
      expect([address, policy().isAllowed(address)]).toEqual([address, isAllowed]);
  });
});

describe("a guarded fetch", () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.close();
      server.closeAllConnections();
    }
  });

  async function serve(listener: Parameters<typeof createServer>[1]): Promise<string> {
    const server = createServer({}, listener);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  const call = (url: string, options: FetchOptions = {}, clock = systemClock, signal = new AbortController().signal) =>
    guardedFetch(url, options, { ssrfGuard: policy(["127.0.0.0/8"]), clock, signal });

  it("sends method, headers and body, and returns status, headers and body", async () => {
    const at = await serve((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part) => parts.push(part));
      request.on("end", () => {
        response.writeHead(201, { "X-Got": `${request.method} ${request.headers["x-a"]}` });
        response.end(`${request.url} ${Buffer.concat(parts)}`);
      });
    });
    const got = await call(`http://${at}/a?b=1`, { method: "POST", headers: { "X-A": "1" }, body: "grüße" });
    expect(got).toMatchObject({ status: 201, headers: { "x-got": "POST 1" }, body: "/a?b=1 grüße" });
  });

  it("connects to the checked address, whatever the name resolves to later", async () => {
    const at = await serve((request, response) => response.end(request.headers.host));
    const { port } = new URL(`http://${at}`);
    const got = await guardedFetch(
      `http://inside.example:${port}/`,
      {},
      { ssrfGuard: policy(["127.0.0.1"]), clock: systemClock, signal: new AbortController().signal },
    );
    expect(got.body).toBe(`inside.example:${port}`);
  });

  it("does not follow redirects", async () => {
    const at = await serve((_request, response) => response.writeHead(302, { Location: "http://127.0.0.1:1/" }).end());
    expect((await call(`http://${at}/`)).status).toBe(302);
  });

  it("fails when the response is too long, the connection is refused, or the URL is not http(s)", async () => {
    const at = await serve((_request, response) => response.end("x".repeat(1_048_577)));
    await expect(call(`http://${at}/`)).rejects.toThrow("longer than 1048576 bytes");
    await expect(call("http://127.0.0.1:1/secret-path")).rejects.toThrow(/^127\.0\.0\.1:1: connect ECONNREFUSED/);
    for (const url of ["file:///etc/hosts", "ftp://127.0.0.1/", "here"])
      await expect(call(url)).rejects.toThrow("must be http or https");
    await expect(call("http://224.0.0.9/")).rejects.toThrow("not allowed");
  });

  it("ends on timeout, and when the plugin stops", async () => {
    const asked: (() => void)[] = [];
    const at = await serve(() => asked.shift()?.());
    const arrival = (): Promise<void> => new Promise((resolve) => void asked.push(resolve));
    const clock = createFakeClock();
    let arrived = arrival();
    const slow = call(`http://${at}/`, { timeoutMs: 60_000 }, clock);
    await arrived;
    const slowed = expect(slow).rejects.toThrow("no response within 30 s");
    await clock.advance(30_000);
    await slowed;
    const stopping = new AbortController();
    arrived = arrival();
    const off = call(`http://${at}/`, {}, clock, stopping.signal);
    await arrived;
    stopping.abort();
    await expect(off).rejects.toThrow("aborted");
    await expect(call(`http://${at}/`, {}, clock, stopping.signal)).rejects.toThrow("aborted");
    expect(clock.pendingTimers()).toBe(0);
  });
});
