import { createSocket, type Socket } from "node:dgram";
import { existsSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { encodeRtpPacket, ssrcOf } from "../../src/media/rtp.ts";
import { createSrtpEncryptor, type SrtpMasterKey } from "../../src/media/srtp.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { deliveryTo } from "./simulator-fixture.ts";
import { MAC, startAgent, until } from "./speakers-agents.ts";
import { JOIN_SECRET, type OpenedStream, openSpeakersFixture, type SpeakersFixture, TONE } from "./speakers-fixture.ts";

const NOTIFICATION = "0198f3a0-0000-7000-8000-000000000001";
const SSRC = ssrcOf(NOTIFICATION);
const AUDIO = { group: "0.0.0.0", port: 0, codec: "PCMU", ttl: 1, ssrc: SSRC } as const;
const DEVICE = { type: "speakers", deviceIdentifier: `agent:${MAC}`, description: "Gym", attributes: {} };
const GROUP = "239.255.76.3";
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function scene(rules: readonly object[] = [], withAgent = true) {
  const open = await openSpeakersFixture({ rules });
  closing.push(open.close);
  const folder = makeTempDir();
  const agent = withAgent ? await startAgent(open.url, folder, { bufferMs: 200 }) : null;
  if (agent) closing.push(agent.stop);
  const port = agent
    ? Number(/port (\d+)/.exec(await until(() => agent.log.find((line) => line.includes("port"))))?.[1])
    : 0;
  const bytes = (): number => (agent && existsSync(agent.played) ? statSync(agent.played).size : 0);
  return { open, agent, port, bytes };
}

/** A socket of somebody else. */
function attacker(): Promise<Socket> {
  const socket = createSocket("udp4");
  closing.push(async () => void socket.close());
  return new Promise((resolve) => socket.bind(0, "127.66.66.66", () => resolve(socket)));
}

function packet(sequence: number, ssrc = SSRC): Buffer {
  const header = { payloadType: 0, marker: false, sequence, timestamp: sequence * 160, ssrc };
  return encodeRtpPacket(header, new Uint8Array(160).fill(3));
}

const send = (socket: Socket, datagram: Buffer, port: number): Promise<void> =>
  new Promise((resolve) => socket.send(datagram, port, "127.0.0.1", () => resolve()));

const streamsOf = ({ plugin }: SpeakersFixture): OpenedStream[] =>
  plugin.calls.filter(({ method }) => method === "stream.open").map(({ args }) => args[0] as OpenedStream);

const degraded = ({ plugin }: SpeakersFixture) => plugin.said(({ state }) => state === "degraded");

/** Registers as an agent of the version before encryption does, and polls once. */
async function earlierAgent(open: SpeakersFixture) {
  const post = async (path: string, bearer: string, body: object) => {
    const headers = { authorization: `Bearer ${bearer}` };
    const { status, body: text } = await open.plugin.request({
      url: path,
      headers,
      body: Buffer.from(JSON.stringify(body)),
    });
    expect(status).toBeLessThan(300);
    return JSON.parse(String(text));
  };
  const { token } = await post("/register", JOIN_SECRET, { mac: MAC, model: "x", capabilities: { selfTest: false } });
  return (more: object = {}) => post(`/agents/${MAC}/beat`, token, { port: 5_004, waitMs: 0, ...more });
}

describe("strangers in the network of an agent", () => {
  it("cannot speak on its port, before, in and after a message, and are reported", async () => {
    const { open, port, bytes } = await scene();
    const socket = await attacker();
    const recorded: Buffer[] = [];
    const attack = async (): Promise<void> => {
      for (let n = 0; n < 25; n++) {
        await send(socket, packet(n), port);
        await send(socket, Buffer.concat([packet(n), Buffer.alloc(10, n)]), port);
        await send(socket, Buffer.alloc(n * 40, n), port);
      }
      for (const old of recorded) await send(socket, old, port);
    };
    await attack();
    open.plugin.deliver(deliveryTo(DEVICE, 1, { audio: AUDIO }));
    await until(() => streamsOf(open)[0]);
    await attack();
    await open.plugin.outcome(1, "playing");
    const { secrecy } = streamsOf(open)[0] as { secrecy: SrtpMasterKey };
    const encrypt = createSrtpEncryptor(secrecy);
    for (let n = 0; n < 25; n++) recorded.push(encrypt(packet(n), 0));
    await until(() => bytes() >= TONE.byteLength || undefined);
    open.plugin.stop("aborted", 1);
    open.plugin.deliver(deliveryTo(DEVICE, 2, { audio: AUDIO }));
    await until(() => streamsOf(open)[1]);
    expect(streamsOf(open)[1]?.secrecy?.key).not.toBe(secrecy.key);
    await attack();
    await until(() => bytes() >= 2 * TONE.byteLength || undefined);
    expect(await degraded(open)).toMatchObject({ reason: expect.stringContaining("127.66.66.66") });
    // Nothing but the two messages and the silence of their ends came out.
    expect(bytes()).toBeLessThanOrEqual(2 * TONE.byteLength + 2 * 32_000 + 640);
  });

  it("cannot speak in its zone: the agent learns at once what the appliance sends there", async () => {
    const { open } = await scene([{ zones: [{ group: GROUP, port: 5_000, priority: 3 }] }], false);
    const beat = await earlierAgent(open);
    await beat({ srtp: true });
    const stream = { group: GROUP, port: 5_000, ssrc: SSRC, source: "10.0.0.1" };
    const waiting = beat({ srtp: true, waitMs: 8_000 });
    open.plugin.event("multicast.changed", { streams: [{ ...stream, port: 5_002 }] });
    open.plugin.event("multicast.changed", { streams: [stream, { ...stream, group: "239.9.9.9" }] });
    const { commands, settings } = await waiting;
    expect(commands).toEqual([{ kind: "refresh" }]);
    expect(settings.zones[0]).toMatchObject({ senders: [], streams: [{ ssrc: SSRC, source: "10.0.0.1" }] });
    open.plugin.event("multicast.changed", { streams: [{ ...stream, source: "10.0.0.2" }] });
    open.plugin.event("multicast.changed", { streams: [{ ...stream, ssrc: 7, source: "10.0.0.2" }] });
    const moved = await beat({ srtp: true, waitMs: 8_000 });
    expect(moved.commands).toEqual([{ kind: "refresh" }]);
    expect(moved.settings.zones[0].streams).toContainEqual({ ssrc: 7, source: "10.0.0.2" });
  });

  it("is plain audio for an agent of the version before, until it is replaced", async () => {
    const { open } = await scene([{ zones: [{ group: GROUP, port: 5_000, priority: 3 }] }], false);
    const beat = await earlierAgent(open);
    await beat();
    const play = async (deliveryId: number, more: object = {}) => {
      open.plugin.deliver(deliveryTo(DEVICE, deliveryId, { audio: AUDIO }));
      const { commands } = await beat(more);
      expect(commands).toMatchObject([{ kind: "play", deliveryId, ssrc: SSRC }]);
      await beat({ ...more, events: [{ kind: "accepted", deliveryId }] });
      return commands[0];
    };
    expect((await play(1)).secrecy).toBeUndefined();
    expect(streamsOf(open)[0]).not.toHaveProperty("secrecy");
    // An announcement is nothing that it knows.
    open.plugin.event("multicast.changed", { streams: [{ group: GROUP, port: 5_000, ssrc: 1, source: "10.0.0.1" }] });
    expect((await beat()).commands).toEqual([]);
    const { settings } = await beat({ srtp: true });
    expect(settings.zones[0].streams).toEqual([{ ssrc: 1, source: "10.0.0.1" }]);
    let command = await play(2, { srtp: true });
    // The appliance looks its own address up.
    for (let id = 3; command.source === null; id++) {
      await pause(5);
      command = await play(id, { srtp: true });
    }
    expect(command.source).toBe("127.0.0.1");
    expect(streamsOf(open).at(-1)?.secrecy).toEqual(command.secrecy);
    const stored = open.plugin.calls.filter(({ method, args }) => method === "state.set" && args[0] === "agents/1");
    expect(stored.at(-1)?.args[1]).toMatchObject({ [MAC]: { srtp: true } });
  });

  it("is not reported for some stray packets, nor beyond bounds", async () => {
    const { open } = await scene([], false);
    const beat = await earlierAgent(open);
    const sender = (address: unknown, packets: unknown, zone: unknown = null) => ({ address, packets, zone });
    await beat({ strangers: { packets: 3, senders: [sender("10.0.0.7", 3)] } });
    await beat({ strangers: { senders: [sender("nonsense", 500), sender("10.0.0.8", -5), sender(7, 7), null, "x"] } });
    await beat({ strangers: "x" });
    expect(open.plugin.statuses.every(({ state }) => state === "ok")).toBe(true);
    for (let n = 0; n < 40; n++)
      await beat({ strangers: { senders: Array.from({ length: 20 }, (_, at) => sender(`10.1.${n}.${at}`, 100)) } });
    const { reason } = (await degraded(open)) as { reason: string };
    expect(reason.length).toBeLessThan(500);
  });

  it("reads the senders of a zone from the rules", async () => {
    const zone = { group: GROUP, port: 5_000, senders: ["10.0.0.9", "fd00::9"] };
    const { open } = await scene([{ zones: [zone] }, { zones: [{ ...zone, senders: ["paging"] }] }], false);
    const beat = await earlierAgent(open);
    expect((await beat({ srtp: true })).settings.zones).toMatchObject([
      { senders: ["10.0.0.9", "fd00::9"], streams: [] },
    ]);
    expect(open.plugin.statuses).toMatchObject([{ reason: expect.stringContaining("at most 16 IP addresses") }]);
  });
});
