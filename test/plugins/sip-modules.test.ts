import { describe, expect, it } from "vitest";
import { createCallRateLimiter } from "../../plugins/sip/call-rate-limiter.ts";
import { findProofOfReception, formatReceptionReport, parseReceptionReports } from "../../plugins/sip/media/rtcp.ts";
import { createSdpSession, parseSdpAnswer } from "../../plugins/sip/media/sdp.ts";
import { createSrtpOffer } from "../../plugins/sip/media/srtp-negotiation.ts";
import { parseSipAccounts } from "../../plugins/sip/sip-accounts.ts";
import {
  answerChallenge,
  createDigestVerifier,
  type SipCredentials,
  selectChallenge,
} from "../../plugins/sip/user-agent/digest.ts";
import { createDigestSession } from "../../plugins/sip/user-agent/digest-session.ts";
import {
  formatSipMessage,
  headerValues,
  parseSipMessage,
  type SipResponse,
} from "../../plugins/sip/user-agent/sip-message.ts";
import { formatSipUri, parseNameAddress, parseSipUri } from "../../plugins/sip/user-agent/sip-uri.ts";
import { createSipStreamParser } from "../../plugins/sip/user-agent/stream-framing.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const HEAD = [
  "OPTIONS sip:a@127.0.0.1 SIP/2.0",
  "v: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bK1, SIP/2.0/TCP 10.0.0.2;branch=z9hG4bK2",
  'f: "A, <b>" <sip:a@h>;tag=1',
  "t: <sip:b@h>",
  "i: 1@h",
  "CSeq: 1 OPTIONS",
];
const bytesOf = (...lines: string[]): Buffer => Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
const TLS = { protocol: "tls" } as const;
/** Challenge, request and answers of RFC 7616 §3.9.1. */
const RFC = {
  challenge: (algorithm: string) =>
    `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=${algorithm}, ` +
    'nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"',
  request: { method: "GET", uri: "/dir/index.html" },
  who: { user: "Mufasa", password: "Circle of Life" },
  cnonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
  md5: "8ca523f5e9506fed4657c9700eebdbec",
  sha256: "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
};

const answerTo = (
  challenges: readonly string[],
  request: { method: string; uri: string },
  who: SipCredentials,
  cnonce: string,
): string | null => {
  const challenge = selectChallenge(challenges);
  return challenge && answerChallenge(challenge, request, who, cnonce);
};

describe("messages of SIP", () => {
  it("are parsed with compact names and combined values, and formatted back", () => {
    const message = parseSipMessage(bytesOf(...HEAD));
    expect(message).toMatchObject({ kind: "request", method: "OPTIONS" });
    if (!message) return;
    expect(headerValues(message, "Via")).toHaveLength(2);
    expect(headerValues(message, "From")).toHaveLength(1);
    expect(parseSipMessage(formatSipMessage(message))?.headers.slice(0, 5)).toEqual(message.headers);
    expect(formatSipUri(parseSipUri("sip:a@H:5070;transport=tcp;lr") ?? fail())).toBe("sip:a@h:5070;transport=tcp;lr");
    expect(parseNameAddress("<sip:a@h;lr>;expires=60")?.params.get("expires")).toBe("60");
  });

  it.each([
    ["nothing", ""],
    ["no end of its head", HEAD.join("\r\n")],
    ["no Via", bytesOf(...HEAD.filter((line) => !line.startsWith("v:")))],
    ["two Call-IDs", bytesOf(...HEAD, "Call-ID: 2")],
    ["another method in CSeq", bytesOf(...HEAD.slice(0, -1), "CSeq: 1 BYE")],
    ["a CSeq that is too large", bytesOf(...HEAD.slice(0, -1), "CSeq: 4294967296 OPTIONS")],
    ["more body than there is", bytesOf(...HEAD, "l: 5")],
    ["a length below nothing", bytesOf(...HEAD, "Content-Length: -1")],
    ["too many headers", bytesOf(...HEAD, ...Array.from({ length: 200 }, () => "X: 1"))],
    ["too long a head", bytesOf(...HEAD, `X: ${"a".repeat(17_000)}`)],
    ["a header without a name", bytesOf(...HEAD, ": 1")],
    ["half a line end in a header", bytesOf(...HEAD, "X: 1\nRoute: <sip:evil>")],
    ["another protocol", bytesOf("GET / HTTP/1.1", "Host: a")],
  ])("are rejected with %s", (_what, bytes) => {
    expect(parseSipMessage(Buffer.from(bytes))).toBeNull();
  });

  it("are parsed or rejected in linear time", () => {
    const begin = process.cpuUsage();
    for (const sign of ['"', "<", ";", ",", " ", "\t", "\\", "=", "a:", "\r\n "]) {
      const many = sign.repeat(Math.floor(15_000 / sign.length));
      parseSipMessage(bytesOf(...HEAD, `Contact: ${many}`));
      parseSipMessage(Buffer.from(many + many));
      parseNameAddress(many);
      parseSipUri(`sip:${many}`);
      parseSdpAnswer(`m=audio ${many}`, ["PCMU"]);
      selectChallenge([`Digest ${many}`]);
    }
    let seed = 1;
    for (let run = 0; run < 2_000; run++) {
      const bytes = bytesOf(...HEAD);
      for (let change = 0; change < 8; change++) {
        seed = (seed * 48_271) % 2_147_483_647;
        bytes[seed % bytes.length] = seed >> 8;
      }
      const message = parseSipMessage(bytes);
      if (message) formatSipMessage(message);
      parseReceptionReports(bytes);
    }
    expect(process.cpuUsage(begin).user / 1_000).toBeLessThan(10_000);
  });

  it("are extracted from a fragmented stream, which ends with an invalid one", () => {
    const whole = Buffer.concat([bytesOf(...HEAD, "l: 0"), Buffer.from("\r\n\r\n"), bytesOf(...HEAD, "l: 0")]);
    const frames = createSipStreamParser();
    const heard = [...whole].map((byte) => frames.push(Buffer.of(byte)));
    expect(heard.flatMap((each) => each?.messages ?? [])).toHaveLength(2);
    expect(frames.push(bytesOf(...HEAD))).toBeNull();
    expect(frames.push(whole)).toBeNull();
  });
});

describe("digest authentication of SIP", () => {
  it.each([
    ["MD5", RFC.md5],
    ["SHA-256", RFC.sha256],
  ])("computes the standard's example with %s", (algorithm, response) => {
    const answer = answerTo([RFC.challenge(algorithm)], RFC.request, RFC.who, RFC.cnonce);
    expect(answer).toContain(`response="${response}"`);
  });

  it("selects the stronger algorithm, and none that is unknown", () => {
    const both = [RFC.challenge("MD5"), RFC.challenge("SHA-256")];
    expect(answerTo(both, RFC.request, RFC.who, RFC.cnonce)).toContain(RFC.sha256);
    expect(answerTo([RFC.challenge("SHA-1")], RFC.request, RFC.who, RFC.cnonce)).toBeNull();
  });

  it("answers each server's challenge, again if stale, and stops after a refusal", () => {
    const asks = (status: 401 | 407, realm: string, tail = ""): SipResponse => {
      const name = status === 401 ? "WWW-Authenticate" : "Proxy-Authenticate";
      return {
        kind: "response",
        status,
        reason: "",
        headers: [[name, `Digest realm="${realm}", nonce="n", qop="auth"${tail}`]],
        body: "",
      };
    };
    const proofs = createDigestSession(RFC.who, () => RFC.cnonce);
    const add = (response: SipResponse): boolean => proofs.addChallenge(response, RFC.request);
    expect([add(asks(407, "way")), add(asks(401, "door")), add(asks(407, "way", ", stale=true"))]).toEqual([
      true,
      true,
      true,
    ]);
    // A challenge that was answered before is answered with its next count, a fresh one with the first.
    expect(proofs.headers.map(([name, value]) => [name, /nc=\d+/.exec(value)?.[0]])).toEqual([
      ["Proxy-Authorization", "nc=00000001"],
      ["Authorization", "nc=00000002"],
    ]);
    expect([add(asks(407, "way")), add(asks(401, "door", ", algorithm=SHA-1"))]).toEqual([false, false]);
    // Nobody is answered for ever.
    expect([1, 2, 3].map(() => add(asks(407, "way", ", stale=true")))).toEqual([true, false, false]);
    expect(createDigestSession(null, () => RFC.cnonce).addChallenge(asks(401, "door"), RFC.request)).toBe(false);
  });

  it("verifies passwords once per nonce count while the challenge is valid", () => {
    const clock = createFakeClock();
    const passwordOf = (user: string): string | null => (user === "gym" ? "right" : null);
    const door = createDigestVerifier({
      ...{ realm: "school", key: Buffer.alloc(32, 1), now: () => clock.now(), passwordOf },
      algorithms: ["SHA-256", "MD5"],
    });
    const request = { method: "REGISTER", uri: "sip:school" };
    const { ask = [] } = door.verify([], request);
    expect(ask).toHaveLength(2);
    const prove = (password: string): string[] => [answerTo(ask, request, { user: "gym", password }, "c") ?? ""];
    expect(door.verify(prove("wrong"), request).user).toBeUndefined();
    expect(door.verify(prove("right"), { ...request, uri: "sip:other" }).user).toBeUndefined();
    expect(door.verify(prove("right"), request).user).toBe("gym");
    expect(door.verify(prove("right"), request).ask?.[0]).toContain("stale=true");
    const later = door.verify([], request).ask ?? [];
    clock.advanceSync(301_000);
    const late = [answerTo(later, request, { user: "gym", password: "right" }, "c") ?? ""];
    expect(door.verify(late, request).ask?.[0]).toContain("stale=true");
  });

  it("parses accounts and reports invalid lines by number", () => {
    const { accounts, errors } = parseSipAccounts("gym:p:1 2\nphone 214:x\n\nsecret-without-name\ngym:again");
    expect([...accounts.values()]).toEqual([
      { user: "gym", password: "p:1 2", type: "speakers" },
      { user: "214", password: "x", type: "phones" },
    ]);
    expect(errors).toEqual(["accounts: line 4 must be name:password", "accounts: line 5 duplicates a name"]);
  });
});

describe("media of SIP", () => {
  it("is sent only to valid unicast targets", () => {
    const answer = (address: string, media: string): string =>
      `v=0\r\nc=IN IP4 ${address}\r\nt=0 0\r\nm=audio ${media}\r\n`;
    const read = (description: string) => parseSdpAnswer(description, ["G722", "PCMU"]);
    const there = { address: "10.0.0.7", port: 4_000, codec: "PCMU", dtmfPayloadType: null, secrecy: null };
    expect(read(answer("10.0.0.7", "4000 RTP/AVP 0 101")).media).toEqual(there);
    const keys = answer("10.0.0.7", "4000 RTP/AVP 9 0 96\r\na=rtpmap:96 telephone-event/8000");
    expect(read(keys).media).toEqual({ ...there, codec: "G722", dtmfPayloadType: 96 });
    expect(read(answer("10.0.0.7", "0 RTP/AVP 0")).error).toMatch(/refused audio/);
    expect(read(answer("10.0.0.7", "4000 RTP/AVP 8")).error).toMatch(/no common codec/);
    for (const address of ["0.0.0.0", "239.1.2.3", "host", "255.255.255.255"])
      expect(read(answer(address, "4000 RTP/AVP 0")).error).toMatch(/address/);
  });

  it("is offered with the historical RTP clock of 8000 for G.722", () => {
    const shape = { address: "10.0.0.5", port: 4_000, id: 7, codecs: ["G722", "PCMA"] as const, secrecy: null };
    const offer = createSdpSession(shape).offer();
    expect(offer).toContain("m=audio 4000 RTP/AVP 9 8 101\r\na=rtpmap:9 G722/8000\r\na=rtpmap:8 PCMA/8000\r\n");
  });

  it("is encrypted over TLS according to the policy", () => {
    expect([createSrtpOffer("off", TLS), createSrtpOffer("offer", { protocol: "tcp" })]).toEqual([null, null]);
    expect(() => createSrtpOffer("require", { protocol: "udp" })).toThrow(/SRTP is required/);
    const [offered, required] = [createSrtpOffer("offer", TLS) ?? fail(), createSrtpOffer("require", TLS) ?? fail()];
    expect(new Set([...offered.masterKeys, ...required.masterKeys].map(({ key }) => key)).size).toBe(4);
    const rest = { address: "10.0.0.5", port: 4_000, id: 7, codecs: ["PCMU"] as const };
    const [first, second] = offered.masterKeys.map(({ suite, key }, at) => `a=crypto:${at + 1} ${suite} inline:${key}`);
    const offer = createSdpSession({ ...rest, secrecy: offered }).offer();
    expect(offer).toContain("m=audio 4000 RTP/AVP 0 101\r\n");
    expect(offer).toContain(`\r\n${first}\r\n${second}\r\n`);
    expect(createSdpSession({ ...rest, secrecy: required }).offer()).toContain("m=audio 4000 RTP/SAVP 0 101\r\n");

    const theirs = (profile: string, ...lines: string[]): string =>
      ["v=0", "c=IN IP4 10.0.0.7", "t=0 0", `m=audio 4000 ${profile} 0`, ...lines, ""].join("\r\n");
    const inline = `inline:${"A".repeat(40)}`;
    const line = `a=crypto:2 AES_CM_128_HMAC_SHA1_32 ${inline}|2^31`;
    const agreed = parseSdpAnswer(theirs("RTP/SAVP", line), ["PCMU"], required).media?.secrecy;
    expect(agreed).toMatchObject({ tag: "2", own: required.masterKeys[1], theirs: { key: "A".repeat(40) } });
    expect(parseSdpAnswer(theirs("RTP/AVP"), ["PCMU"], offered).media?.secrecy).toBeNull();
    for (const bad of [
      `${line}|1:4`,
      `${line} UNENCRYPTED_SRTP`,
      line.replace("_32", "_16"),
      line.replace("AAAA", "A"),
    ])
      expect(parseSdpAnswer(theirs("RTP/AVP", bad), ["PCMU"], required).error, bad).toMatch(/SRTP/);
    expect(parseSdpAnswer(theirs("RTP/SAVP"), ["PCMU"], offered).error).toMatch(/SRTP/);
    expect(parseSdpAnswer(theirs("RTP/SAVP", line), ["PCMU"]).error).toMatch(/SRTP/);
    const session = createSdpSession({ ...rest, secrecy: offered });
    const answer = session.answer(theirs("RTP/SAVP", line.replace(":2", ":5")));
    expect(answer).toContain("m=audio 4000 RTP/SAVP");
    expect(answer?.match(/a=crypto.*/g)).toEqual([second?.replace(":2", ":5")]);
  });

  it("is proven by a reception report of this stream", () => {
    const report = Buffer.alloc(32);
    report.writeUInt32BE(0x81c90007, 0);
    report.writeUInt32BE(77, 8);
    report.writeUInt32BE(1_000, 16);
    report.writeInt32BE(3, 12);
    report.writeUInt32BE(160, 20);
    const proof = findProofOfReception(parseReceptionReports(report), 77);
    expect(proof).toMatchObject({ ssrc: 77, lost: 3, jitter: 160 });
    expect(proof && formatReceptionReport(proof)).toBe("last reception report: 3 packets lost, jitter 20 ms");
    expect(findProofOfReception(parseReceptionReports(report), 78)).toBeNull();
    report[12] = 255;
    expect(findProofOfReception(parseReceptionReports(report), 77)).toBeNull();
    expect(parseReceptionReports(report.subarray(0, 31))).toEqual([]);
  });

  it("starts at a limited rate, by priority", () => {
    const clock = createFakeClock();
    const pace = createCallRateLimiter(clock, 200);
    const started: number[] = [];
    for (let n = 0; n < 500; n++) pace.schedule(5, () => started.push(n));
    pace.schedule(0, () => started.push(-1));
    expect(started.length).toBeLessThan(10);
    clock.advanceSync(1_000);
    expect(started.length).toBeGreaterThan(190);
    expect(started.length).toBeLessThan(212);
    expect(started.indexOf(-1)).toBeLessThan(10);
    clock.advanceSync(2_000);
    expect(started).toHaveLength(501);
  });
});

function fail(): never {
  throw new Error("not read");
}
