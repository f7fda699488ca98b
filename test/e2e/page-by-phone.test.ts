import { createSocket } from "node:dgram";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { firstHeader, type SipMessage, type SipRequest } from "../../plugins/sip/user-agent/sip-message.ts";
import { decodeMuLaw, encodeMuLaw } from "../../src/media/mu-law.ts";
import { fromPcm, toPcm } from "../../src/media/samples.ts";
import { type CallerCall, openSipCaller, type SipCaller } from "../plugins/sip-caller.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { unusedPort } from "../support/free-port.ts";
import { locateSound } from "../support/signal-analysis.ts";

type Row = Record<string, unknown> & { id: string };

const PATIENCE = { timeout: 90_000, interval: 20 };
const ZONE = { group: "239.241.7.21", port: 20_520 };
const PACKET = 160;
const PACKET_MS = 20;
const MIN_CORRELATION = 0.9;
/** A machine under load speaks and hears late now and then: so much of the voice must arrive as it was. */
const MIN_SHARE = 0.6;
/** Samples of a piece, and how many are looked for. */
const CHUNK = 400;
const CHUNKS = 8;

/** A voice that resembles no other part of itself: a sweep with a rhythm. */
const VOICE = Float32Array.from({ length: 16_000 }, (_, i) => {
  const t = i / 8_000;
  return 0.4 * Math.sin(2 * Math.PI * (300 + 400 * t) * t) * (0.6 + 0.4 * Math.sin(2 * Math.PI * 3.3 * t));
});

const isBye = (message: SipMessage): message is SipRequest => message.kind === "request" && message.method === "BYE";

/** Share of the pieces of the voice that are in `sound`, each as it was. */
function shareHeard(sound: Float32Array): number {
  const starts = Array.from({ length: CHUNKS }, (_, n) => Math.floor((n * VOICE.length) / CHUNKS));
  const found = starts.filter((at) => locateSound(sound, VOICE.subarray(at, at + CHUNK)).correlation > MIN_CORRELATION);
  return found.length / starts.length;
}

/** What a speaker at the zone hears, from any number of sources. */
async function listen(): Promise<{ sound(): Float32Array; close(): void }> {
  const socket = createSocket({ type: "udp4", reuseAddr: true });
  const packets: Buffer[] = [];
  socket.on("message", (packet) => void packets.push(packet.subarray(12)));
  socket.bind(ZONE.port, ZONE.group);
  await once(socket, "listening");
  socket.addMembership(ZONE.group, "127.0.0.1");
  return { sound: () => fromPcm(decodeMuLaw(Buffer.concat(packets))), close: () => void socket.close() };
}

const running = new Set<() => void>();

/** Speaks in real time, with silence until it is stopped. */
function talk(call: CallerCall, samples: Float32Array): { said: Promise<void>; stop(): Promise<void> } {
  const codes = encodeMuLaw(toPcm(samples));
  const silence = new Uint8Array(PACKET).fill(0xff);
  let isOver = false;
  let onSaid = (): void => {};
  const said = new Promise<void>((resolve) => {
    onSaid = resolve;
  });
  const loop = (async () => {
    const from = performance.now();
    for (let n = 0; !isOver; n++) {
      const piece = codes.subarray(n * PACKET, (n + 1) * PACKET);
      call.speak(piece.length === PACKET ? piece : silence);
      if ((n + 1) * PACKET >= codes.length) onSaid();
      await pause(Math.max(0, from + (n + 1) * PACKET_MS - performance.now()));
    }
  })();
  running.add(() => {
    isOver = true;
  });
  return {
    said,
    async stop() {
      isOver = true;
      await loop;
    },
  };
}

describe("page by phone", () => {
  let daemon: TestDaemon;
  let phone: SipCaller;
  let zone: Awaited<ReturnType<typeof listen>>;
  let template: string;
  let hall: string;
  const sent = async () => (await daemon.call<{ data: Row[] }>("GET", "/notifications?limit=100")).body.data;
  const toCaller = () => fromPcm(decodeMuLaw(Buffer.concat(phone.heard.map((packet) => packet.subarray(12)))));
  /** Resolves at the next sound to the caller that is no silence. */
  const signal = async (): Promise<void> => {
    const before = phone.heard.length;
    const isSound = (packet: Buffer): boolean => packet.subarray(12).some((code) => (code & 0x7f) < 0x60);
    await expect.poll(() => phone.heard.slice(before).some(isSound), PATIENCE).toBe(true);
  };
  const configure = async (number: string, more: object): Promise<void> => {
    const { status, body } = await daemon.call("POST", "/dialcast-dialing-configurations", {
      ...{ name: `Number ${number}`, type: "NOTIFICATION", dialingPatternRegex: number, messageTemplateId: template },
      ...{ deviceGroupIds: [hall], ...more },
    });
    expect(status, JSON.stringify(body)).toBe(200);
  };

  beforeAll(async () => {
    daemon = await startTestDaemon();
    const { call, first } = daemon;
    const port = await unusedPort();
    const { data } = (await call<{ data: Row[] }>("GET", "/extensions?limit=100")).body;
    const config = { port, address: "127.0.0.1", trustedAddresses: "127.0.0.1", firstMediaPort: 22_000 };
    for (const [name, own] of [
      ["sip", { ...config, lastMediaPort: 22_999 }],
      ["multicast-zones", {}],
    ] as const) {
      const id = data.find((row) => row.name === name)?.id;
      const { status, body } = await call("PUT", `/extensions/${id}`, { config: own, disabled: false });
      expect(status, JSON.stringify(body)).toBe(200);
    }
    const device = {
      ...{ type: "speakers", deviceIdentifier: "zone:Hall", description: "Hall" },
      attributes: { Group: ZONE.group, Port: String(ZONE.port), Codec: "PCMU", TTL: "1" },
    };
    const path = `/extensions/${first.extensionId}/endpoints/${first.endpointId}/devices`;
    const { icopId } = (await call<Row>("POST", path, device)).body;
    const group = { name: "Hall", filterType: "REJECT", additionIds: [icopId] };
    hall = (await call<Row>("POST", "/device-groups", group)).body.id;
    const page = { name: "Page", subject: "Page from {{callingNumber}}", alertTone: "chirp" };
    template = (await call<Row>("POST", "/message-templates", page)).body.id;
    zone = await listen();
    phone = await openSipCaller(port);
    // The plugin opens its port after its start.
    while (phone.received.length === 0) {
      phone.call("0").send("OPTIONS");
      await pause(50);
    }
  });
  afterAll(async () => {
    for (const stop of running) stop();
    await pause(2 * PACKET_MS);
    zone?.close();
    await phone?.close();
    await daemon?.stop();
  });

  it("sends the caller's voice to the zone at once, after the tone, and keeps it as the recording", async () => {
    await configure("800", { callAction: "LIVE_PAGE" });
    const call = phone.call("800", { user: "+12025550100" });
    await call.connect();
    const silence = talk(call, new Float32Array(0));
    await signal();
    await pause(400);
    await silence.stop();
    const voice = talk(call, VOICE);
    await voice.said;
    await call.response(call.send("BYE"));
    await voice.stop();
    const page = (await sent()).at(-1);
    expect(page).toMatchObject({ subject: "Page from +12025550100", notificationSource: "dial-cast" });
    const row = async () => (await daemon.call<Row>("GET", `/notifications/${page?.id}`)).body;
    await expect.poll(async () => (await row()).audio, PATIENCE).not.toBeNull();
    expect(shareHeard(zone.sound())).toBeGreaterThan(MIN_SHARE);
    const ledger = (await daemon.call<{ data: Row[] }>("GET", `/notifications/${page?.id}/devices`)).body.data;
    expect(ledger).toMatchObject([{ deviceIdentifier: "zone:Hall", endedAt: expect.any(String) }]);
  });

  it("asks for the PIN: three wrong ones end the call and lock the caller, the right one opens", async () => {
    await configure("801", { callAction: "ALL_CLEAR", pin: "4711" });
    const intruder = phone.call("801", { user: "666" });
    await intruder.connect();
    for (const pin of ["1111", "2222", "3333"]) for (const key of `${pin}#`) intruder.press(key);
    await phone.receive((each): each is SipRequest => isBye(each) && firstHeader(each, "Call-ID") === intruder.id);
    const locked = await phone.call("801", { user: "666" }).invite();
    expect([locked.status, Number(firstHeader(locked, "Retry-After")) > 200]).toEqual([403, true]);
    const path = `/extensions/${daemon.first.extensionId}/endpoints/${daemon.first.endpointId}/activities`;
    const { data } = (await daemon.call<{ data: Row[] }>("GET", `${path}?limit=100`)).body;
    const refused = data.filter(({ value }) => JSON.stringify(value).includes("Wrong PIN"));
    expect(refused).toHaveLength(3);
    expect(JSON.stringify(refused)).not.toMatch(/1111|2222|3333|4711/);

    const before = (await sent()).length;
    const principal = phone.call("801", { user: "214" });
    await principal.connect();
    for (const key of "4711#") principal.press(key);
    await phone.receive((each): each is SipRequest => isBye(each) && firstHeader(each, "Call-ID") === principal.id);
    const allClear = (await sent()).at(-1);
    expect((await sent()).length).toBe(before + 1);
    expect(allClear).toMatchObject({ alertTone: expect.stringContaining("all-clear") });
  });

  it("sends the message of a number", async () => {
    await configure("802", {});
    const call = phone.call("802");
    await call.connect();
    await phone.receive((each): each is SipRequest => isBye(each) && firstHeader(each, "Call-ID") === call.id);
    expect((await sent()).at(-1)).toMatchObject({
      ...{
        subject: "Page from 214",
        notificationSource: "dial-cast",
        initiationSourceType: "dialcast-dialing-configurations",
      },
    });
  });

  it("records, plays it back to the caller, and sends it on the key 1", async () => {
    await configure("803", { callAction: "RECORDING" });
    const call = phone.call("803");
    await call.connect();
    const silence = talk(call, new Float32Array(0));
    await signal();
    // The prompt, and the signal at its end.
    await pause(8_000);
    await silence.stop();
    const before = zone.sound().length;
    const voice = talk(call, VOICE);
    await voice.said;
    call.press("#");
    // The recording and the question that follows.
    phone.heard.splice(0);
    await expect.poll(() => phone.heard.length, PATIENCE).toBeGreaterThan(400);
    const playedBack = toCaller();
    // Nothing reaches the zone before the caller has agreed.
    expect(zone.sound().length).toBe(before);
    call.press("1");
    await phone.receive((each): each is SipRequest => isBye(each) && firstHeader(each, "Call-ID") === call.id);
    await voice.stop();
    const arrived = () => zone.sound().subarray(before);
    const id = (await sent()).at(-1)?.id;
    const ledger = async () => (await daemon.call<{ data: Row[] }>("GET", `/notifications/${id}/devices`)).body.data;
    await expect.poll(ledger, PATIENCE).toMatchObject([{ endedAt: expect.any(String) }]);
    expect(shareHeard(playedBack)).toBeGreaterThan(MIN_SHARE);
    expect(shareHeard(arrived())).toBeGreaterThan(MIN_SHARE);
  });

  it("plays the last broadcast of the group", async () => {
    await configure("804", { callAction: "LAST_BROADCAST" });
    const listener = phone.call("804");
    phone.heard.splice(0);
    await listener.connect();
    await phone.receive((each): each is SipRequest => isBye(each) && firstHeader(each, "Call-ID") === listener.id);
    expect(shareHeard(toCaller())).toBeGreaterThan(MIN_SHARE);
  });

  it("plays the caller's voice back in the echo test", async () => {
    await configure("805", { callAction: "ECHO_TEST" });
    phone.heard.splice(0);
    const call = phone.call("805");
    await call.connect();
    const voice = talk(call, new Float32Array([...new Float32Array(40_000), ...VOICE]));
    await voice.said;
    await pause(300);
    await call.response(call.send("BYE"));
    await voice.stop();
    expect(shareHeard(toCaller())).toBeGreaterThan(MIN_SHARE);
  });
});
