import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createConcurrencyLimit } from "../../plugins/ip-phones/concurrency-limit.ts";
import { phoneAddressOf } from "../../plugins/ip-phones/phone.ts";
import { createPhoneClient } from "../../plugins/ip-phones/phone-client.ts";
import { parseSipUri } from "../../plugins/sip/user-agent/sip-uri.ts";
import { openSipUserAgent } from "../../plugins/sip/user-agent/user-agent.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createSsrfGuard } from "../../src/lib/ssrf-guard.ts";

/** What a user with the right to change devices would like to read: something on the appliance itself. */
let inside: Server;
let calls = 0;
beforeAll(async () => {
  inside = createServer((_request, response) => {
    calls += 1;
    response.writeHead(418).end("secret");
  });
  await new Promise<void>((resolve) => inside.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  inside.close();
  inside.closeAllConnections();
});

const TARGETS = ["127.0.0.1", "169.254.1.1", "169.254.169.254", "0.0.0.0", "100.100.100.200", "168.63.129.16"];
const { isAllowed } = createSsrfGuard({ allowedTargets: [] });

describe("addresses of devices", () => {
  it.each([...TARGETS, "::1", "::ffff:127.0.0.1", "fd00:ec2::254"])("of a phone must not be %s", async (IPAddress) => {
    const { port } = inside.address() as AddressInfo;
    const attributes = { IPAddress, HttpPort: String(port) };
    const { phone } = phoneAddressOf({ id: "", deviceIdentifier: "SEP1", type: "phone", attributes } as never);
    if (!phone) throw new Error("no address");
    const limit = createConcurrencyLimit(systemClock, { min: 1, start: 1, max: 1 });
    const ask = createPhoneClient(systemClock, new AbortController().signal, limit, isAllowed);
    const { answer, error } = await ask(phone, { method: "GET", path: "/", headers: {}, body: "" });
    expect(answer).toBeUndefined();
    expect(error).toEqual({ message: `the address ${IPAddress} is not in network.allowedTargets`, retryable: false });
    expect(calls).toBe(0);
  });

  it.each(TARGETS)("of a SIP device must not be %s", async (host) => {
    const nothing = { tls: null, authority: null, onError: () => undefined } as const;
    const agent = await openSipUserAgent({
      ...{ ...nothing, clock: systemClock, port: 0, address: "127.0.0.1", isTargetAllowed: isAllowed },
    });
    const { port } = inside.address() as AddressInfo;
    const uri = parseSipUri(`sip:x@${host}:${port};transport=tcp`);
    if (!uri) throw new Error("no URI");
    for (const protocol of ["tcp", "udp"] as const)
      await expect(agent.options(uri, { protocol, host, port }, null)).rejects.toThrow(
        "is not in network.allowedTargets",
      );
    await agent.close();
    expect(calls).toBe(0);
  });
});
