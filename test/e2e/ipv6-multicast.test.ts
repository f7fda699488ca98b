import { join } from "node:path";
import { expect } from "vitest";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { externalProgram } from "../support/external-programs.ts";
import { runInOwnNetwork } from "../support/own-network.ts";

const { describe, it } = externalProgram("ip");

/** Two ends of a cable in one machine: the appliance sends from `one`, an agent listens where the routes lead. */
const SCENE = `
import { execFileSync } from "node:child_process";
import { systemClock } from "${join(REPOSITORY_ROOT, "src/lib/clock.ts")}";
import { checkMulticast } from "${join(REPOSITORY_ROOT, "src/media/multicast-check.ts")}";
import { openRtpPath } from "${join(REPOSITORY_ROOT, "src/media/rtp-stream.ts")}";
import { encodeRtpPacket } from "${join(REPOSITORY_ROOT, "src/media/rtp.ts")}";
import { openRtpReceiver } from "${join(REPOSITORY_ROOT, "src/speaker-agent/rtp-receiver.ts")}";

const ip = (words) => execFileSync("ip", words.split(" "), { encoding: "utf8" });
const group = "ff15::7:7";
const check = async (networkInterface) => (await checkMulticast({ group, port: 0, networkInterface }, systemClock)).problem;
console.log(await check("one"));
ip("link add one type veth peer name two");
for (const [at, name] of ["one", "two"].entries()) {
  ip("link set " + name + " up");
  ip("-6 addr add fd7" + at + "::1/64 dev " + name + " nodad");
}
for (let tries = 0; tries < 250 && (await check("one")) !== null; tries++) await new Promise((r) => setTimeout(r, 20));
console.log(await check("one"), await check("fd71::1"), await check(null));
ip("-6 route add ff15::/16 dev two table local metric 1");
let heard;
const received = new Promise((resolve) => (heard = resolve));
const receiver = await openRtpReceiver(0, ({ zone, datagram, sender }) => heard(zone + " " + sender.replace(/%.*/, "") + " " + datagram.readUInt32BE(8)));
receiver.joinGroups([{ group, port: 20480 }]);
const path = await openRtpPath({ group, port: 20480, ttl: 4, networkInterface: "one" });
const header = { payloadType: 0, marker: true, sequence: 1, timestamp: 0, ssrc: 77 };
const packet = encodeRtpPacket(header, new Uint8Array(160).fill(255));
const sending = setInterval(() => path.socket.send(packet), 50);
console.log(path.address, path.membership, await received);
clearInterval(sending);
process.exit(0);
`;

describe("multicast over IPv6", () => {
  it("leaves from the chosen interface, is proven there, and is heard by an agent", async () => {
    expect((await runInOwnNetwork(SCENE)).trim().split("\n")).toEqual([
      "Network unreachable: interface one has no IPv6 address, or its link is down.",
      "null null null",
      "fd70::1 ::%one ff15::7:7:20480 fd70::1 77",
    ]);
  });
});
