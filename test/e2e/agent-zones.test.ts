import { join } from "node:path";
import { expect } from "vitest";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { externalProgram } from "../support/external-programs.ts";
import { runInOwnNetwork } from "../support/own-network.ts";

const { describe, it } = externalProgram("ip");

/** A streamer and an agent in one machine, and somebody who sends to their group with the same SSRC from another address. */
const SCENE = `
import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { Worker } from "node:worker_threads";
import { systemClock as clock } from "${join(REPOSITORY_ROOT, "src/lib/clock.ts")}";
import { createEvents } from "${join(REPOSITORY_ROOT, "src/lib/events.ts")}";
import { silentLog } from "${join(REPOSITORY_ROOT, "src/lib/log.ts")}";
import { encodeRtpPacket } from "${join(REPOSITORY_ROOT, "src/media/rtp.ts")}";
import { Streamer } from "${join(REPOSITORY_ROOT, "src/media/streamer.ts")}";
import { createAudioArbiter } from "${join(REPOSITORY_ROOT, "src/speaker-agent/audio-arbiter.ts")}";
import { openRtpReceiver } from "${join(REPOSITORY_ROOT, "src/speaker-agent/rtp-receiver.ts")}";
import { announceMulticastStreams } from "${join(REPOSITORY_ROOT, "src/wiring/multicast-streams.ts")}";

const ip = (words) => execFileSync("ip", words.split(" "), { encoding: "utf8" });
const group = "239.255.7.8";
const port = 20480;
const ssrc = 77;
ip("link add one type bridge");
ip("addr add 10.78.0.1/24 dev one");
ip("addr add 10.78.0.66/24 dev one");
ip("link set one up");
ip("route add 224.0.0.0/4 dev one src 10.78.0.1");
const played = new Map();
const arbiter = createAudioArbiter({
  clock, listen: null, bufferMs: 100, hasPlayedOffline: () => false, onStreamStarted: () => {}, onEvent: () => {},
  open: () => {
    let end = () => {};
    const ended = new Promise((resolve) => (end = resolve));
    const write = (pcm) => played.set(pcm[0], (played.get(pcm[0]) ?? 0) + 1);
    return { ended, write, end: () => end(null), abort: () => end(null) };
  },
});
const settings = (streams) => arbiter.applySettings({ volume: 100, delayMs: 0, zones: [{ group, port, priority: 3, senders: [], streams }] });
const receiver = await openRtpReceiver(0, arbiter.handlePacket);
settings([]);
receiver.joinGroups([{ group, port }]);
const stranger = createSocket("udp4");
await new Promise((resolve) => stranger.bind(0, "10.78.0.66", resolve));
stranger.setMulticastInterface("10.78.0.66");
const speak = (sequence) => stranger.send(encodeRtpPacket({ payloadType: 0, marker: false, sequence, timestamp: 0, ssrc }, new Uint8Array(160).fill(9)), port, group);
let sequence = 0;
const speaking = setInterval(() => speak(sequence++), 20);
let strangers = null;
while (strangers === null) {
  settings([]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  strangers = arbiter.takeStrangers();
}
console.log("refused", strangers.senders[0].address, strangers.senders[0].zone, played.size);
const events = createEvents((error) => { throw error; });
const announced = [];
events.on("multicast.changed", ({ streams }) => {
  announced.push(streams.map(({ source, ssrc }) => source + " " + ssrc).join());
  settings(streams.filter((stream) => stream.group === group && stream.port === port));
});
const spawn = () => new Worker(new URL("file://${join(REPOSITORY_ROOT, "src/media/streamer-worker.ts")}"), { execArgv: [] });
const streamer = new Streamer({ clock, log: silentLog, spawn });
announceMulticastStreams(streamer, events);
await streamer.start();
const payload = new Uint8Array(new SharedArrayBuffer(160 * 50)).fill(3);
await streamer.open({ streamId: "s", group, port, ttl: 1, networkInterface: null, ssrc, payloadType: 0, payload, repeats: 1, offsetPackets: 0 });
const ended = new Promise((resolve) => streamer.on("ended", resolve));
streamer.startGroup(["s"], Date.now());
await ended;
clearInterval(speaking);
await new Promise((resolve) => setTimeout(resolve, 500));
console.log("announced", announced.join("; "));
const silent = [...played].filter(([sample]) => sample !== 0);
console.log("played", silent.length, silent[0][1] > 45);
process.exit(0);
`;

describe("a multicast zone with an agent", () => {
  it("sounds by the streamer's announced streams, and not by a stranger who copies their SSRC", async () => {
    expect((await runInOwnNetwork(SCENE)).trim().split("\n")).toEqual([
      "refused 10.78.0.66 239.255.7.8:20480 0",
      "announced 10.78.0.1 77; ",
      "played 1 true",
    ]);
  });
});
