import { request } from "node:http";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, it } from "vitest";
import { addressForms, isMetadataAddress, refuseMetadataAddresses } from "../../../src/lib/metadata-addresses.ts";

const errorOf = (socket: { once(name: "error", handler: (error: NodeJS.ErrnoException) => void): unknown }) =>
  new Promise<string | undefined>((resolve) => void socket.once("error", ({ code }) => resolve(code)));

describe("metadata addresses", () => {
  it("are recognised in every spelling, and others are not", () => {
    for (const address of ["168.63.129.16", "::ffff:168.63.129.16", "64:ff9b::a83f:8110", "fd00:ec2::254%eth0"])
      expect([address, isMetadataAddress(address)]).toEqual([address, true]);
    for (const address of ["168.63.129.17", "10.0.0.1", "::1", "2001:db8::a9fe:a9fe", "metadata", ""])
      expect([address, isMetadataAddress(address)]).toEqual([address, false]);
  });

  it("are found in IPv6 addresses", () => {
    expect(addressForms("10.0.0.1")).toEqual(["10.0.0.1"]);
    expect(addressForms("2001:db8::1")).toEqual(["2001:db8::1"]);
    expect(addressForms("64:ff9b::10.0.0.1")).toEqual(["64:ff9b::10.0.0.1", "10.0.0.1"]);
    expect(addressForms("2002:a00:1::5")).toEqual(["2002:a00:1::5", "10.0.0.1"]);
  });

  it("cannot be connected to, by any kind of socket", async () => {
    refuseMetadataAddresses();
    refuseMetadataAddresses();
    const to = "169.254.169.254";
    const lookup = ((_host: string, options: { all?: boolean }, done: (...given: unknown[]) => void) =>
      options.all ? done(null, [{ address: to, family: 4 }]) : done(null, to, 4)) as never;
    expect(await errorOf(connect(80, to))).toBe("EHOSTUNREACH");
    expect(await errorOf(connect({ host: to, port: 80 }))).toBe("EHOSTUNREACH");
    expect(await errorOf(connect({ host: "::ffff:169.254.169.254", port: 80 }))).toBe("EHOSTUNREACH");
    expect(await errorOf(connectTls({ host: to, port: 443 }))).toBe("EHOSTUNREACH");
    expect(await errorOf(request(`http://${to}/latest/meta-data`).end())).toBe("EHOSTUNREACH");
    // The name of a friend, which leads there.
    expect(await errorOf(connect({ host: "friend.example", port: 80, lookup }))).toBe("EHOSTUNREACH");
    expect(await errorOf(connect({ host: "friend.example", port: 80, lookup, autoSelectFamily: false }))).toBe(
      "EHOSTUNREACH",
    );
  });
});
