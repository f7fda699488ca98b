import { describe, expect, it } from "vitest";
import { encodeRtpPacket } from "../../../src/media/rtp.ts";
import { createSrtpEncryptor } from "../../../src/media/srtp.ts";
import type { AgentCommand, MonitoredZone } from "../../../src/speaker-agent/appliance-client.ts";
import { createAudioArbiter } from "../../../src/speaker-agent/audio-arbiter.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const APPLIANCE = "10.0.0.1";
const ATTACKER = "10.0.0.66";
const ZONE = { group: "239.1.2.3", port: 5_000, priority: 3 };
const KEY = "239.1.2.3:5000";
const SSRC = 0xcafe;

type PlayCommand = Extract<AgentCommand, { kind: "play" }>;

/** An arbiter whose player counts samples that are not silent. */
function scene() {
  const clock = createFakeClock();
  const events: string[] = [];
  let samples = 0;
  const arbiter = createAudioArbiter({
    ...{ clock, listen: null, bufferMs: 200, hasPlayedOffline: () => false, onStreamStarted: () => {} },
    onEvent: ({ kind, deliveryId, words }) => void events.push([kind, deliveryId, words].join(" ").trim()),
    open: () => {
      let end = (_: string | null): void => {};
      const ended = new Promise<string | null>((resolve) => {
        end = resolve;
      });
      const write = (pcm: Int16Array): void => {
        samples += pcm.some((sample) => sample !== 0) ? pcm.length : 0;
      };
      return { ended, write, end: () => end(null), abort: () => end(null) };
    },
  });
  const zone = (more: Partial<MonitoredZone>): void =>
    arbiter.applySettings({ volume: 100, delayMs: 0, zones: [{ ...ZONE, ...more }] });
  /** Twenty packets, as a stream sends them; `seal` encrypts. */
  const send = async (sender: string, ssrc: number, to: string | null, seal = (packet: Buffer) => packet) => {
    const before = samples;
    for (let sequence = 0; sequence < 20; sequence++) {
      const header = { payloadType: 0, marker: false, sequence, timestamp: sequence * 160, ssrc };
      const datagram = seal(encodeRtpPacket(header, new Uint8Array(160).fill(3)));
      arbiter.handlePacket({ datagram, sender, zone: to });
      await clock.advance(20);
    }
    await clock.advance(3_000);
    return (samples - before) / 160;
  };
  return { clock, arbiter, events, zone, send, samples: () => samples / 160 };
}

describe("a zone of an agent", () => {
  it("plays what the appliance announces, and nothing else", async () => {
    const { clock, arbiter, zone, send, samples } = scene();
    zone({ streams: [] });
    expect(await send(ATTACKER, SSRC, KEY)).toBe(0);
    zone({ streams: [{ ssrc: SSRC, source: APPLIANCE }] });
    expect(arbiter.takeStrangers()).toEqual({ packets: 20, senders: [{ address: ATTACKER, zone: KEY, packets: 20 }] });
    expect(await send(APPLIANCE, SSRC, KEY)).toBe(20);
    expect(await send(ATTACKER, SSRC, KEY), "the right SSRC of another sender").toBe(0);
    expect(await send(APPLIANCE, SSRC + 1, KEY), "another SSRC of the right sender").toBe(0);
    zone({ streams: [] });
    expect(await send(APPLIANCE, SSRC, KEY), "after the stream").toBe(0);
    zone({ streams: [{ ssrc: SSRC, source: APPLIANCE }] });
    await clock.advance(3_000);
    expect(samples(), "held for too long").toBe(20);
    expect(arbiter.takeStrangers()?.packets).toBe(60);
  });

  it("does not lose the beginning that arrives before its announcement", async () => {
    const { clock, arbiter, zone, send } = scene();
    zone({ streams: [] });
    const sending = send(APPLIANCE, SSRC, KEY);
    await clock.advance(100);
    zone({ streams: [{ ssrc: SSRC, source: APPLIANCE }] });
    expect(await sending).toBe(20);
    expect(arbiter.takeStrangers()).toBeNull();
  });

  it("plays other systems only from the addresses that an administrator listed", async () => {
    const { zone, send } = scene();
    zone({ streams: [], senders: ["10.0.0.9"] });
    expect(await send("10.0.0.9", 5, KEY)).toBe(20);
    expect(await send(ATTACKER, 5, KEY)).toBe(0);
  });

  it("plays all audio for an appliance that announces nothing", async () => {
    const { zone, send } = scene();
    zone({});
    expect(await send(APPLIANCE, SSRC, KEY)).toBe(20);
  });

  it("compares IPv6 addresses without the name of the interface", async () => {
    const { zone, send } = scene();
    zone({ group: "ff15::7:7", streams: [{ ssrc: SSRC, source: "fe80::1%eth7" }] });
    expect(await send("fe80::1%wlan0", SSRC, "ff15::7:7:5000")).toBe(20);
    expect(await send("fe80::2%wlan0", SSRC, "ff15::7:7:5000")).toBe(0);
  });

  it("keeps little of a flood", async () => {
    const { arbiter, zone } = scene();
    zone({ streams: [] });
    const datagram = encodeRtpPacket(
      { payloadType: 0, marker: false, sequence: 1, timestamp: 0, ssrc: 1 },
      Buffer.alloc(160),
    );
    for (let n = 0; n < 10_000; n++) arbiter.handlePacket({ datagram, sender: `10.9.${n >> 8}.${n & 255}`, zone: KEY });
    zone({ streams: [] });
    const report = arbiter.takeStrangers();
    expect(report?.packets).toBe(10_000);
    expect(report?.senders).toHaveLength(8);
    expect(arbiter.takeStrangers()).toBeNull();
  });
});

describe("the port of an agent", () => {
  const secrecy = { suite: "AES_CM_128_HMAC_SHA1_80", key: Buffer.alloc(30, 1).toString("base64") } as const;
  const earlier = { suite: "AES_CM_128_HMAC_SHA1_80", key: Buffer.alloc(30, 2).toString("base64") } as const;
  const play = (deliveryId: number, more: Partial<PlayCommand>): PlayCommand => ({
    ...{ kind: "play", deliveryId, notificationId: "n", ssrc: SSRC, volume: 100, delayMs: 0, priority: 3 },
    ...more,
  });
  const sealing = (key: typeof secrecy | typeof earlier) => {
    const encrypt = createSrtpEncryptor(key);
    return (packet: Buffer) => encrypt(packet, 0);
  };

  it("plays the encrypted stream, and reports others", async () => {
    const { arbiter, events, send } = scene();
    expect(await send(ATTACKER, SSRC, null), "without a message").toBe(0);
    arbiter.handleCommand(play(1, { secrecy, source: APPLIANCE }));
    expect(await send(ATTACKER, SSRC, null), "in clear").toBe(0);
    expect(await send(APPLIANCE, SSRC, null, sealing(earlier)), "an earlier key").toBe(0);
    expect(arbiter.takeStrangers()?.senders).toEqual([
      { address: ATTACKER, zone: null, packets: 40 },
      { address: APPLIANCE, zone: null, packets: 20 },
    ]);
    arbiter.handleCommand(play(2, { secrecy, source: APPLIANCE }));
    expect(await send(APPLIANCE, SSRC, null, sealing(secrecy))).toBe(20);
    expect(events).toContain("ended 2");
    expect(arbiter.takeStrangers()).toBeNull();
  });

  it("plays with the newest key after the message was sent again", async () => {
    const { arbiter, send } = scene();
    arbiter.handleCommand(play(1, { secrecy: earlier, source: APPLIANCE }));
    arbiter.handleCommand(play(1, { secrecy, source: APPLIANCE }));
    expect(await send(APPLIANCE, SSRC, null, sealing(secrecy))).toBe(20);
  });

  it("refuses an encryption that it does not have", async () => {
    const { arbiter, events, send } = scene();
    arbiter.handleCommand(play(1, { secrecy: { ...secrecy, suite: "AES_CM_128_HMAC_SHA1_32" } }));
    expect(events).toEqual(["failed 1 the encryption AES_CM_128_HMAC_SHA1_32 is not supported"]);
    expect(await send(APPLIANCE, SSRC, null)).toBe(0);
  });

  it("does not end what plays by a command that it does not know", async () => {
    const { arbiter, zone, send } = scene();
    zone({ streams: [{ ssrc: SSRC, source: APPLIANCE }] });
    const sending = send(APPLIANCE, SSRC, KEY);
    arbiter.handleCommand({ kind: "refresh" });
    arbiter.handleCommand({ kind: "later" } as never);
    expect(await sending).toBe(20);
  });
});
