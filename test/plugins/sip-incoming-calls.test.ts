import { afterEach, beforeEach, describe, expect, it } from "vitest";
import sip from "../../plugins/sip/index.ts";
import { firstHeader, type SipMessage, type SipRequest } from "../../plugins/sip/user-agent/sip-message.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { unusedPort } from "../support/free-port.ts";
import { type HandleHostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";
import { offerOf, openSipCaller, type SipCaller } from "./sip-caller.ts";

const PATIENCE = { timeout: 90_000, interval: 5 };
const VOICE = new Uint8Array(160).fill(0x55);

let clock: ReturnType<typeof createFakeClock>;
let plugin: InlinePlugin;
let phone: SipCaller;
let port: number;
beforeEach(() => {
  clock = createFakeClock();
});
afterEach(async () => {
  await phone?.close();
  await plugin?.close();
});

/** An appliance whose host answers the number 900. */
async function open(config: Record<string, unknown> = {}, answer?: HandleHostCall): Promise<void> {
  port = await unusedPort();
  const usual: HandleHostCall = ({ method, args: [call] }) => {
    if (method !== "phone.dial") return undefined;
    const { calledNumber } = call as { calledNumber: string };
    return calledNumber === "900" ? { answer: true } : { answer: false, reason: "unknown-number" };
  };
  plugin = await runInline(sip, {
    config: {
      ...{ port, tlsPort: 0, tlsCertificate: null, tlsKey: null, certificateAuthority: null, address: "127.0.0.1" },
      ...{ firstMediaPort: 21_000, lastMediaPort: 21_999, callsPerSecond: 200, callerName: "Carillon", srtp: "offer" },
      ...{ user: null, password: null, realm: "carillon", digest: "MD5", digestWithoutQop: false },
      ...{ accounts: "phone 214:a-long-password", trustedAddresses: null, incomingCalls: 20, silenceSeconds: 20 },
      ...config,
    },
    clock,
    answer: answer ?? usual,
  });
  phone = await openSipCaller(port);
}
const trusting = { trustedAddresses: "10.9.0.0/16, 127.0.0.1" };
const connects = () => plugin.calls.filter(({ method }) => method === "phone.connect");
const dials = () => plugin.calls.filter(({ method }) => method === "phone.dial").map(({ args }) => args[0]);
const isBye = (message: SipMessage): message is SipRequest => message.kind === "request" && message.method === "BYE";

describe("a call to the appliance", () => {
  it("is answered for a telephone with its password: voice and keys reach the host, BYE ends it", async () => {
    await open();
    const call = phone.call("900");
    const answer = await call.connect({ password: "a-long-password" });
    expect(answer.body).toMatch(/^m=audio \d+ RTP\/AVP 0 8 101\r$/m);
    expect(dials()).toEqual([
      { callId: call.id, calledNumber: "900", callingNumber: "214", source: "214", isAuthenticated: true },
    ]);
    await expect.poll(connects, PATIENCE).toMatchObject([
      {
        args: [call.id, { group: "127.0.0.1", port: phone.mediaPort, codec: "PCMU", sourcePort: expect.any(Number) }],
      },
    ]);
    call.speak(VOICE);
    call.press("7");
    const messages = () => plugin.fromCalls.length;
    await expect.poll(messages, PATIENCE).toBe(2);
    call.send("INFO", { headers: [["Content-Type", "application/dtmf-relay"]], body: "Signal=#\r\nDuration=160\r\n" });
    await expect.poll(messages, PATIENCE).toBe(3);
    expect(plugin.fromCalls).toEqual([
      { kind: "phone-voice", callId: call.id, codec: "PCMU", payload: VOICE },
      { kind: "phone-key", callId: call.id, key: "7" },
      { kind: "phone-key", callId: call.id, key: "#" },
    ]);
    expect((await call.response(call.send("BYE"))).status).toBe(200);
    await expect.poll(() => plugin.fromCalls.at(-1), PATIENCE).toEqual({ kind: "phone-end", callId: call.id });
  });

  it("is believed who it is from a trusted address, and refused from others", async () => {
    await open({ ...trusting, accounts: null });
    const headers = [["P-Asserted-Identity", '"Office" <sip:+12025550100@pbx.example>']] as const;
    await phone.call("900").connect({ headers });
    expect(dials()).toMatchObject([{ callingNumber: "+12025550100", source: "127.0.0.1", isAuthenticated: false }]);
    await plugin.close();
    await open({ trustedAddresses: "10.9.0.0/16", accounts: null });
    expect((await phone.call("900").invite()).status).toBe(403);
    expect(dials()).toEqual([]);
  });

  it("is refused with 401 without the password, with 404 for an unknown number, with 403 while locked", async () => {
    await open({}, ({ method, args: [call] }) =>
      method !== "phone.dial"
        ? undefined
        : (call as { calledNumber: string }).calledNumber === "901"
          ? { answer: false, reason: "locked", waitSeconds: 300 }
          : { answer: false, reason: "unknown-number" },
    );
    expect((await phone.call("900").invite()).status).toBe(401);
    expect((await phone.call("900").invite({ password: "a-wrong-password" })).status).toBe(401);
    expect(dials()).toEqual([]);
    expect((await phone.call("900").invite({ password: "a-long-password" })).status).toBe(404);
    const locked = await phone.call("901").invite({ password: "a-long-password" });
    expect([locked.status, firstHeader(locked, "Retry-After")]).toEqual([403, "300"]);
  });

  it("is busy beyond the limit, until a call has ended", async () => {
    await open({ ...trusting, incomingCalls: 1 });
    const first = phone.call("900");
    await first.connect();
    expect((await phone.call("900").invite()).status).toBe(486);
    await first.response(first.send("BYE"));
    expect((await phone.call("900").invite()).status).toBe(200);
  });

  it("is not connected before the ACK, and ends without one", async () => {
    await open(trusting);
    const call = phone.call("900");
    expect((await call.invite()).status).toBe(200);
    await expect.poll(() => phone.received.length, PATIENCE).toBeGreaterThan(1);
    await clock.advance(32_100);
    await phone.receive(isBye);
    expect(connects()).toEqual([]);
    await expect.poll(() => plugin.fromCalls, PATIENCE).toEqual([{ kind: "phone-end", callId: call.id }]);
  });

  it("can leave the offer to the appliance: the answer comes with the ACK", async () => {
    await open(trusting);
    const call = phone.call("900");
    const cseq = call.send("INVITE");
    const answer = await call.response(cseq);
    expect(answer.body).toMatch(/^m=audio \d+ RTP\/AVP 0 8 9 101\r$/m);
    const tag = /;tag=(\S+)/.exec(firstHeader(answer, "To") ?? "")?.[1] ?? "";
    const to = [["To", `<sip:900@127.0.0.1:${port}>;tag=${tag}`]] as const;
    phone.sendRaw(
      [
        ...[`ACK sip:900@127.0.0.1:${port} SIP/2.0`, `Via: SIP/2.0/UDP 127.0.0.1:${phone.port};branch=z9hG4bKlate`],
        ...["From: <sip:214@127.0.0.1>;tag=caller", `To: ${to[0][1]}`, `Call-ID: ${call.id}`, `CSeq: ${cseq} ACK`],
        ...["Content-Type: application/sdp", "", offerOf(phone.mediaPort, "8 101")],
      ].join("\r\n"),
    );
    await expect.poll(connects, PATIENCE).toMatchObject([{ args: [call.id, { codec: "PCMA" }] }]);
  });

  it("is refused with 488 without a common codec, with an invalid or absurd description", async () => {
    await open(trusting);
    const bodies = [
      offerOf(phone.mediaPort, "3 18 101"),
      "v=0\r\nm=video 4000 RTP/AVP 96\r\n",
      "\0\0\0",
      "m=audio",
      `c=IN IP4 239.1.1.1\r\nm=audio ${phone.mediaPort} RTP/AVP 0\r\n`,
      `c=IN IP4 127.0.0.1\r\nm=audio 99999 RTP/AVP 0\r\n`,
      `v=0\r\nc=IN IP6 ::1\r\nm=audio 4000 RTP/AVP 0\r\n`,
      `${"a=x\r\n".repeat(5_000)}`,
    ];
    for (const body of bodies) expect((await phone.call("900").invite({ body })).status, body.slice(0, 60)).toBe(488);
    expect(plugin.fromCalls.filter(({ kind }) => kind === "phone-end")).toHaveLength(bodies.length);
    // Nothing is left of them.
    expect((await phone.call("900").invite()).status).toBe(200);
  });

  it("keeps its answer for a repeated INVITE, and is one call on two paths", async () => {
    await open(trusting);
    const call = phone.call("900");
    const number = call.send("INVITE", { body: offerOf(phone.mediaPort) });
    const first = await call.response(number);
    call.send("INVITE", { body: offerOf(phone.mediaPort), number });
    await expect
      .poll(() => phone.received.filter((each) => each.kind === "response" && each.status === 200), PATIENCE)
      .toHaveLength(2);
    expect(phone.received.at(-1)).toEqual(first);
    call.send("INVITE", { body: offerOf(phone.mediaPort), number, branch: "another-path" });
    expect((await call.response(number, 482)).status).toBe(482);
    expect(dials()).toHaveLength(1);
  });

  it("ends by CANCEL before it is answered", async () => {
    let decide: (result: object) => void = () => {};
    const decided = new Promise<object>((resolve) => {
      decide = resolve;
    });
    await open(trusting, ({ method }) => (method === "phone.dial" ? decided : undefined));
    const call = phone.call("900");
    const number = call.send("INVITE", { body: offerOf(phone.mediaPort) });
    call.send("CANCEL", { number, branch: `${call.id}-INVITE-${number}` });
    const statuses = () =>
      phone.received.map((each) => `${each.kind === "response" ? each.status : ""} ${firstHeader(each, "CSeq")}`);
    await expect.poll(statuses, PATIENCE).toContain(`200 ${number} CANCEL`);
    decide({ answer: true });
    expect(statuses()).toContain(`487 ${number} INVITE`);
    await expect.poll(() => plugin.fromCalls.at(-1), PATIENCE).toEqual({ kind: "phone-end", callId: call.id });
    expect(statuses()).not.toContain(`200 ${number} INVITE`);
  });

  it("is held and resumed by the telephone, and then heard again", async () => {
    await open(trusting);
    const call = phone.call("900");
    await call.connect();
    const hold = async (direction: string): Promise<void> => {
      const number = call.send("INVITE", { body: offerOf(phone.mediaPort, "0 101", `a=${direction}`) });
      const answer = await call.response(number, 200);
      expect(answer.body).toContain(direction === "sendonly" ? "a=recvonly" : "a=sendrecv");
      call.send("ACK", { number });
    };
    await hold("sendonly");
    await expect.poll(connects, PATIENCE).toMatchObject([{}, { args: [call.id, null] }]);
    call.speak(VOICE);
    await hold("sendrecv");
    await expect.poll(connects, PATIENCE).toHaveLength(3);
    call.speak(VOICE);
    await expect.poll(() => plugin.fromCalls.filter(({ kind }) => kind === "phone-voice"), PATIENCE).toHaveLength(1);
  });

  it("ends when the host hangs up, or when no more sound arrives", async () => {
    await open(trusting);
    const call = phone.call("900");
    await call.connect();
    await expect.poll(connects, PATIENCE).toHaveLength(1);
    plugin.hangUp(call.id);
    await phone.receive(isBye);

    const silent = phone.call("900");
    await silent.connect();
    await expect.poll(connects, PATIENCE).toHaveLength(2);
    await clock.advance(20_000);
    await phone.receive((each): each is SipRequest => isBye(each) && firstHeader(each, "Call-ID") === silent.id);
    expect(plugin.fromCalls).toContainEqual({ kind: "phone-end", callId: silent.id });
  });

  it("bridges lost packets, drops late and repeated ones, and those of strangers", async () => {
    await open(trusting);
    const call = phone.call("900");
    await call.connect();
    await expect.poll(connects, PATIENCE).toHaveLength(1);
    const pieces = [1, 2, 5, 4, 5, 6].map((sequence) => ({ sequence, payload: new Uint8Array(160).fill(sequence) }));
    for (const { sequence, payload } of pieces) call.speak(payload, { sequence });
    const voices = () => plugin.fromCalls.flatMap((each) => (each.kind === "phone-voice" ? [each.payload[0]] : []));
    await expect.poll(voices, PATIENCE).toEqual([1, 2, 2, 2, 5, 6]);
  });
});

describe("strangers who call the appliance", () => {
  it("cost it nothing: a thousand calls are refused, and a telephone is answered in between", async () => {
    await open();
    const strangers = Array.from({ length: 1_000 }, (_, n) => phone.call("900", { user: `s${n}` }));
    const numbers = strangers.map((call) => call.send("INVITE", { body: offerOf(phone.mediaPort) }));
    const answered = (call: { id: string }) =>
      phone.received.some((each) => firstHeader(each, "Call-ID") === call.id && each.kind === "response");
    await expect.poll(() => strangers.filter(answered).length, PATIENCE).toBeGreaterThan(100);
    const statuses = new Set(
      phone.received.flatMap((each) => (each.kind === "response" && each.status >= 200 ? [each.status] : [])),
    );
    expect(numbers).toHaveLength(1_000);
    expect([...statuses].sort()).toEqual([401, 503]);
    expect(dials()).toEqual([]);
    await clock.advance(60_000);
    await phone.call("900").connect({ password: "a-long-password" });
    expect(dials()).toHaveLength(1);
  });
});
