import { afterEach, describe, expect, it } from "vitest";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import type { OwnAddress } from "../../../src/lib/network-route.ts";
import type { MulticastCheck } from "../../../src/media/multicast-check.ts";
import { defaultSettings } from "../../../src/settings/schema.ts";
import { createNetworkMonitor } from "../../../src/wiring/network-monitor.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const FOUND: MulticastCheck = { address: "10.77.0.1", problem: null };
const MISSING: MulticastCheck = { address: null, problem: "No network route to 239.192.16.0." };
const opened: { stop(): void }[] = [];
afterEach(() => {
  for (const monitor of opened.splice(0)) monitor.stop();
});

function openMonitor(sendsMulticast = true) {
  const clock = createFakeClock();
  const machine = { multicast: MISSING, checks: 0, rebinds: 0 };
  let change: (addresses: readonly OwnAddress[]) => void = () => undefined;
  const events = createEvents((error) => expect.fail(String(error)));
  const monitor = createNetworkMonitor({
    ...{ settings: defaultSettings(), clock, events, log: silentLog, sendsMulticast },
    streamer: { networkChanged: () => void machine.rebinds++ },
    createWatch: (onChange) => {
      change = onChange;
      return { start: () => undefined, stop: () => undefined };
    },
    check: async () => {
      machine.checks++;
      return machine.multicast;
    },
  });
  opened.push(monitor);
  return { clock, machine, events, monitor, change: () => change([]) };
}

describe("network monitor", () => {
  it("reports red while multicast can't leave, and checks until it does", async () => {
    const { clock, machine, monitor } = openMonitor();
    await monitor.start();
    const reason = "Multicast audio cannot leave the appliance: No network route to 239.192.16.0.";
    expect(monitor.healthSource()).toEqual([{ level: "red", code: "multicast", reason }]);
    expect(monitor.state().multicast).toMatchObject({ address: null, problem: MISSING.problem });
    machine.multicast = FOUND;
    await clock.advance(5_000);
    expect([monitor.healthSource(), monitor.state().multicast.address]).toEqual([[], "10.77.0.1"]);
  });

  it("moves the streams, notifies all modules and checks at once after a change", async () => {
    const { clock, machine, events, monitor, change } = openMonitor();
    machine.multicast = FOUND;
    await monitor.start();
    let told = 0;
    events.on("network.changed", () => void told++);
    machine.multicast = MISSING;
    change();
    await clock.advance(0);
    expect([machine.rebinds, told, monitor.healthSource().length]).toEqual([1, 1, 1]);
  });

  it("finds a fault without a change of the network within a minute", async () => {
    const { clock, machine, monitor } = openMonitor();
    machine.multicast = FOUND;
    await monitor.start();
    machine.multicast = MISSING;
    await clock.advance(60_000);
    expect(monitor.healthSource()).toHaveLength(1);
  });

  it("checks nothing at a cloud", async () => {
    const { machine, monitor, change } = openMonitor(false);
    await monitor.start();
    change();
    expect([machine.checks, monitor.healthSource()]).toEqual([0, []]);
  });
});
