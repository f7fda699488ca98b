import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { decodeMuLaw, encodeMuLaw } from "../../src/media/mu-law.ts";
import { ssrcOf } from "../../src/media/rtp.ts";
import { selectPlayer } from "../../src/speaker-agent/audio-output.ts";
import { createRoomMicrophone, type OpenRoomMicrophone } from "../../src/speaker-agent/room-microphone.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { deliveryTo, spawnSimulator } from "./simulator-fixture.ts";
import { MAC, startAgent as startSpeakerAgent, until } from "./speakers-agents.ts";
import { JOIN_SECRET, openSpeakersFixture, type SpeakersFixture, TONE } from "./speakers-fixture.ts";

const NOTIFICATION = "0198f3a0-0000-7000-8000-000000000001";
const AUDIO = { group: "0.0.0.0", port: 0, codec: "PCMU", ttl: 1, ssrc: ssrcOf(NOTIFICATION) } as const;
const DEVICE = { type: "speakers", deviceIdentifier: `agent:${MAC}`, description: "Gym", attributes: {} };
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function house(...given: Parameters<typeof openSpeakersFixture>): Promise<SpeakersFixture> {
  const opened = await openSpeakersFixture(...given);
  closing.push(opened.close);
  return opened;
}

/** An agent that ends with the test. */
async function startAgent(...given: Parameters<typeof startSpeakerAgent>) {
  const agent = await startSpeakerAgent(...given);
  closing.push(agent.stop);
  return agent;
}

function reported(house: SpeakersFixture, name: string): Promise<string> {
  const find = (): string | undefined =>
    house.plugin.calls
      .flatMap(({ method, args }) => (method === "devices.report" ? (args[0] as (typeof DEVICE)[]) : []))
      .map(({ attributes }) => (attributes as Record<string, string>)[name])
      .findLast((value) => value !== undefined);
  return until(find);
}

describe("speakers with an agent", () => {
  it("plays the stream exactly, and reports its start", async () => {
    const open = await house({ rules: [{ volume: 100 }] });
    const folder = makeTempDir();
    const agent = await startAgent(open.url, folder);
    expect(await reported(open, "IsRegistered")).toBe("true");
    open.plugin.deliver(deliveryTo(DEVICE, 1, { audio: AUDIO }));
    const { details } = await open.plugin.outcome(1, "playing");
    expect(details.started?.model).toBe("test-agent");
    expect(Math.abs((details.started?.at ?? 0) - Date.now())).toBeLessThan(10_000);
    const streams = open.plugin.calls.filter(({ method }) => method === "stream.open");
    expect(streams).toHaveLength(1);
    expect(streams[0]?.args[0]).toMatchObject({ secrecy: { suite: "AES_CM_128_HMAC_SHA1_80" } });
    expect(await reported(open, "AudioEncryption")).toBe("SRTP");
    const expected = decodeMuLaw(encodeMuLaw(TONE));
    await until(() => (existsSync(agent.played) && statSync(agent.played).size >= expected.byteLength) || undefined);
    const bytes = readFileSync(agent.played);
    const heard = new Int16Array(bytes.buffer, bytes.byteOffset, expected.length);
    expect(Buffer.compare(Buffer.from(heard.slice().buffer), Buffer.from(expected.buffer))).toBe(0);
    expect(open.plugin.levels(1).slice(0, 2)).toEqual(["accepted", "playing"]);
  });

  it("keep their token across a restart", async () => {
    const open = await house();
    const folder = makeTempDir();
    const first = await startAgent(open.url, folder);
    await reported(open, "IsRegistered");
    await first.stop();
    const { token } = JSON.parse(readFileSync(join(folder, "state", "membership.json"), "utf8"));
    expect(statSync(join(folder, "state", "membership.json")).mode & 0o077).toBe(0);
    const second = await startAgent(open.url, folder);
    await until(() => second.log.find((words) => words.includes("listening")));
    const registrations = open.plugin.calls.filter(
      ({ method, args: [key] }) => method === "state.set" && String(key).startsWith("agents/"),
    );
    expect(registrations).toHaveLength(1);
    expect(JSON.stringify(registrations)).not.toContain(token);
    for (const wrong of [`${token}x`, "", "x"]) {
      const headers = { authorization: `Bearer ${wrong}` };
      const asked = await open.plugin.request({
        url: `/agents/${MAC}/beat`,
        headers,
        body: Buffer.from('{"port":5000}'),
      });
      expect(asked.status).toBe(401);
    }
  });

  it("requires the join secret, and holds uninvited agents until accepted", async () => {
    const body = Buffer.from(JSON.stringify({ mac: MAC, model: "x" }));
    const strict = await house();
    expect((await strict.plugin.request({ url: "/register", body })).status).toBe(401);
    const wrong = { authorization: "Bearer something-else-altogether" };
    expect((await strict.plugin.request({ url: "/register", body, headers: wrong })).status).toBe(401);
    const lax = await house({ openToAll: true });
    const first = await lax.plugin.request({ url: "/register", body });
    expect(first.status).toBe(201);
    expect(JSON.parse(String(first.body)).configured).toBe(false);
    expect((await lax.plugin.request({ url: "/register", body })).status).toBe(409);
    const unset = { ...DEVICE, attributes: { IsConfigured: "false" } };
    lax.plugin.deliver(deliveryTo(unset, 1, { audio: AUDIO }));
    expect((await lax.plugin.outcome(1, "failed")).details.reason).toMatch(/not accepted/);
    for (const [bad, status] of [
      ["{", 400],
      ['{"mac":"nonsense"}', 400],
    ] as const)
      expect((await lax.plugin.request({ url: "/register", body: Buffer.from(bad) })).status).toBe(status);
  });

  it("reports missing responses as retryable", async () => {
    const open = await house();
    open.plugin.deliver(deliveryTo(DEVICE, 1, { audio: AUDIO }));
    const { details } = await open.plugin.outcome(1, "failed");
    expect(details).toEqual({ reason: "no agent is registered with this MAC address", retryable: false });
    open.plugin.deliver(deliveryTo(DEVICE, 2));
    expect((await open.plugin.outcome(2, "failed")).details.reason).toBe("a speaker has no display");
  });

  it("reports microphone proof and playback errors", async () => {
    const open = await house();
    const folder = makeTempDir();
    const detection = { pValue: 1e-9, delayMs: 212.5, levelDb: 14 };
    const listen: OpenRoomMicrophone = (onHeard) => ({
      begin: () => onHeard(detection),
      addPlayed: () => undefined,
      finish: async () => ({ hasRecorded: true, isHeard: true, detection }),
      close: () => undefined,
    });
    const agent = await startAgent(open.url, folder, { listen });
    await reported(open, "IsRegistered");
    open.plugin.deliver(deliveryTo(DEVICE, 1, { audio: AUDIO }));
    expect((await open.plugin.outcome(1, "heard")).details.match).toEqual(detection);
    open.plugin.stop("aborted", 1);
    await agent.stop();
    const broken = await startAgent(open.url, folder, { open: selectPlayer("exec:/bin/false", null, "") });
    await until(() => broken.log.find((words) => words.includes("listening")));
    open.plugin.deliver(deliveryTo(DEVICE, 2, { audio: AUDIO }));
    expect((await open.plugin.outcome(2, "failed")).details.reason).toMatch(/false exited with 1/);
  });

  it("reports a silent speaker with the match of its recording", async () => {
    const open = await house();
    const noise = Buffer.alloc(64_000);
    for (let at = 0; at < noise.length; at += 2) noise.writeInt16LE(((at * 7_919) % 2_003) - 1_001, at);
    const listen = createRoomMicrophone((onAudio) => {
      const timer = setInterval(() => onAudio(noise.subarray(0, 3_200)), 20);
      return { close: () => clearInterval(timer) };
    });
    await startAgent(open.url, makeTempDir(), { listen, bufferMs: 60 });
    await reported(open, "IsRegistered");
    open.plugin.deliver(deliveryTo(DEVICE, 1, { audio: AUDIO }));
    const unheard = await until(() => open.plugin.outcomes.find(({ details }) => details.reason !== undefined));
    const { reason, afterwards, match } = unheard.details;
    expect([unheard.level, reason, afterwards]).toEqual([
      "playing",
      "playing, but the microphone does not hear it",
      true,
    ]);
    expect(match?.pValue ?? 1).toBeGreaterThan(1e-6);
    expect(open.plugin.levels(1)).not.toContain("heard");
  });

  it("reaches the simulator's speakers, of which the mute one proves nothing", async () => {
    const open = await house();
    const campus = await spawnSimulator();
    closing.push(campus.stop);
    const order = { url: open.url, joinSecret: JOIN_SECRET };
    await campus.order("/agents", { ...order, count: 3 });
    await campus.order("/agents", { ...order, mute: true });
    const speakers = ["02CB00000000", "02CB00000001", "02CB00000002", "02CB00000003"];
    const reports = () =>
      open.plugin.calls.filter(({ method }) => method === "devices.report").flatMap(({ args }) => args[0]);
    await until(
      () =>
        speakers.every((mac) =>
          JSON.stringify(reports()).includes(
            `agent:${mac}","type":"speakers","description":"","attributes":{"IsRegistered":"true"`,
          ),
        ) || undefined,
    );
    speakers.forEach((mac, at) => {
      open.plugin.deliver(deliveryTo({ ...DEVICE, deviceIdentifier: `agent:${mac}` }, at + 1, { audio: AUDIO }));
    });
    for (const id of [1, 2, 3]) await open.plugin.outcome(id, "heard");
    const report = await campus.until(({ agents }) => agents.every(({ packets }) => packets === 25));
    expect(report.agents.map(({ errors, plays, lost }) => [errors, plays, lost])).toEqual(
      speakers.map(() => [[], 1, 0]),
    );
    expect(open.plugin.levels(4)).toEqual(["accepted"]);
  });
});
