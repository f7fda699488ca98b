import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { clientOf, createForwardedClientReader } from "../../../src/http/forwarded-client.ts";

const TRUSTED = ["10.0.0.0/8", "2001:db8:1::/48", "127.0.0.1"];

function clientBehind(from: string, headers: Record<string, string>, trusted = TRUSTED) {
  const raw = { socket: { remoteAddress: from }, headers } as unknown as IncomingMessage;
  const isForwarded = createForwardedClientReader(trusted)(raw);
  return { ...clientOf(raw), isForwarded };
}

const FOR = (value: string) => ({ "x-forwarded-for": value });

describe("the client behind a proxy", () => {
  it.each<[string, Record<string, string>, string]>([
    ["10.0.0.1", FOR("203.0.113.5"), "203.0.113.5"],
    ["::ffff:10.0.0.1", FOR("203.0.113.5"), "203.0.113.5"],
    // What a client invents is further to the left.
    ["10.0.0.1", FOR("1.2.3.4, 203.0.113.5"), "203.0.113.5"],
    ["10.0.0.1", FOR("127.0.0.1, 203.0.113.5, 10.9.9.9"), "203.0.113.5"],
    ["10.0.0.1", FOR("203.0.113.5:4711"), "203.0.113.5"],
    ["10.0.0.1", FOR("[2001:db8:2::7]:443"), "2001:db8:2::7"],
    ["10.0.0.1", FOR("2001:db8:2::7"), "2001:db8:2::7"],
    ["2001:db8:1::1", FOR("::ffff:203.0.113.5"), "203.0.113.5"],
    // All hops are proxies: the first of them.
    ["10.0.0.1", FOR("10.0.0.3, 10.0.0.2"), "10.0.0.3"],
    // An unreadable hop ends the search.
    ["10.0.0.1", FOR("203.0.113.5, nonsense"), "10.0.0.1"],
    ["10.0.0.1", FOR("203.0.113.5, unknown, 10.0.0.2"), "10.0.0.2"],
    ["10.0.0.1", FOR(""), "10.0.0.1"],
    ["10.0.0.1", FOR("999.1.1.1"), "10.0.0.1"],
    ["10.0.0.1", {}, "10.0.0.1"],
    ["10.0.0.1", { forwarded: 'for=1.2.3.4, for="[2001:db8:2::7]:80";proto=https;by=10.0.0.1' }, "2001:db8:2::7"],
    ["10.0.0.1", { forwarded: "for=_hidden" }, "10.0.0.1"],
    ["10.0.0.1", { forwarded: "for=203.0.113.5;proto=https", ...FOR("203.0.113.5") }, "203.0.113.5"],
    // One of the two comes from the client.
    ["10.0.0.1", { forwarded: "for=203.0.113.6", ...FOR("203.0.113.5") }, "10.0.0.1"],
    ["10.0.0.1", { forwarded: "for=203.0.113.6", ...FOR("1.2.3.4, 203.0.113.5") }, "10.0.0.1"],
    ["10.0.0.1", { forwarded: "for=unknown", ...FOR("203.0.113.5") }, "10.0.0.1"],
    ["203.0.113.9", FOR("10.0.0.1"), "203.0.113.9"],
    ["203.0.113.9", { forwarded: "for=10.0.0.1;proto=https" }, "203.0.113.9"],
  ])("from %s with %j is %s", (from, headers, address) => {
    expect(clientBehind(from, headers).address).toBe(address);
  });

  it("is encrypted if the proxy says so, and only then", () => {
    const secureBehind = (from: string, headers: Record<string, string>) => clientBehind(from, headers).secure;
    const client = FOR("203.0.113.5");
    expect(secureBehind("10.0.0.1", { ...client, "x-forwarded-proto": "https" })).toBe(true);
    expect(secureBehind("10.0.0.1", { ...client, "x-forwarded-proto": "https, http" })).toBe(false);
    expect(secureBehind("10.0.0.1", { forwarded: "for=203.0.113.5;proto=HTTPS" })).toBe(true);
    expect(secureBehind("10.0.0.1", client)).toBe(false);
    expect(secureBehind("203.0.113.9", { ...client, "x-forwarded-proto": "https" })).toBe(false);
  });

  it("is that of the connection without trusted proxies", () => {
    expect(clientBehind("10.0.0.1", FOR("203.0.113.5"), [])).toEqual({
      ...{ address: "10.0.0.1", secure: false, isForwarded: false },
    });
  });

  it("is found in a long chain without reading all of it", () => {
    const chain = Array.from({ length: 5_000 }, () => "10.0.0.2").join(", ");
    expect(clientBehind("10.0.0.1", FOR(`203.0.113.5, ${chain}`)).address).toBe("10.0.0.2");
  });
});
