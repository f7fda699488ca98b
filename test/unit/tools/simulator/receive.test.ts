import { createSocket } from "node:dgram";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PhoneReport, SimulatorReport } from "../../../../src/tools/simulator/report.ts";
import { seededRandom } from "../../../../src/tools/simulator/seeded-random.ts";
import type { Simulator } from "../../../../src/tools/simulator/simulator.ts";
import {
  type HttpOutcome,
  openRtpSender,
  ownGroup,
  type PageServer,
  push,
  type RtpSender,
  requestPhone,
  rtp,
  simulatorFrom,
  startPageServer,
  until,
  urlOf,
  wavOf,
} from "./simulator-fixture.ts";

const FRAMES = 25;
/** Whole steps of µ-law, so that the sender needs no encoder: sample s is byte 0xff - n for n = s / 8 (first segment). */
const steps = Array.from({ length: FRAMES * 160 }, (_, at) => Math.floor(seededRandom(3, at) * 16));
const payload = Uint8Array.from(steps, (step) => 0xff - step);
const wav = wavOf(Int16Array.from(steps, (step) => step * 8));

describe("reception of the simulator", () => {
  let server: PageServer;
  let campus: Simulator;
  let senders: RtpSender[];

  const open = async (line: string): Promise<void> => {
    campus = await simulatorFrom(`${line} --auth-url ${server.url}/auth`);
  };
  const sender = (group: string, port: number, ssrc?: number): RtpSender => {
    const made = openRtpSender(group, port, ssrc);
    senders.push(made);
    return made;
  };
  const control = (path: string, body: Buffer | string = ""): Promise<HttpOutcome> =>
    requestPhone(`${campus.control}${path}`, { method: "POST", body });
  const report = async (): Promise<SimulatorReport> =>
    JSON.parse((await requestPhone(`${campus.control}/report`)).body);
  const statistic = async (index: number, name: string): Promise<string | undefined> => {
    const { body } = await requestPhone(urlOf(campus.devices[index], "/StreamingStatisticsX?1"));
    return new RegExp(`<${name}>([^<]*)</${name}>`).exec(body)?.[1];
  };
  /** Waits until the campus has taken in `packets` packets at each of the listeners named. */
  const heard = (packets: number, ...indexes: number[]): Promise<void> =>
    until(async () => {
      const { phones, zones } = await report();
      const all = [...phones, ...zones];
      return indexes.every((index) => all[index]?.packets === packets);
    });

  beforeEach(async () => {
    senders = [];
    server = await startPageServer();
  });

  afterEach(async () => {
    for (const one of senders) one.close();
    await campus.stop();
    await server.close();
  });

  it("receives a multicast group, shares its socket, and distinguishes late from early listeners", async () => {
    await open("--phones 3");
    const { group, port } = ownGroup(2);
    const talk = sender(group, port);
    await push(campus.devices[0], `RTPMRx:${group}:${port}`);
    await push(campus.devices[1], `RTPMRx:${group}:${port}`);
    await talk.send(payload, 0, 10);
    await heard(10, 0, 1);
    expect(await statistic(0, "RcvrPackets")).toBe("10");
    expect(await statistic(0, "RemoteAddr")).toBe(`${group}/${port}`);
    await push(campus.devices[2], `RTPMRx:${group}:${port}`);
    await push(campus.devices[1], "RTPRx:Stop");
    await talk.send(payload, 10, FRAMES);
    await heard(FRAMES, 0);
    expect(await control("/programme", wav)).toMatchObject({ status: 200, body: `{"packets":${FRAMES}}` });
    const { phones, summary } = await report();
    const [whole, left, late] = phones as [PhoneReport, PhoneReport, PhoneReport];
    expect(whole).toMatchObject({ packets: FRAMES, lost: 0, ssrc: 99, exact: true, leftAt: null });
    expect(left).toMatchObject({ packets: 10, lost: 0, exact: true, firstPacketAt: whole.firstPacketAt });
    expect(late).toMatchObject({ packets: FRAMES - 10, lost: 0, exact: true });
    expect(late.firstPacketAt).toBeGreaterThan(late.joinedAt ?? Number.NaN);
    expect(late.payloadSha256).not.toBe(whole.payloadSha256);
    expect(summary).toMatchObject({ phones: 3, joined: 3, listeners: 3, exact: 3, packets: FRAMES + 10 + FRAMES - 10 });
    expect(summary.programmePackets).toBe(FRAMES);
  });

  it("detects differing and missing packets", async () => {
    await open("--phones 2");
    await control("/programme", wav);
    const spoilt = payload.slice();
    spoilt[20 * 160] = 0x80;
    const cases: [Uint8Array, number[]][] = [
      [spoilt, [0, FRAMES]],
      [payload, [0, 10, 11, FRAMES]],
    ];
    for (const [index, [bytes, [from = 0, to = 0, again = 0, end = 0]]] of cases.entries()) {
      const { group, port } = ownGroup(3 + index);
      await push(campus.devices[index], `RTPMRx:${group}:${port}`);
      const talk = sender(group, port);
      await talk.send(bytes, from, to);
      await talk.send(bytes, again, end);
    }
    await heard(FRAMES, 0);
    await heard(FRAMES - 1, 1);
    const { phones, summary } = await report();
    expect(phones.map((phone) => [phone.lost, phone.exact])).toEqual([
      [0, false],
      [1, false],
    ]);
    expect(summary.exact).toBe(0);
  });

  it("receives in every zone from the start, and only its own group", async () => {
    await open("--zones 2");
    await control("/programme", wav);
    const [first, second] = campus.devices;
    expect(first).toMatchObject({ type: "speakers", deviceIdentifier: "zone:Zone-01", description: "Zone 01" });
    const { Group: group = "", Port: port } = first?.attributes ?? {};
    expect(group).not.toBe(second?.attributes.Group);
    expect(port).toBe(second?.attributes.Port);
    await sender(group, Number(port)).send(payload, 0, FRAMES);
    await heard(FRAMES, 0);
    const { zones } = await report();
    expect(zones[0]).toMatchObject({ deviceIdentifier: "zone:Zone-01", packets: FRAMES, lost: 0, exact: true });
    expect(zones[1]).toMatchObject({ packets: 0, exact: null, firstPacketAt: null });
  });

  it("counts no packets for a mute phone", async () => {
    await open("--phones 2 --mute 1");
    const { group, port } = ownGroup(6);
    for (const device of campus.devices) {
      expect((await push(device, `RTPMRx:${group}:${port}`)).body).toContain('Status="0"');
    }
    await sender(group, port).send(payload, 0, FRAMES);
    await until(async () => (await report()).summary.packets === FRAMES);
    const { phones, summary } = await report();
    const [deaf] = phones.filter((phone) => phone.packets === 0);
    expect(summary.listeners).toBe(1);
    expect(deaf?.joinedAt).not.toBeNull();
    const counts = [await statistic(0, "RcvrPackets"), await statistic(1, "RcvrPackets")].sort();
    expect(counts).toEqual(["0", String(FRAMES)]);
  });

  it("receives unicast at the phone's own address, from the given sender only", async () => {
    await open("--phones 2");
    for (const device of campus.devices) await push(device, "RTPRx:127.0.0.1:20480");
    const talk = sender(campus.devices[1]?.attributes.IPAddress ?? "", 20_480);
    await talk.send(payload, 0, 5);
    await heard(5, 1);
    await push(campus.devices[1], "RTPRx:Stop");
    await push(campus.devices[1], "RTPRx:127.0.0.9:20480");
    await talk.send(payload, 5, 10);
    await push(campus.devices[1], "RTPRx:Stop");
    const { phones } = await report();
    expect(phones[0]).toMatchObject({ packets: 0 });
    expect(phones[1]).toMatchObject({ packets: 0, earlier: [{ packets: 5 }] });
  });

  it("counts unplayable packets as discarded", async () => {
    await open("--phones 1");
    const { group, port } = ownGroup(7);
    await push(campus.devices[0], `RTPMRx:${group}:${port}`);
    const socket = createSocket("udp4");
    await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    socket.setMulticastInterface("127.0.0.1");
    const odd = [Buffer.from("hello"), rtp(1, 0, payload.subarray(0, 160), 9), rtp(1, 1, payload.subarray(0, 80))];
    for (const datagram of odd) await new Promise((resolve) => socket.send(datagram, port, group, resolve));
    await until(async () => (await statistic(0, "RcvrDiscarded")) === "3");
    expect(await statistic(0, "RcvrPackets")).toBe("0");
    socket.close();
  });

  it("clears records on request, and keeps receiving", async () => {
    await open("--phones 1 --zones 1");
    await control("/programme", wav);
    const { group, port } = ownGroup(8);
    await push(campus.devices[0], `RTPMRx:${group}:${port}`);
    const talk = sender(group, port);
    await talk.send(payload, 0, 5);
    await heard(5, 0);
    expect((await control("/reset")).status).toBe(204);
    expect((await report()).phones[0]).toMatchObject({ packets: 0, pushes: 0, authCalls: 0, exact: null });
    await talk.send(payload, 5, 8);
    await heard(3, 0);
    expect((await report()).summary).toMatchObject({ packets: 3, programmePackets: null });
  });

  it("rejects invalid requests", async () => {
    await open("--phones 1");
    expect((await control("/programme", "no wav")).status).toBe(400);
    expect((await control("/programme", wav.subarray(0, 44))).status).toBe(400);
    expect((await control("/auth-url", '{"url":"file:///etc"}')).status).toBe(400);
    expect((await control("/phones/SEP02CA00000000/call", '{"state":"maybe"}')).status).toBe(400);
    expect((await control("/phones/SEP0/call", '{"state":"idle"}')).status).toBe(404);
    expect((await control("/phones/SEP02CA00000000/call", "[")).status).toBe(400);
    expect((await requestPhone(`${campus.control}/nothing`)).status).toBe(404);
    expect(JSON.parse((await requestPhone(`${campus.control}/devices`)).body)).toEqual(campus.devices);
    expect(JSON.parse((await requestPhone(`${campus.control}/summary`)).body)).toMatchObject({ phones: 1, pushes: 0 });
  });
});
