import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import type { OwnAddress } from "../../../src/lib/network-route.ts";
import { createNetworkWatch } from "../../../src/lib/network-watch.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const LOOPBACK: OwnAddress = { name: "lo", address: "127.0.0.1", family: "IPv4", internal: true };
const ETHERNET: OwnAddress = { name: "eth0", address: "10.77.0.1", family: "IPv4", internal: false };

function openWatch() {
  const clock = createFakeClock();
  const machine = { addresses: [LOOPBACK], routes: "" };
  const changes: string[][] = [];
  const stdout = new PassThrough();
  const child = Object.assign(new EventEmitter(), { stdout, kill: () => true });
  let monitors = 0;
  const watch = createNetworkWatch({
    ...{ clock, log: silentLog },
    onChange: (addresses) => void changes.push(addresses.map(({ address }) => address)),
    addresses: () => [...machine.addresses],
    routes: async () => machine.routes,
    monitor: () => {
      monitors++;
      return child as unknown as ChildProcess;
    },
  });
  return { clock, machine, changes, stdout, child, watch, monitors: () => monitors };
}

describe("network watch", () => {
  it("reports an address and a route that come, by polling alone", async () => {
    const { clock, machine, changes, watch } = openWatch();
    watch.start();
    await clock.advance(5_000);
    expect(changes).toEqual([]);
    machine.addresses = [LOOPBACK, ETHERNET];
    await clock.advance(500);
    expect(changes).toEqual([["127.0.0.1", "10.77.0.1"]]);
    machine.routes = "eth0 default";
    await clock.advance(500);
    expect(changes).toHaveLength(2);
    watch.stop();
    machine.addresses = [LOOPBACK];
    await clock.advance(5_000);
    expect(changes).toHaveLength(2);
  });

  it("reports what the monitor announces at once, several announcements as one", async () => {
    const { clock, machine, changes, stdout, watch } = openWatch();
    watch.start();
    await clock.advance(0);
    machine.addresses = [LOOPBACK, ETHERNET];
    stdout.write("{}");
    stdout.write("{}");
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(20);
    expect(changes).toEqual([["127.0.0.1", "10.77.0.1"]]);
    watch.stop();
  });

  it("starts a monitor again that has ended, after a pause", async () => {
    const { clock, child, watch, monitors } = openWatch();
    watch.start();
    child.emit("exit", 1);
    await clock.advance(59_000);
    expect(monitors()).toBe(1);
    await clock.advance(1_000);
    expect(monitors()).toBe(2);
    watch.stop();
  });
});
