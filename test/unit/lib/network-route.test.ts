import { describe, expect, it } from "vitest";
import { UpstreamError } from "../../../src/lib/errors.ts";
import {
  addressTowards,
  interfaceAddress,
  isInterfaceName,
  isNetworkUnreachable,
  isOwnAddress,
  NetworkUnreachableError,
} from "../../../src/lib/network-route.ts";

describe("own addresses", () => {
  it("are found by address and by the name of the interface", () => {
    expect(interfaceAddress("127.0.0.1")).toBe("127.0.0.1");
    expect(interfaceAddress("lo")).toBe("127.0.0.1");
    expect(() => interfaceAddress("192.0.2.77")).toThrow(
      "Network unreachable: 192.0.2.77 is not an address of this machine, or its link is down.",
    );
    expect(() => interfaceAddress("none0")).toThrow(NetworkUnreachableError);
  });

  it("are compared in IPv6 notation, too", () => {
    const own = [{ name: "eth0", address: "10.1.2.3", family: "IPv4", internal: false }] as const;
    expect([isOwnAddress(own, "::ffff:10.1.2.3"), isOwnAddress(own, "10.1.2.4")]).toEqual([true, false]);
  });

  it.each([
    ["eth0", true],
    ["eth0.20", true],
    ["10.1.2.3", true],
    ["a-name-of-16-chars", false],
    ["eth0/20", false],
    ["", false],
    ["..", false],
  ])("may be chosen by %j: %s", (text, valid) => expect(isInterfaceName(text)).toBe(valid));
});

describe("addressTowards", () => {
  it("is the address that the system sends from", async () => {
    await expect(addressTowards("127.0.0.1")).resolves.toBe("127.0.0.1");
  });

  it("rejects where the system refuses the destination", async () => {
    // A limited broadcast needs a permission that the socket does not have.
    await expect(addressTowards("255.255.255.255")).rejects.toThrow("No network route to 255.255.255.255.");
  });
});

describe("isNetworkUnreachable", () => {
  it.each([
    [new NetworkUnreachableError("x"), true],
    [Object.assign(new Error("x"), { code: "ENETUNREACH" }), true],
    [Object.assign(new Error("x"), { code: "ECONNREFUSED" }), false],
    [new UpstreamError("upstream", "x"), false],
    [null, false],
  ])("of %s is %s", (error, expected) => expect(isNetworkUnreachable(error)).toBe(expected));
});
