import { createSocket } from "node:dgram";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/sip/index.ts";
import { answerChallenge, selectChallenge } from "../../plugins/sip/user-agent/digest.ts";
import { firstHeader, type SipHeaders, type SipRequest } from "../../plugins/sip/user-agent/sip-message.ts";
import type { AudioTarget, DeliveryItem, OutcomeLevel } from "../../src/plugin-api/index.ts";
import { createPluginConfig } from "../../src/plugin-host/plugin-config.ts";
import type { OutcomeReport } from "../../src/plugin-host/plugin-protocol.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { unusedPort } from "../support/free-port.ts";
import { type InlinePlugin, runInline } from "./inline-plugin.ts";
import { openRawSipPeer, type RawSipPeer } from "./raw-sip-peer.ts";
import { itemOf } from "./test-appliance.ts";

const AUDIO: AudioTarget = { group: "0.0.0.0", port: 0, codec: "PCMU", ttl: 1, ssrc: 77 };
const PLAIN = { seal: (plain: string) => plain, open: (sealed: string) => sealed };
const PATIENCE = { timeout: 30_000 };

/** Longer than any transaction. */
const SHUTDOWN_MS = 60_000;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(config: Record<string, unknown> = {}) {
  const clock = createFakeClock();
  const peer = await openRawSipPeer();
  const given = { port: 0, address: "127.0.0.1", firstMediaPort: 23_000, lastMediaPort: 23_999, ...config };
  const sip = await runInline(plugin, {
    config: createPluginConfig(plugin.config, PLAIN).toRuntime(given).config,
    clock,
    allowedTargets: ["127.0.0.0/8"],
  });
  // The plugin first: it ends its calls, and closes its ports once it has waited for the devices.
  closing.push(peer.close, () => clock.advance(SHUTDOWN_MS), sip.close);
  return { clock, peer, sip };
}

function itemFor(uri: string, more: Partial<DeliveryItem> = {}): DeliveryItem {
  const device = {
    id: "0198f3a0-0000-7000-8000-00000000f0a1",
    deviceIdentifier: "sip:gym",
    attributes: { SipUri: uri },
  };
  return itemOf(1, { device, audio: AUDIO, ...more });
}

/** A description of the device; `lines` follow the connection line, `media` the media line. */
function sdp(media = "m=audio 4000 RTP/AVP 0", { address = "127.0.0.1", session = "", lines = "" } = {}): string {
  const rest = [session, "t=0 0", media, lines].filter((line) => line !== "");
  return ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", `c=IN IP4 ${address}`, ...rest].join("\r\n");
}

async function answerCall(peer: RawSipPeer, more: { headers?: SipHeaders; body?: string } = {}): Promise<SipRequest> {
  const invite = await peer.next("INVITE");
  peer.respond(invite, 200, { body: sdp(), ...more });
  await peer.next("ACK");
  return invite;
}

/** Outcomes are collected for a moment. */
async function outcome(
  { sip, clock }: { sip: InlinePlugin; clock: ReturnType<typeof createFakeClock> },
  id: number,
  level: OutcomeLevel,
): Promise<OutcomeReport> {
  await expect.poll(() => clock.advance(20).then(() => sip.levels(id)), PATIENCE).toContain(level);
  return sip.outcome(id, level);
}

/** Waits until the plugin has read what the device sent before. */
async function settle(peer: RawSipPeer, invite: SipRequest): Promise<void> {
  peer.send("OPTIONS", invite);
  await peer.nextResponse("OPTIONS");
}

const streamCalls = (sip: InlinePlugin): string[] =>
  sip.calls.map(({ method, args: [target] }) => `${method} ${(target as { port: number }).port}`);
const versionOf = (body: string): number => Number(/^o=carillon \d+ (\d+) IN/m.exec(body)?.[1]);
const directionOf = (body: string): string => /^a=(sendrecv|sendonly|recvonly|inactive)\r$/m.exec(body)?.[1] ?? "none";
const mediaLines = (body: string): string[] => [...body.matchAll(/^m=.*$/gm)].map(([line]) => line.trim());

describe("a call on hold", () => {
  it.each([
    ["an address of zeros", "INVITE", sdp(undefined, { address: "0.0.0.0" }), "recvonly"],
    ["zeros and sendonly", "INVITE", sdp(undefined, { address: "0.0.0.0", lines: "a=sendonly" }), "recvonly"],
    ["zeros and inactive", "INVITE", sdp(undefined, { address: "0.0.0.0", lines: "a=inactive" }), "inactive"],
    ["zeros at the media alone", "INVITE", sdp(undefined, { lines: "c=IN IP4 0.0.0.0" }), "recvonly"],
    ["port 0", "INVITE", sdp("m=audio 0 RTP/AVP 0"), "sendrecv"],
    ["sendonly", "INVITE", sdp(undefined, { lines: "a=sendonly" }), "recvonly"],
    ["inactive", "INVITE", sdp(undefined, { lines: "a=inactive" }), "inactive"],
    ["sendonly of the session", "INVITE", sdp(undefined, { session: "a=sendonly" }), "recvonly"],
    [
      "inactive before sendrecv of the session",
      "INVITE",
      sdp(undefined, { session: "a=sendrecv", lines: "a=inactive" }),
      "inactive",
    ],
    ["sendonly by UPDATE", "UPDATE", sdp(undefined, { lines: "a=sendonly" }), "recvonly"],
  ])("keeps its call and is heard again: %s", async (_how, method, hold, direction) => {
    const { peer, sip, clock } = await open();
    sip.deliver(itemFor(peer.uri));
    const invite = await answerCall(peer);
    await sip.called(1);
    peer.send(method, invite, { body: hold });
    const held = await peer.nextResponse(method);
    expect([held.status, directionOf(held.body), versionOf(held.body)]).toEqual([
      ...[200, direction],
      // The same description as before keeps its number.
      direction === "sendrecv" && !hold.includes("m=audio 0") ? 1 : 2,
    ]);
    expect(mediaLines(held.body)[0]).toMatch(hold.includes("m=audio 0") ? /^m=audio 0 / : /^m=audio 23\d{3} /);
    await sip.called(2);
    expect(streamCalls(sip)).toEqual(["stream.open 4000", "stream.close 4000"]);
    peer.send(method, invite, { body: sdp() });
    const resumed = await peer.nextResponse(method);
    expect([resumed.status, directionOf(resumed.body), versionOf(resumed.body)]).toEqual([200, "sendrecv", 3]);
    await sip.called(3);
    expect(streamCalls(sip)[2]).toBe("stream.open 4000");
    await clock.advance(100);
    expect([...new Set(sip.levels(1)), peer.heard.includes("BYE")]).toEqual(["accepted", false]);
  });

  it("is answered again if the call began on hold", async () => {
    const { peer, sip, clock } = await open();
    sip.deliver(itemFor(peer.uri));
    const invite = await answerCall(peer, { body: sdp(undefined, { lines: "a=inactive" }) });
    expect((await outcome({ sip, clock }, 1, "accepted")).details.reason).toBe("the device holds the call");
    expect(sip.calls).toEqual([]);
    peer.send("INVITE", invite, { body: sdp() });
    await sip.called(1);
    expect(streamCalls(sip)).toEqual(["stream.open 4000"]);
  });

  it("moves by an offer in our answer, whose answer comes with the ACK", async () => {
    const { peer, sip } = await open();
    sip.deliver(itemFor(peer.uri));
    const invite = await answerCall(peer);
    await sip.called(1);
    peer.send("INVITE", invite, { cseq: 7 });
    const offered = await peer.nextResponse("INVITE");
    expect([offered.status, directionOf(offered.body)]).toEqual([200, "sendrecv"]);
    peer.send("ACK", invite, { cseq: 7, body: sdp("m=audio 4002 RTP/AVP 0") });
    await sip.called(3);
    expect(streamCalls(sip)).toEqual(["stream.open 4000", "stream.close 4000", "stream.open 4002"]);
  });

  it.each([
    ["no common codec", sdp("m=audio 4000 RTP/AVP 18")],
    ["no audio", sdp("m=video 4000 RTP/AVP 99")],
    ["a group address", sdp(undefined, { address: "239.1.2.3" })],
    ["another transport", sdp("m=audio 4000 UDP/TLS/RTP/SAVPF 0")],
  ])("goes on unchanged after an offer with %s", async (_what, body) => {
    const { peer, sip } = await open();
    sip.deliver(itemFor(peer.uri));
    const invite = await answerCall(peer);
    await sip.called(1);
    peer.send("INVITE", invite, { body });
    expect((await peer.nextResponse("INVITE")).status).toBe(488);
    peer.send("OPTIONS", invite);
    expect((await peer.nextResponse("OPTIONS")).status).toBe(200);
    expect(streamCalls(sip)).toEqual(["stream.open 4000"]);
  });

  it("is answered with all offered media lines, in order", async () => {
    const { peer, sip } = await open();
    sip.deliver(itemFor(peer.uri));
    const invite = await answerCall(peer, { body: sdp("m=audio 4000 RTP/AVPF 0") });
    await sip.called(1);
    const body = [
      sdp("m=video 5000 RTP/AVP 99 100", { lines: "a=rtpmap:99 H264/90000\r\na=sendonly" }),
      "m=audio 4100 RTP/SAVP 0\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x",
      "m=audio 4000/2 RTP/AVPF 8 0\r\na=recvonly",
      "m=application 9 TCP/BFCP *",
      "m=image 5004 udptl t38",
    ].join("\r\n");
    peer.send("INVITE", invite, { body });
    const answer = await peer.nextResponse("INVITE");
    expect(mediaLines(answer.body)).toEqual([
      "m=video 0 RTP/AVP 99 100",
      "m=audio 0 RTP/SAVP 0",
      expect.stringMatching(/^m=audio 23\d{3} RTP\/AVPF 8 0$/),
      "m=application 0 TCP/BFCP *",
      "m=image 0 udptl t38",
    ]);
    expect(directionOf(answer.body)).toBe("sendonly");
    // An offer of ours keeps their places too.
    peer.send("INVITE", invite);
    expect(mediaLines((await peer.nextResponse("INVITE")).body)).toHaveLength(5);
  });
});

it("frees its ports at shutdown although the device never answers the hang-up", async () => {
  const { peer, sip } = await open();
  sip.deliver(itemFor(peer.uri));
  const invite = await answerCall(peer);
  await sip.called(1);
  await sip.close();
  closing.pop();
  await peer.next("BYE");
  const [, port] = /^m=audio (\d+) /m.exec(invite.body) ?? [];
  for (const each of [Number(port), Number(port) + 1]) {
    const socket = createSocket("udp4").bind(each, "127.0.0.1");
    await once(socket, "listening");
    socket.close();
  }
});

describe("requests within a call", () => {
  it.each([
    ["OPTIONS", 200, "Allow"],
    ["INFO", 200, null],
    ["NOTIFY", 489, null],
    ["MESSAGE", 405, "Allow"],
    ["REFER", 405, "Allow"],
    ["SUBSCRIBE", 405, "Allow"],
    ["PUBLISH", 405, "Allow"],
    ["PRACK", 405, "Allow"],
    ["DO.it~now", 501, "Allow"],
    ["info", 501, "Allow"],
  ])("are answered, and the call goes on: %s", async (method, status, header) => {
    const { peer, sip } = await open();
    sip.deliver(itemFor(peer.uri));
    const invite = await answerCall(peer);
    await sip.called(1);
    peer.send(method, invite, { headers: [["Event", "talk"]], body: "x" });
    const response = await peer.nextResponse(method);
    expect(response.status).toBe(status);
    if (header) expect(firstHeader(response, header)).toContain("INVITE");
    sip.stop("ended", 1);
    peer.respond(await peer.next("BYE"), 200);
  });

  it("are rejected if they require unsupported extensions, before and after the answer", async () => {
    const { peer, sip } = await open();
    sip.deliver(itemFor(peer.uri));
    const invite = await peer.next("INVITE");
    peer.respond(invite, 180);
    const headers = [["Require", "replaces, timer"]] as const;
    peer.send("INFO", invite, { headers });
    const refused = await peer.nextResponse("INFO");
    expect([refused.status, firstHeader(refused, "Unsupported")]).toEqual([420, "replaces"]);
    peer.send("UPDATE", invite, { body: sdp() });
    expect((await peer.nextResponse("UPDATE")).status).toBe(500);
    peer.respond(invite, 200, { body: sdp() });
    await sip.called(1);
    peer.send("INFO", invite, { headers });
    expect((await peer.nextResponse("INFO")).status).toBe(420);
  });
});

describe("the target of a call", () => {
  it("follows a redirection, best contact first, with the same call and a higher number", async () => {
    const { peer, sip, clock } = await open();
    const other = await openRawSipPeer();
    closing.unshift(other.close);
    sip.deliver(itemFor(peer.uri));
    const first = await peer.next("INVITE");
    const contact = `<sip:nowhere@192.0.2.1>;q=0.1, <${other.uri};x=1>;q=0.9, <sips:safe@127.0.0.1>;q=0.2`;
    peer.respond(first, 302, { headers: [["Contact", contact]] });
    const second = await answerCall(other);
    expect(second.uri).toBe(`${other.uri};x=1`);
    expect(["Call-ID", "To"].map((name) => firstHeader(second, name))).toEqual(
      ["Call-ID", "To"].map((name) => firstHeader(first, name)),
    );
    expect(firstHeader(second, "CSeq")).toBe("2 INVITE");
    await outcome({ sip, clock }, 1, "accepted");
    sip.stop("ended", 1);
    other.respond(await other.next("BYE"), 200);
    expect(peer.heard).not.toContain("BYE");
  });

  it("ends redirections in a circle or to addresses that are not allowed", async () => {
    const { peer, sip, clock } = await open();
    sip.deliver(itemFor(peer.uri));
    const targets = [peer.uri, "sip:a@169.254.1.1", "sip:b@224.0.0.5", `${peer.uri};n=1`].map((uri) => `<${uri}>`);
    peer.respond(await peer.next("INVITE"), 302, { headers: [["Contact", targets.join(", ")]] });
    for (let n = 1; n <= 3; n++) {
      const again = await peer.next("INVITE");
      expect(again.uri).toBe(`${peer.uri};n=${n}`);
      peer.respond(again, 301, { headers: [["Contact", `<${peer.uri};n=${n + 1}>`]] });
    }
    expect((await outcome({ sip, clock }, 1, "failed")).details.reason).toBe("call failed: 301 Scripted");
  });

  it.each([
    ["18", 18_000],
    ["120 (I'm in a meeting)", 120_000],
    ["60;duration=3600", 60_000],
    ["9".repeat(40), 3_600_000],
    ["soon", undefined],
  ])("waits as long as a busy server asks for: %s", async (text, retryAfterMs) => {
    const { peer, sip, clock } = await open();
    sip.deliver(itemFor(peer.uri));
    peer.respond(await peer.next("INVITE"), 503, { headers: [["Retry-After", text]] });
    const { details } = await outcome({ sip, clock }, 1, "failed");
    expect([details.retryable, details.retryAfterMs]).toEqual([true, retryAfterMs]);
  });

  it("is not retried after it failed, and a late answer is hung up", async () => {
    const { peer, sip, clock } = await open();
    sip.deliver(itemFor(peer.uri));
    const invite = await peer.next("INVITE");
    await clock.advance(6_000);
    expect((await outcome({ sip, clock }, 1, "failed")).details.reason).toBe("no response");
    await expect.poll(() => peer.heard.length, PATIENCE).toBe(4);
    await clock.advance(20_000);
    peer.respond(invite, 180);
    expect(firstHeader(await peer.next("CANCEL"), "CSeq")).toBe("1 CANCEL");
    peer.respond(invite, 200, { body: sdp() });
    await peer.next("ACK");
    await peer.next("BYE");
    expect(peer.heard.filter((method) => method === "INVITE")).toHaveLength(4);
  });

  it("tries the registrations of a device in turn", async () => {
    const port = await unusedPort();
    const { peer, sip, clock } = await open({ port, accounts: "gym:s3cret-of-gym" });
    const other = await openRawSipPeer();
    closing.unshift(other.close);
    await register(peer, port, [`<${peer.uri}>`, `<${other.uri}>;q=0.5`]);
    sip.deliver(itemFor(peer.uri));
    peer.respond(await peer.next("INVITE"), 480);
    await peer.next("ACK");
    const invite = other.next("INVITE");
    await expect.poll(() => clock.advance(10).then(() => other.heard.length), PATIENCE).toBeGreaterThan(0);
    other.respond(await invite, 486);
    // The newest says most.
    expect((await outcome({ sip, clock }, 1, "failed")).details.reason).toMatch(/^not registered or unreachable \(480/);
    sip.deliver(itemFor(peer.uri, { deliveryId: 2 }));
    const last = peer.next("INVITE");
    await expect.poll(() => clock.advance(10).then(() => peer.heard.length), PATIENCE).toBeGreaterThan(3);
    // Who declines does so everywhere.
    peer.respond(await last, 603);
    expect((await outcome({ sip, clock }, 2, "failed")).details.reason).toMatch(/^call declined/);
    expect(other.heard.filter((method) => method === "INVITE")).toHaveLength(1);
  });
});

describe("the session of a call", () => {
  it("is extended on request of the device, and refreshed by UPDATE", async () => {
    const { peer, sip, clock } = await open();
    sip.deliver(itemFor(peer.uri));
    peer.respond(await peer.next("INVITE"), 422, { headers: [["Min-SE", "1800"]] });
    const second = await peer.next("INVITE");
    expect(["Session-Expires", "Min-SE", "CSeq"].map((name) => firstHeader(second, name))).toEqual([
      "1800",
      "1800",
      "2 INVITE",
    ]);
    expect(firstHeader(second, "Supported")).toBe("timer, 100rel");
    const headers: SipHeaders = [
      ...[["Session-Expires", "1800;refresher=uac"] as const, ["Require", "timer"] as const],
      ["Allow", "INVITE, UPDATE"],
    ];
    peer.respond(second, 200, { headers, body: sdp() });
    await sip.called(1);
    await clock.advance(899_000);
    expect(peer.heard).not.toContain("UPDATE");
    await clock.advance(1_000);
    const refresh = await peer.next("UPDATE");
    expect([refresh.body, firstHeader(refresh, "Session-Expires")]).toEqual(["", "1800;refresher=uac"]);
    peer.respond(refresh, 200, { headers: [["x", "1800;refresher=uac"]] });
    await settle(peer, second);
    await clock.advance(899_000);
    expect(peer.heard.filter((method) => method === "UPDATE")).toHaveLength(1);
    await clock.advance(1_000);
    // A device that lost the call is hung up.
    peer.respond(await peer.next("UPDATE"), 481);
    await peer.next("BYE");
    await expect
      .poll(() => clock.advance(20).then(() => sip.outcomes.at(-1)?.details), PATIENCE)
      .toMatchObject({ reason: "the device hung up during the message", last: true });
  });

  it("is refreshed by INVITE if the device lacks UPDATE, without a change", async () => {
    const { peer, sip, clock } = await open();
    sip.deliver(itemFor(peer.uri));
    const headers: SipHeaders = [["Session-Expires", "90;refresher=uac"]];
    const invite = await answerCall(peer, { headers });
    await sip.called(1);
    await clock.advance(45_000);
    const refresh = await peer.next("INVITE");
    expect(refresh.body).toBe(invite.body);
    // Both at once would never agree.
    peer.send("INVITE", invite, { body: sdp() });
    expect((await peer.nextResponse("INVITE")).status).toBe(491);
    peer.respond(refresh, 200, { headers, body: sdp() });
    expect(firstHeader(await peer.next("ACK"), "CSeq")).toBe(firstHeader(refresh, "CSeq")?.replace("INVITE", "ACK"));
    expect(streamCalls(sip)).toEqual(["stream.open 4000"]);
  });

  it("ends shortly before it expires if the device does not refresh it", async () => {
    const { peer, sip, clock } = await open();
    sip.deliver(itemFor(peer.uri));
    const invite = await answerCall(peer, { headers: [["Session-Expires", "90;refresher=uas"]] });
    await sip.called(1);
    await clock.advance(59_000);
    const headers: SipHeaders = [
      ["Session-Expires", "90;refresher=uac"],
      ["Supported", "timer"],
    ];
    peer.send("UPDATE", invite, { headers });
    const refreshed = await peer.nextResponse("UPDATE");
    expect(["Session-Expires", "Require"].map((name) => firstHeader(refreshed, name))).toEqual([
      "90;refresher=uac",
      "timer",
    ]);
    peer.send("UPDATE", invite, {
      headers: [
        ["Session-Expires", "30"],
        ["Supported", "timer"],
      ],
    });
    const tooShort = await peer.nextResponse("UPDATE");
    expect([tooShort.status, firstHeader(tooShort, "Min-SE")]).toEqual([422, "90"]);
    await clock.advance(59_000);
    expect(peer.heard).not.toContain("BYE");
    await clock.advance(2_000);
    await peer.next("BYE");
    await expect.poll(() => clock.advance(20).then(() => sip.outcomes.at(-1)?.details.last), PATIENCE).toBe(true);
  });
});

describe("provisional responses", () => {
  const reliable = (number: number): SipHeaders => [
    ["Require", "100rel"],
    ["RSeq", String(number)],
  ];

  it("are acknowledged once and in order, and may carry the answer", async () => {
    const { peer, sip } = await open();
    sip.deliver(itemFor(peer.uri));
    const invite = await peer.next("INVITE");
    peer.respond(invite, 100, { headers: reliable(1) });
    peer.respond(invite, 183, { headers: [["Require", "100rel"]] });
    peer.respond(invite, 183, { headers: reliable(41), body: sdp("m=audio 4006 RTP/AVP 0") });
    peer.respond(invite, 183, { headers: reliable(41), body: sdp("m=audio 4006 RTP/AVP 0") });
    peer.respond(invite, 180, { headers: reliable(43) });
    const prack = await peer.next("PRACK");
    expect(firstHeader(prack, "RAck")).toBe("41 1 INVITE");
    expect(firstHeader(prack, "To")).toContain(`tag=device${peer.port}`);
    peer.respond(prack, 200);
    peer.respond(invite, 180, { headers: reliable(42) });
    const next = await peer.next("PRACK");
    expect(firstHeader(next, "RAck")).toBe("42 1 INVITE");
    peer.respond(next, 200);
    peer.send("UPDATE", invite, { body: sdp("m=audio 4008 RTP/AVP 0") });
    expect((await peer.nextResponse("UPDATE")).status).toBe(200);
    peer.respond(invite, 200);
    expect(firstHeader(await peer.next("ACK"), "CSeq")).toBe("1 ACK");
    await sip.called(1);
    expect(streamCalls(sip)).toEqual(["stream.open 4008"]);
    sip.stop("ended", 1);
    const bye = await peer.next("BYE");
    expect(Number.parseInt(firstHeader(bye, "CSeq") ?? "", 10)).toBeGreaterThan(
      Number.parseInt(firstHeader(next, "CSeq") ?? "", 10),
    );
    expect(new Set(peer.heard.filter((method) => method === "PRACK")).size).toBe(1);
  });

  it("start no stream for early media", async () => {
    const { peer, sip } = await open();
    sip.deliver(itemFor(peer.uri));
    const invite = await peer.next("INVITE");
    peer.respond(invite, 183, { body: sdp("m=audio 4006 RTP/AVP 0") });
    peer.respond(invite, 200, { body: sdp() });
    await sip.called(1);
    expect(streamCalls(sip)).toEqual(["stream.open 4000"]);
  });
});

/** Registers these contacts for gym. */
async function register(peer: RawSipPeer, port: number, contacts: readonly string[]): Promise<void> {
  const send = (cseq: number, more: SipHeaders): void =>
    peer.sendRaw(
      {
        ...{ kind: "request", method: "REGISTER", uri: "sip:carillon", body: "" },
        headers: [
          ["Via", `SIP/2.0/UDP 127.0.0.1:${peer.port};branch=z9hG4bKreg${cseq}`],
          ["From", "<sip:gym@carillon>;tag=1"],
          ["To", "<sip:gym@carillon>"],
          ["Call-ID", "registration"],
          ["CSeq", `${cseq} REGISTER`],
          ...contacts.map((contact) => ["Contact", contact] as const),
          ...more,
        ],
      },
      port,
    );
  send(1, []);
  const challenge = selectChallenge([firstHeader(await peer.nextResponse("REGISTER"), "WWW-Authenticate") ?? ""]);
  if (!challenge) throw new Error("no challenge");
  const request = { method: "REGISTER", uri: "sip:carillon" };
  send(2, [["Authorization", answerChallenge(challenge, request, { user: "gym", password: "s3cret-of-gym" }, "c")]]);
  expect((await peer.nextResponse("REGISTER")).status).toBe(200);
}
