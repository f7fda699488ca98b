import { describe, expect, it } from "vitest";
import { createConnectPolicy } from "../../../src/plugin-host/connect-policy.ts";

describe("where an installed plugin connects to", () => {
  it.each([
    ["api.example.org", "api.example.org", true],
    ["api.example.org", "API.Example.org.", true],
    ["api.example.org", "example.org", false],
    ["api.example.org", "evil-api.example.org", false],
    ["api.example.org", "api.example.org.evil.example", false],
    ["*.example.org", "a.b.example.org", true],
    ["*.example.org", "example.org", false],
    ["*.example.org", ".example.org", false],
    ["*.example.org", "evilexample.org", false],
  ])("names: %s declares %s: %s", (host, name, permitted) => {
    expect(createConnectPolicy([host], []).permitsName(name)).toBe(permitted);
  });

  it.each([
    [["203.0.113.1"], [], "203.0.113.1", true],
    [["203.0.113.1"], [], "203.0.113.2", false],
    [["203.0.113.0/24"], [], "203.0.113.2", true],
    [["203.0.113.0/24"], [], "::ffff:203.0.113.2", true],
    [["2001:db8::/32"], [], "2001:db8::1", true],
    [["239.1.0.0/16"], [], "239.1.2.3", true],
    [["239.1.0.0/16"], [], "239.2.2.3", false],
    [[], ["10.0.0.0/8"], "10.1.1.1", false],
    [["127.0.0.0/8"], [], "127.0.0.1", false],
    [["127.0.0.0/8"], ["127.0.0.1"], "127.0.0.1", true],
    [["::1"], [], "::1", false],
    [["::ffff:127.0.0.1"], [], "::ffff:127.0.0.1", false],
    [["0.0.0.0"], [], "0.0.0.0", false],
    [["169.254.0.0/16"], ["169.254.0.0/16"], "169.254.169.254", false],
    [["169.254.0.0/16"], [], "169.254.1.1", false],
    [["100.100.100.200"], ["100.100.100.200"], "100.100.100.200", false],
    [["fd00:ec2::254"], ["fd00:ec2::254"], "fd00:ec2::254", false],
    [["64:ff9b::7f00:1"], [], "64:ff9b::7f00:1", false],
    [["203.0.113.1"], [], "not an address", false],
  ])("addresses: %j with allowed targets %j permit %s: %s", (hosts, allowed, address, permitted) => {
    expect(createConnectPolicy(hosts, allowed).permitsAddress(address)).toBe(permitted);
  });

  it("permits addresses of permitted names, but not those of this machine behind one", () => {
    const policy = createConnectPolicy(["api.example.org", "here.example.org"], ["here.example.org"]);
    policy.resolved("api.example.org", "203.0.113.1");
    policy.resolved("api.example.org", "127.0.0.1");
    policy.resolved("here.example.org", "127.0.0.2");
    policy.resolved("here.example.org", "169.254.169.254");
    expect(["203.0.113.1", "127.0.0.1", "127.0.0.2", "169.254.169.254"].map(policy.permitsAddress)).toEqual([
      ...[true, false, true, false],
    ]);
  });

  it.each([
    ["http://203.0.113.1:8080/lamp", "203.0.113.1"],
    ["https://user:secret@203.0.113.1/", "203.0.113.1"],
    ["203.0.113.1:5060", "203.0.113.1"],
    ["203.0.113.1", "203.0.113.1"],
    ["sip:200@203.0.113.1:5060;transport=tcp", "203.0.113.1"],
    ["http://[2001:db8::1]:8080/", "2001:db8::1"],
    ["2001:db8::1", "2001:db8::1"],
    ["[2001:db8::1]:5060", "2001:db8::1"],
  ])("reads the host of %s", (text, address) => {
    const policy = createConnectPolicy([], []);
    policy.addTarget(text);
    expect(policy.permitsAddress(address)).toBe(true);
  });

  it.each(["", "*", "*.org", "http://", "a b", "0.0.0.0/0", "http://*/", "\u0000"])(
    "takes nothing from a target %j",
    (text) => {
      const policy = createConnectPolicy([], []);
      policy.addTarget(text);
      expect([policy.permitsName("example.org"), policy.permitsAddress("203.0.113.1")]).toEqual([false, false]);
    },
  );
});
