import { expect, it } from "vitest";
import { defaultSettings } from "../../../src/settings/schema.ts";
import { isLoopbackHost, tlsAddress } from "../../../src/settings/tls-address.ts";

const settings = defaultSettings();
const at = (listen: "auto" | string | null, trustedProxies: string[] = []) => ({
  tls: { listen },
  api: { ...settings.api, trustedProxies },
});

it.each([
  ["auto", "0.0.0.0", 8080, false, { host: "0.0.0.0", port: 8443 }],
  ["auto", "10.1.2.3", 80, false, { host: "10.1.2.3", port: 8443 }],
  ["auto", "::", 8443, false, { host: "::", port: 8444 }],
  ["auto", "0.0.0.0", 0, false, { host: "0.0.0.0", port: 0 }],
  ["auto", "127.0.0.1", 8080, false, { plain: "loopback" }],
  ["auto", "127.9.9.9", 8080, false, { plain: "loopback" }],
  ["auto", "::1", 8080, false, { plain: "loopback" }],
  ["auto", "localhost", 8080, false, { plain: "loopback" }],
  ["auto", "0.0.0.0", 8080, true, { plain: "earlier-data" }],
  ["auto", "localhost.example.org", 8080, false, { host: "localhost.example.org", port: 8443 }],
  [null, "0.0.0.0", 8080, false, { plain: "setting" }],
  ["0.0.0.0:9443", "127.0.0.1", 8080, true, { host: "0.0.0.0", port: 9443 }],
] as const)("tls.listen %s with listen %s:%d", (tls, host, port, isEarlierData, wanted) => {
  expect(tlsAddress(at(tls), { host, port }, isEarlierData)).toEqual(wanted);
});

it("leaves TLS to a proxy", () => {
  const address = { host: "0.0.0.0", port: 8080 };
  expect(tlsAddress(at("auto", ["10.0.0.1"]), address, false)).toEqual({ plain: "proxy" });
  expect(tlsAddress(at("0.0.0.0:9443", ["10.0.0.1"]), address, false)).toEqual({ host: "0.0.0.0", port: 9443 });
});

it("knows loopback addresses", () => {
  expect(
    ["127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "128.0.0.1", "1270.example.org"].map(isLoopbackHost),
  ).toEqual([true, true, true, false, false, false, false]);
});
