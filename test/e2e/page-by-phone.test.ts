import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { firstHeader, type SipMessage, type SipRequest } from "../../plugins/sip/user-agent/sip-message.ts";
import { decodeMuLaw, encodeMuLaw } from "../../src/media/mu-law.ts";
import { fromPcm, toPcm } from "../../src/media/samples.ts";
import { type CallerCall, openSipCaller, type SipCaller } from "../plugins/sip-caller.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { unusedPort } from "../support/free-port.ts";
import { amplitudeAt, rms } from "../support/signal-analysis.ts";
import { listenToZone, untilHeard, VOICE, type ZoneListener } from "../support/zone-listener.ts";

type Row = Record<string, unknown> & { id: string };

const PATIENCE = { timeout: 90_000, interval: 20 };
const ZONE = { group: "239.241.7.21", port: 20_520 };
const PACKET = 160;
const PACKET_MS = 20;
const SILENCE = new Float32Array(PACKET);

const isBye = (message: SipMessage): message is SipRequest => message.kind === "request" && message.method === "BYE";

/** True once the signal to speak was heard: 1 kHz in several packets in a row. */
function hasSpeakSignal(packets: readonly Buffer[]): boolean {
  let inRow = 0;
  return packets.some((packet) => {
    const samples = fromPcm(decodeMuLaw(packet.subarray(12)));
    const isTone = rms(samples) > 0.01 && amplitudeAt(samples, 1_000) > 1.2 * rms(samples);
    inRow = isTone ? inRow + 1 : 0;
    return inRow === 8;
  });
}

/** How often was said what is said, by the function that stops it. */
const rounds = new Map<() => Promise<void>, number>();
const running = new Set<() => Promise<void>>();

/** Says `samples` again and again in real time until it is stopped. */
function talk(call: CallerCall, samples: Float32Array = SILENCE): () => Promise<void> {
  const codes = encodeMuLaw(toPcm(samples));
  const packets = codes.length / PACKET;
  let isOver = false;
  const speak = async (): Promise<void> => {
    const from = performance.now();
    for (let n = 0; !isOver; n++) {
      const at = (n % packets) * PACKET;
      call.speak(codes.subarray(at, at + PACKET));
      rounds.set(stop, (n + 1) / packets);
      await pause(Math.max(0, from + (n + 1) * PACKET_MS - performance.now()));
    }
  };
  const stop = (): Promise<void> => {
    isOver = true;
    running.delete(stop);
    return loop;
  };
  const loop = speak();
  running.add(stop);
  return stop;
}

describe("page by phone", () => {
  let daemon: TestDaemon;
  let phone: SipCaller;
  let zone: ZoneListener;
  let template: string;
  let hall: string;
  const sent = async () => (await daemon.call<{ data: Row[] }>("GET", "/notifications?limit=100")).body.data;
  const toCaller = () => fromPcm(decodeMuLaw(Buffer.concat(phone.heard.map((packet) => packet.subarray(12)))));
  /** Resolves when the caller is asked to speak. */
  const untilSignal = (): Promise<void> => expect.poll(() => hasSpeakSignal(phone.heard), PATIENCE).toBe(true);
  const untilHungUp = async (call: CallerCall): Promise<void> => {
    await phone.receive((each): each is SipRequest => isBye(each) && firstHeader(each, "Call-ID") === call.id);
  };
  /** Resolves when the zone has heard the last message to its end. */
  const untilEnded = async (): Promise<void> => {
    const id = (await sent()).at(-1)?.id;
    const ledger = async () => (await daemon.call<{ data: Row[] }>("GET", `/notifications/${id}/devices`)).body.data;
    await expect.poll(ledger, PATIENCE).toMatchObject([{ deviceIdentifier: "zone:Hall", endedAt: expect.any(String) }]);
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
    zone = await listenToZone(ZONE);
    phone = await openSipCaller(port);
    // The plugin opens its port after its start.
    while (phone.received.length === 0) {
      phone.call("0").send("OPTIONS");
      await pause(PACKET_MS);
    }
  });
  afterAll(async () => {
    await Promise.all([...running].map((stop) => stop()));
    zone?.close();
    await phone?.close();
    await daemon?.stop();
  });

  it("sends the caller's voice to the zone at once, after the tone, and keeps it as the recording", async () => {
    await configure("800", { callAction: "LIVE_PAGE" });
    const call = phone.call("800", { user: "+12025550100" });
    await call.connect();
    const stopSilence = talk(call);
    await untilSignal();
    await stopSilence();
    const stop = talk(call, VOICE);
    await untilHeard(zone.sound);
    await call.response(call.send("BYE"));
    await stop();
    const page = (await sent()).at(-1);
    expect(page).toMatchObject({ subject: "Page from +12025550100", notificationSource: "dial-cast" });
    const row = async () => (await daemon.call<Row>("GET", `/notifications/${page?.id}`)).body;
    await expect.poll(async () => (await row()).audio, PATIENCE).not.toBeNull();
    await untilEnded();
  });

  it("gives way to an emergency, and says so to the caller", async () => {
    await configure("806", { callAction: "LIVE_PAGE" });
    const call = phone.call("806");
    await call.connect();
    const stop = talk(call, VOICE);
    const started = zone.sound().length;
    await untilHeard(() => zone.sound().subarray(started));
    const emergency = { subject: "Lockdown", alertTone: "chirp", deviceGroupIds: [hall], priority: "critical" };
    const { status, body } = await daemon.call("POST", "/notifications", emergency);
    expect(status, JSON.stringify(body)).toBe(200);
    await untilHungUp(call);
    await stop();
    await untilEnded();
  });

  it("asks for the PIN: three wrong ones end the call and lock the caller, the right one opens", async () => {
    await configure("801", { callAction: "ALL_CLEAR", pin: "4711" });
    const intruder = phone.call("801", { user: "666" });
    await intruder.connect();
    for (const pin of ["1111", "2222", "3333"]) for (const key of `${pin}#`) intruder.press(key);
    await untilHungUp(intruder);
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
    await untilHungUp(principal);
    const allClear = (await sent()).at(-1);
    expect((await sent()).length).toBe(before + 1);
    expect(allClear).toMatchObject({ alertTone: expect.stringContaining("all-clear") });
  });

  it("sends the message of a number", async () => {
    await configure("802", {});
    const call = phone.call("802");
    await call.connect();
    await untilHungUp(call);
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
    await untilEnded();
    phone.heard.splice(0);
    const call = phone.call("803");
    await call.connect();
    const stopSilence = talk(call);
    await untilSignal();
    await stopSilence();
    const before = zone.sound().length;
    const stop = talk(call, VOICE);
    // So often that it is there as a whole even if the beginning was lost.
    await expect.poll(() => rounds.get(stop), PATIENCE).toBeGreaterThan(2);
    phone.heard.splice(0);
    call.press("#");
    await stop();
    const stopListening = talk(call);
    await untilHeard(toCaller);
    // Nothing reaches the zone before the caller has agreed.
    expect(zone.sound().length).toBe(before);
    call.press("1");
    await untilHungUp(call);
    await stopListening();
    await untilEnded();
    await untilHeard(() => zone.sound().subarray(before));
  });

  it("plays the last broadcast of the group", async () => {
    await configure("804", { callAction: "LAST_BROADCAST" });
    const listener = phone.call("804");
    phone.heard.splice(0);
    await listener.connect();
    const stop = talk(listener);
    await untilHungUp(listener);
    await stop();
    await untilHeard(toCaller);
  });

  it("plays the caller's voice back in the echo test", async () => {
    await configure("805", { callAction: "ECHO_TEST" });
    phone.heard.splice(0);
    const call = phone.call("805");
    await call.connect();
    const stop = talk(call, VOICE);
    await untilHeard(toCaller);
    await call.response(call.send("BYE"));
    await stop();
  });
});
