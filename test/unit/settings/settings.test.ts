import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { CallerError, UpstreamError } from "../../../src/lib/errors.ts";
import { loadSettings, parseSettings } from "../../../src/settings/load-settings.ts";
import {
  formatListenAddress,
  isTargetPattern,
  networkBounds,
  parseListenAddress,
} from "../../../src/settings/network-addresses.ts";
import { defaultSettings, settingsJsonSchema } from "../../../src/settings/schema.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const config = resolve(import.meta.dirname, "../../../config");

function faultOf(yaml: string): CallerError {
  try {
    parseSettings(yaml);
  } catch (error) {
    if (error instanceof CallerError) return error;
    throw error;
  }
  throw new Error(`no fault in: ${yaml}`);
}

describe("settings file", () => {
  it("fills in every default", () => {
    expect(parseSettings("# nothing\n")).toEqual(defaultSettings());
    expect(defaultSettings()).toEqual({
      listen: "127.0.0.1:8080",
      log: { level: "info" },
      api: {
        methodOverride: false,
        basicAuthentication: true,
        publicUrl: null,
        hosts: [],
        trustedProxies: [],
        origins: [],
        requestsPerMinute: { token: 60_000, address: 60_000 },
        concurrentRequests: { user: 32, address: 8 },
      },
      auth: { passwordMinLength: 12, tokenLifetimeDays: 365, confirmationMinutes: 15 },
      security: { contact: null, languages: ["en"] },
      network: { allowedTargets: [], multicastInterface: null },
      audio: { multicastRange: "239.192.16.0/24", emergencyRange: "239.192.17.0/24", ttl: 16, livePageSeconds: 300 },
      readiness: { testedWithinDays: 90, reducedByPercent: 20 },
      broadcasts: { secondPerson: false, secondPersonMinutes: 2 },
      scenarios: { syntheticSiteQuestion: true },
      site: { country: null },
      phoneNumbers: { allowedPrefixes: null },
      bells: { gap: "ring-at-end", fold: "first" },
      timeZones: { folder: "/usr/share/zoneinfo" },
      callManagers: {
        ...{ full: "30 2 * * *", delta: "*/15 * * * *", partial: "*/2 * * * *" },
        ...{ snmpPort: 161, allowDes: false, authorities: null },
      },
      quietTests: { schedule: "30 3 * * *", provenWithinHours: 48 },
      backups: { folder: null, schedule: "30 2 * * *", keepDays: 7, keepWeeks: 4, recipients: [] },
      retention: {
        ...{ schedule: "15 4 * * *", messages: 90, bells: 90, emergencies: 3_650, incidents: 3_650 },
        ...{ answers: 1_095, positions: 30 },
      },
      cloud: { address: null, authority: null, heartbeatSeconds: 20, proxy: null },
      failover: { listen: null, peers: [] },
      audit: { authority: null, file: null, syslog: null },
      heartbeat: { url: null, everySeconds: 30 },
      hub: { database: null, organisation: "default" },
      tls: { listen: "auto" },
      trust: { licences: [], upgrades: [], plugins: [], unsignedPlugins: true },
      plugins: {},
    });
  });

  it("keeps the given values beside the defaults of the same group", () => {
    const settings = parseSettings("audio: {ttl: 3}\nplugins: {ip-phones: {listen: {auth: {port: 8081}}}}");
    expect(settings.audio).toEqual({ ...defaultSettings().audio, ttl: 3 });
    expect(settings.plugins["ip-phones"]?.listen.auth).toEqual({ host: "127.0.0.1", port: 8081, publicUrl: null });
  });

  it.each([
    ["listen: nowhere", "listen"],
    ["audio: {ttl: 0}", "audio.ttl"],
    ["audio: {multicastRange: 10.0.0.0/8}", "audio.multicastRange"],
    ["audio: {emergencyRange: 239.192.16.128/25}", "audio.emergencyRange"],
    ["network: {multicastInterface: voice/vlan}", "network.multicastInterface"],
    ["network: {allowedTargets: [10.0.0.0/99]}", "network.allowedTargets.0"],
    ["plugins: {ip-phones: {listen: {auth: {port: 70000}}}}", "plugins.ip-phones.listen.auth.port"],
    ["plugins: {ip-phones: {listen: {auth: {publicUrl: 'ftp://x'}}}}", "plugins.ip-phones.listen.auth.publicUrl"],
    ["plugins: {ip-phones: {listen: {auth: {publicUrl: 'http://a:b@x'}}}}", "plugins.ip-phones.listen.auth.publicUrl"],
    ["api: {methodOverride: 'yes'}", "api.methodOverride"],
    ["api: null", "api"],
  ])("names the invalid setting of %s", (yaml, field) => {
    expect(faultOf(yaml).faults.map((fault) => fault.field)).toEqual([field]);
  });

  it("refuses unknown names, lists and broken YAML with its line", () => {
    expect(faultOf("listne: 127.0.0.1:80").message).toContain("listne");
    expect(faultOf("- listen").faults).toHaveLength(1);
    expect(faultOf("listen: 127.0.0.1:80\nlog: {level: info").message).toMatch(/^line \d+:/);
    expect(faultOf("log: {level: info}\nlog: {level: debug}").message).toMatch(/^line 2:/);
  });

  it("never quotes the actual value", () => {
    expect(faultOf("log: {level: hunter2}").message).not.toContain("hunter2");
    expect(faultOf("network: {multicastInterface: hunter2 hunter2}").message).not.toContain("hunter2");
  });

  it("refuses alias bombs", () => {
    const bomb = [
      "a: &a [x,x,x,x,x,x,x,x,x,x]",
      "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]",
      "c: [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]",
    ];
    expect(faultOf(bomb.join("\n")).message).toMatch(/alias/i);
  });

  it("reads a file and names one that cannot be read", () => {
    const path = join(makeTempDir(), "settings.yaml");
    writeFileSync(path, "listen: '[::1]:9000'\n");
    expect(loadSettings(path).listen).toBe("[::1]:9000");
    expect(() => loadSettings(`${path}.missing`)).toThrow(UpstreamError);
  });
});

describe("config folder", () => {
  it("contains the current JSON Schema (renew it with `npm run -s carillon -- settings schema`)", () => {
    const stored: unknown = JSON.parse(readFileSync(join(config, "settings.schema.json"), "utf8"));
    expect(stored).toEqual(settingsJsonSchema());
  });

  it("contains a valid example with every setting and its default", () => {
    const example = join(config, "carillon.example.yaml");
    const { plugins, ...rest } = loadSettings(example);
    const { plugins: _none, ...defaults } = defaultSettings();
    expect(rest).toEqual(defaults);
    expect(parse(readFileSync(example, "utf8"))).toEqual({ ...defaults, plugins: expect.anything() });
    expect(Object.keys(plugins)).toEqual(["ip-phones"]);
  });
});

describe("addresses", () => {
  it.each([
    ["127.0.0.1:0", { host: "127.0.0.1", port: 0 }],
    ["[::1]:8080", { host: "::1", port: 8080 }],
    ["localhost:65535", { host: "localhost", port: 65_535 }],
  ])("reads %s", (text, address) => {
    expect(parseListenAddress(text)).toEqual(address);
    expect(formatListenAddress(address)).toBe(text);
  });

  it.each(["", "8080", ":8080", "host:", "host:65536", "::1:80", "[host]:80", "a b:1", "http://x:1"])(
    "refuses %j",
    (text) => {
      expect(parseListenAddress(text)).toBeNull();
    },
  );

  it.each([
    ["10.1.2.3", true],
    ["10.0.0.0/8", true],
    ["fd00::/8", true],
    ["pbx.school.example", true],
    ["10.0.0.0/33", false],
    ["10.0.0.0/8/8", false],
    ["host/8", false],
    ["-x", false],
    ["", false],
  ])("accepts %j as a target: %s", (text, good) => {
    expect(isTargetPattern(text)).toBe(good);
  });

  it.each([
    ["239.192.16.0/24", "239.192.16.0", "239.192.16.255"],
    ["239.192.16.77/30", "239.192.16.76", "239.192.16.79"],
    ["239.0.0.0/8", "239.0.0.0", "239.255.255.255"],
    ["239.1.2.3/32", "239.1.2.3", "239.1.2.3"],
  ])("computes the bounds of %s", (network, first, last) => {
    expect(networkBounds(network)).toEqual({ first, last });
  });
});
