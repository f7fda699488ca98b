import { join } from "node:path";
import { expect } from "vitest";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { externalProgram } from "../support/external-programs.ts";
import { runInOwnNetwork } from "../support/own-network.ts";

const { describe, it } = externalProgram("ip");

/** Moves the multicast route from one interface to another under a receiver; prints where the group is joined each time. */
const SCENE = `
import { execFileSync } from "node:child_process";
import { createNetworkWatch } from "${join(REPOSITORY_ROOT, "src/lib/network-watch.ts")}";
import { systemClock } from "${join(REPOSITORY_ROOT, "src/lib/clock.ts")}";
import { silentLog } from "${join(REPOSITORY_ROOT, "src/lib/log.ts")}";
import { openRtpReceiver } from "${join(REPOSITORY_ROOT, "src/speaker-agent/rtp-receiver.ts")}";

const ip = (words) => execFileSync("ip", words.split(" "), { encoding: "utf8" });
const joinedOn = () => ["one", "two"].filter((name) => ip("maddr show dev " + name).includes("239.255.7.7"));
const until = async (wanted) => {
  for (let tries = 0; joinedOn().join() !== wanted && tries < 1_000; tries++) await new Promise((r) => setTimeout(r, 20));
  console.log(joinedOn().join());
};
for (const [at, name] of ["one", "two"].entries()) {
  ip("link add " + name + " type bridge");
  ip("addr add 10.77." + at + ".1/24 dev " + name);
  ip("link set " + name + " up");
}
ip("route add 224.0.0.0/4 dev one");
const receiver = await openRtpReceiver(0, () => {});
const watch = createNetworkWatch({ clock: systemClock, log: silentLog, onChange: receiver.rejoin });
watch.start();
receiver.joinGroups([{ group: "239.255.7.7", port: 20480 }]);
await until("one");
ip("route replace 224.0.0.0/4 dev two");
await until("two");
ip("link del two");
ip("route add 224.0.0.0/4 dev one");
await until("one");
watch.stop();
receiver.close();
process.exit(0);
`;

describe("a network that changes under an agent", () => {
  it("makes it rejoin the groups on the new route", async () => {
    expect((await runInOwnNetwork(SCENE)).trim().split("\n")).toEqual(["one", "two", "one"]);
  });
});
