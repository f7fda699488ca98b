import { describe, expect, it } from "vitest";
import { CallerError } from "../../../../src/lib/errors.ts";
import { parseLatency, sampleLatency } from "../../../../src/tools/simulator/latency.ts";
import { parseSimulatorOptions } from "../../../../src/tools/simulator/options.ts";
import { parseBasicAuthorization } from "../../../../src/tools/simulator/push-authentication.ts";
import { parseRtp } from "../../../../src/tools/simulator/rtp.ts";
import { parseRtpUri } from "../../../../src/tools/simulator/rtp-uri.ts";
import { seededRandom, seededShuffle } from "../../../../src/tools/simulator/seeded-random.ts";
import { escapeXml, parseXml } from "../../../../src/tools/simulator/xml.ts";

describe("options", () => {
  it("are empty by default", () => {
    expect(parseSimulatorOptions([])).toEqual({
      phones: 0,
      zones: 0,
      offline: 0,
      mute: 0,
      noRtp: 0,
      latency: { kind: "fixed", ms: 0 },
      seed: 0,
      authUrl: null,
      loss: 0,
      services: false,
    });
    expect(parseSimulatorOptions(["--help"])).toBe("help");
  });

  it("read every flag", () => {
    const line = "--phones 9 --zones 2 --offline 3 --mute 2 --no-rtp 1 --seed 7 --loss .5 --auth-url http://a/b?c=d";
    expect(parseSimulatorOptions([...line.split(" "), "--latency", "uniform:20:200"])).toEqual({
      phones: 9,
      zones: 2,
      offline: 3,
      mute: 2,
      noRtp: 1,
      latency: { kind: "uniform", fromMs: 20, toMs: 200 },
      seed: 7,
      authUrl: "http://a/b?c=d",
      loss: 0.5,
      services: false,
    });
  });

  it.each([
    "--phones -1",
    "--phones many",
    "--phones 50001",
    "--phones 3 --offline 2 --mute 2",
    "--loss 2",
    "--latency soon",
    "--latency uniform:200:20",
    "--latency lognormal:60:100:200",
    "--auth-url ftp://host/",
    "--colour red",
    "stray",
  ])("refuse %s", (line) => {
    expect(() => parseSimulatorOptions(line.split(" "))).toThrow(CallerError);
  });
});

describe("latency", () => {
  const draws = (spec: string): number[] =>
    Array.from({ length: 4000 }, (_, n) => sampleLatency(parseLatency(spec), (k) => seededRandom(1, n, k))).sort(
      (a, b) => a - b,
    );

  it("is fixed or evenly spread", () => {
    expect(new Set(draws("fixed:12.5"))).toEqual(new Set([12.5]));
    const even = draws("uniform:20:200");
    expect(even[0]).toBeGreaterThanOrEqual(20);
    expect(even.at(-1)).toBeLessThan(200);
    expect(Math.abs((even[2000] ?? 0) - 110)).toBeLessThan(6);
  });

  it("has a log-normal's median and long tail within its limits", () => {
    const drawn = draws("lognormal:60:5:2000");
    expect(Math.abs((drawn[2000] ?? 0) - 60)).toBeLessThan(6);
    expect(drawn[0]).toBeGreaterThanOrEqual(5);
    expect(drawn.at(-1)).toBeLessThanOrEqual(2000);
    expect(drawn[3960]).toBeGreaterThan(400);
  });
});

describe("chance", () => {
  it("depends on seed and parts alone, and is even", () => {
    expect(seededRandom(1, 2, 3)).toBe(seededRandom(1, 2, 3));
    expect(
      new Set([
        seededRandom(1, 2, 3),
        seededRandom(2, 2, 3),
        seededRandom(1, 3, 2),
        seededRandom(1, 2),
        seededRandom(1, 2, 3, 0),
      ]).size,
    ).toBe(5);
    const drawn = Array.from({ length: 10_000 }, (_, n) => seededRandom(5, n));
    for (let tenth = 0; tenth < 10; tenth++) {
      const share = drawn.filter((value) => Math.floor(value * 10) === tenth).length;
      expect(Math.abs(share - 1000)).toBeLessThan(150);
    }
  });

  it("orders by seed and leaves its input alone", () => {
    const values = Array.from({ length: 50 }, (_, n) => n);
    const mixed = seededShuffle(values, 3, 1);
    expect(mixed).not.toEqual(values);
    expect(mixed).toEqual(seededShuffle(values, 3, 1));
    expect(mixed).not.toEqual(seededShuffle(values, 4, 1));
    expect([...mixed].sort((a, b) => a - b)).toEqual(values);
  });
});

describe("RTP URIs", () => {
  it.each([
    ["RTPMRx:239.1.2.3:20480", { kind: "listen", cast: "multicast", address: "239.1.2.3", port: 20_480 }],
    ["RTPMRx:239.1.2.3:32768:70", { kind: "listen", cast: "multicast", address: "239.1.2.3", port: 32_768 }],
    ["RTPMRx:239.1.2.3:20480:70:1", { kind: "listen", cast: "multicast", address: "239.1.2.3", port: 20_480 }],
    ["RTPRx:10.0.0.1:20482", { kind: "listen", cast: "unicast", address: "10.0.0.1", port: 20_482 }],
    ["RTPRx:Stop", { kind: "stop", cast: "any" }],
    ["RTPMRx:Stop", { kind: "stop", cast: "multicast" }],
  ])("%s", (uri, expected) => expect(parseRtpUri(uri)).toEqual(expected));

  it.each([
    "RTPMRx:239.1.2.3:20481",
    "RTPMRx:239.1.2.3:20478",
    "RTPMRx:239.1.2.3:32770",
    "RTPMRx:239.1.2.3",
    "RTPMRx:10.0.0.1:20480",
    "RTPMRx:host:20480",
    "RTPMRx:239.1.2.3:20480:101",
    "RTPMRx:239.1.2.3:20480:1:2:3",
    "RTPMRx:stop",
  ])("%s is refused", (uri) => expect(parseRtpUri(uri).kind).toBe("invalid"));
});

describe("RTP packets", () => {
  const packet = Buffer.from("80800102030405060708090aaabb", "hex");

  it("are parsed with contributors, extension and padding", () => {
    const expected = { payloadType: 0, marker: true, sequence: 0x102, timestamp: 0x3040506, ssrc: 0x708090a };
    expect(parseRtp(packet)).toEqual({ ...expected, payload: Buffer.from("aabb", "hex") });
    const full = Buffer.from("b1000102030405060708090a11111111beef00012222222255550002", "hex");
    expect(parseRtp(full)).toEqual({ ...expected, marker: false, payload: Buffer.from("5555", "hex") });
  });

  it.each([
    "",
    "80",
    "8080010203040506070809",
    "40800102030405060708090a",
    "bf000102030405060708090a",
    "a0800102030405060708090aff",
  ])("%s is none", (hex) => expect(parseRtp(Buffer.from(hex, "hex"))).toBeNull());
});

describe("credentials", () => {
  const header = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

  it("are a user and a password that may contain colons", () => {
    expect(parseBasicAuthorization(header("anna:a:b"))).toEqual({ user: "anna", password: "a:b" });
    expect(parseBasicAuthorization(header("anna:"))).toEqual({ user: "anna", password: "" });
  });

  it.each([undefined, "", "Bearer abc", "Basic !", header("nobody")])("%s is none", (text) => {
    expect(parseBasicAuthorization(text)).toBeNull();
  });
});

describe("XML", () => {
  it("is parsed with attributes, entities, CDATA and comments", () => {
    const source =
      "\ufeff<?xml version='1.0'?><!-- x --><a b='1 &lt; 2' c=\"&#x41;&#66;\">t&amp;<d/><![CDATA[<u>]]></a>\n";
    expect(parseXml(source)).toEqual({
      name: "a",
      attributes: { b: "1 < 2", c: "AB" },
      children: [{ name: "d", attributes: {}, children: [], text: "" }],
      text: "t&<u>",
    });
  });

  it.each([
    "",
    "text",
    "<a>",
    "<a></b>",
    "<a/><b/>",
    "<a>&nbsp;</a>",
    "<a>a & b</a>",
    "<a b='1' b='2'/>",
    "<a b=1/>",
    "<a b='<'/>",
    "<!DOCTYPE a><a/>",
    "<a/>tail",
    "</a>",
  ])("%s is none", (source) => expect(parseXml(source)).toBeNull());

  it("survives escaping", () => {
    expect(parseXml(`<a b="${escapeXml(`<&>"'`)}"/>`)?.attributes.b).toBe(`<&>"'`);
  });
});
