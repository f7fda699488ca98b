import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import { createHostCheck, isSameOrigin } from "../../../src/auth/host-check.ts";
import { buildSessionCookie, readSessionCookie } from "../../../src/auth/session-cookie.ts";

describe("Host check", () => {
  const isOurs = createHostCheck({ listen: "bells.example.org:8080", hosts: ["Alias.example.org", "192.0.2.7"] });

  it.each([
    ["localhost", true],
    ["LOCALHOST:8080", true],
    ["localhost.", true],
    ["127.0.0.1:1", true],
    ["[::1]:8080", true],
    ["::1", true],
    ["10.1.2.3:8080", true],
    [hostname(), true],
    [`${hostname().split(".")[0]}.local`, true],
    ["bells.example.org", true],
    ["alias.example.org:443", true],
    ["192.0.2.7", true],
    ["10.1.2.4", false],
    ["evil.example.org", false],
    ["localhost.evil.example.org", false],
    ["127.0.0.1.evil.example.org", false],
    ["", false],
    ["[::1", false],
    ["localhost:8080:1", false],
  ])("%s: %s", (host, ours) => {
    expect(isOurs({ host, localAddress: "::ffff:10.1.2.3" })).toBe(ours);
  });

  it("accepts a request without a Host header", () => {
    expect(isOurs({ host: null, localAddress: "10.1.2.3" })).toBe(true);
  });
});

describe("CSRF check of the Origin header", () => {
  it.each([
    ["http://box:8080", "box:8080", false, true],
    ["http://BOX:8080", "box:8080", false, true],
    ["http://box", "box:80", false, true],
    ["https://box", "box", false, true],
    ["https://box", "box", true, true],
    ["http://box", "box", true, false],
    ["http://box:8081", "box:8080", false, false],
    ["http://other:8080", "box:8080", false, false],
    ["ftp://box:8080", "box:8080", false, false],
    ["null", "box:8080", false, false],
    [null, "box:8080", false, false],
    ["http://box", null, false, false],
  ])("%s at %s (TLS %s): %s", (origin, host, secure, own) => {
    expect(isSameOrigin(origin, host, secure)).toBe(own);
  });
});

describe("session cookie", () => {
  it("is HttpOnly and SameSite=Strict, and with TLS bound to this host", () => {
    expect(buildSessionCookie("t", false)).toBe("carillon=t; Path=/; HttpOnly; SameSite=Strict");
    expect(buildSessionCookie("t", true)).toBe("__Host-carillon=t; Path=/; HttpOnly; SameSite=Strict; Secure");
    expect(buildSessionCookie(null, false)).toContain("; Max-Age=0");
  });

  it.each([
    ["a=1; carillon=t; b=2", false, "t"],
    ["carillon=t", true, null],
    ["__Host-carillon=t", true, "t"],
    ["__Host-carillon=t", false, null],
    ["xcarillon=t", false, null],
    ["carillon=", false, null],
    [null, false, null],
  ])("is found in %s (TLS %s): %s", (header, secure, token) => {
    expect(readSessionCookie(header, secure)).toBe(token);
  });
});
