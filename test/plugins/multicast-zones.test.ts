import { afterEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/multicast-zones/index.ts";
import { parseZoneDevice } from "../../plugins/multicast-zones/zone-address.ts";
import { createZoneNetwork } from "../../plugins/multicast-zones/zone-network.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { NetworkUnreachableError } from "../../src/lib/network-route.ts";
import type { AudioTarget, DeliveryItem } from "../../src/plugin-api/index.ts";
import { type HandleHostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";
import { deliveryTo } from "./simulator-fixture.ts";

const SOUND: AudioTarget = { group: "239.192.16.1", port: 20480, codec: "PCMU", ttl: 16, ssrc: 7 };
const running: InlinePlugin[] = [];

afterEach(async () => {
  for (const each of running.splice(0)) await each.close();
});

async function run(zones: unknown = [], answer?: HandleHostCall): Promise<InlinePlugin> {
  const started = await runInline(plugin, { config: { zones }, ...(answer && { answer }) });
  running.push(started);
  return started;
}

function zoneItem(attributes: Record<string, string>, changes: Partial<DeliveryItem> = {}): DeliveryItem {
  const device = { type: "speakers", deviceIdentifier: "zone:Gym", description: "Gym", attributes };
  return deliveryTo(device, 1, { audio: SOUND, ...changes });
}

describe("multicast-zones", () => {
  it("opens the stream to the zone's group and ends at `sent`", async () => {
    const zones = await run();
    zones.deliver(zoneItem({ Group: "239.1.2.3", Port: "50000", Codec: "PCMU", TTL: "4" }));
    await zones.outcome(1, "sent");
    expect(zones.calls).toEqual([
      {
        method: "stream.open",
        args: [{ group: "239.1.2.3", port: 50000, codec: "PCMU", ttl: 4 }, "0198f3a0-0000-7000-8000-000000000001"],
      },
    ]);
    expect(zones.levels(1)).toEqual(["sent"]);
  });

  it("defaults to PCMU and a TTL of 16", async () => {
    const zones = await run();
    zones.deliver(zoneItem({ Group: "239.1.2.3", Port: "20480" }));
    await zones.outcome(1, "sent");
    expect(zones.calls[0]?.args[0]).toEqual({ group: "239.1.2.3", port: 20480, codec: "PCMU", ttl: 16 });
  });

  it.each([
    [{ Port: "20480" }, /group \(none\)/],
    [{ Group: "10.0.0.7", Port: "20480" }, /10\.0\.0\.7 must be a multicast address such as/],
    [{ Group: "ff02::1", Port: "20480" }, /ff02::1 must be a multicast address/],
    [{ Group: "fe80::1", Port: "20480" }, /must be a multicast address/],
    [{ Group: "239.1.2.3" }, /port \(none\)/],
    [{ Group: "239.1.2.3", Port: "0" }, /port 0/],
    [{ Group: "239.1.2.3", Port: "70000" }, /port 70000/],
    [{ Group: "239.1.2.3", Port: "20480", TTL: "256" }, /TTL 256/],
    [{ Group: "239.1.2.3", Port: "20480", Codec: "opus" }, /codec opus/],
    [{ Group: "239.1.2.3", Port: "20480", Priorities: "high=1" }, /priorities high=1/],
    [{ Group: "239.1.2.3", Port: "20480", Priorities: "5=10.0.0.1:5000" }, /10\.0\.0\.1 must be a multicast/],
  ])("fails permanently with the attributes %j", async (attributes: Record<string, string>, words) => {
    const zones = await run();
    zones.deliver(zoneItem(attributes));
    const { details } = await zones.outcome(1, "failed");
    expect(details.reason).toMatch(words);
    expect(details.retryable).toBe(false);
    expect(zones.calls).toEqual([]);
  });

  it("sends to IPv6 groups, also by priority", async () => {
    const zones = await run();
    const attributes = { Group: "ff15::1:2", Port: "20480", Priorities: "0-1=[ff18::9]:50008" };
    zones.deliver(zoneItem(attributes));
    await zones.outcome(1, "sent");
    expect(zones.calls[0]?.args[0]).toMatchObject({ group: "ff15::1:2", port: 20480 });
    expect(parseZoneDevice({ attributes }, 0).zone).toMatchObject({ group: "ff18::9", port: 50008 });
  });

  it("cannot show a message without audio", async () => {
    const zones = await run();
    zones.deliver(zoneItem({ Group: "239.1.2.3", Port: "20480" }, { audio: null }));
    expect((await zones.outcome(1, "failed")).details).toEqual({ reason: "a zone has no display", unsupported: true });
    expect(zones.calls).toEqual([]);
  });

  it.each(["PCMU", "PCMA", "G722"])("sends %s to a zone with that codec", async (codec) => {
    const zones = await run();
    zones.deliver(zoneItem({ Group: "239.1.2.3", Port: "20480", Codec: codec }));
    await zones.outcome(1, "sent");
    expect(zones.calls[0]?.args[0]).toMatchObject({ codec });
  });

  it.each([
    [0, "239.1.2.9", 50008],
    [1, "239.1.2.9", 50008],
    [3, "239.1.2.3", 50004],
    [5, "239.1.2.3", 20480],
  ])("sends a message of priority %i to %s:%i", async (priority, group, port) => {
    const zones = await run();
    const attributes = { Group: "239.1.2.3", Port: "20480", Priorities: "0-1=239.1.2.9:50008,2-4=50004" };
    zones.deliver(zoneItem(attributes, { priority }));
    await zones.outcome(1, "sent");
    expect(zones.calls[0]?.args[0]).toMatchObject({ group, port });
  });

  it("fails as retryable if the stream cannot be opened", async () => {
    const zones = await run([], () => new Error("the group is in use"));
    zones.deliver(zoneItem({ Group: "239.1.2.3", Port: "20480" }));
    const { details } = await zones.outcome(1, "failed");
    expect(details).toMatchObject({ reason: "failed to open the stream: the group is in use", retryable: true });
  });

  it("reports configured zones as devices", async () => {
    const zones = await run([
      { name: "Gym", group: "239.1.2.3", port: 20480 },
      { name: "Yard", group: "239.1.2.4", port: 50000, codec: "G722", ttl: 3, description: "Sports yard" },
    ]);
    expect(zones.calls).toEqual([
      {
        method: "devices.report",
        args: [
          [
            {
              deviceIdentifier: "zone:Gym",
              type: "speakers",
              description: "Gym",
              attributes: { Group: "239.1.2.3", Port: "20480", Codec: "PCMU", TTL: "16" },
            },
            {
              deviceIdentifier: "zone:Yard",
              type: "speakers",
              description: "Sports yard",
              attributes: { Group: "239.1.2.4", Port: "50000", Codec: "G722", TTL: "3" },
            },
          ],
        ],
      },
    ]);
    expect(zones.statuses).toEqual([{ state: "ok", reason: null }]);
  });

  it("keeps valid zones of a configuration and reports invalid ones", async () => {
    const zones = await run([
      { name: "Gym", group: "239.1.2.3", port: 20480 },
      { name: "Gym", group: "239.1.2.4", port: 20480 },
      { name: "Hall", group: "10.1.1.1", port: 20480 },
      "Yard",
      { group: "239.1.2.9", port: 20480 },
    ]);
    expect(zones.calls[0]?.args[0]).toHaveLength(1);
    const [status] = zones.statuses;
    expect(status?.state).toBe("degraded");
    for (const words of [/zones\[1\]: duplicate name/, /zones\[2\]: group/, /zones\[3\]/, /zones\[4\]/]) {
      expect(status?.reason).toMatch(words);
    }
  });

  it("serves zones of the API even if configured ones cannot be stored", async () => {
    const zones = await run([{ name: "Gym", group: "239.1.2.3", port: 20480 }], ({ method }) =>
      method === "devices.report" ? new Error("too many devices") : undefined,
    );
    expect(zones.statuses[0]).toEqual({ state: "degraded", reason: "zones: too many devices" });
    zones.deliver(zoneItem({ Group: "239.1.2.3", Port: "20480" }));
    await zones.outcome(1, "sent");
  });
});

describe("the network of zones", () => {
  it("uses the interface of the zone, else that of the plugin", async () => {
    const zones = await runInline(plugin, { config: { zones: [], networkInterface: "eth0" } });
    running.push(zones);
    zones.deliver(zoneItem({ Group: "239.1.2.3", Port: "20480" }));
    await zones.outcome(1, "sent");
    zones.deliver({ ...zoneItem({ Group: "239.1.2.3", Port: "20480", Interface: "eth0.20" }), deliveryId: 2 });
    await zones.outcome(2, "sent");
    expect(zones.calls.map(({ args }) => (args[0] as AudioTarget).networkInterface)).toEqual(["eth0", "eth0.20"]);
  });

  it("waits for the network and reports that it can't deliver, until the network is there", async () => {
    const reason = "No network route to 239.1.2.3.";
    const zones = await run([], () => new NetworkUnreachableError(reason));
    zones.deliver(zoneItem({ Group: "239.1.2.3", Port: "20480" }));
    const { details } = await zones.outcome(1, "failed");
    expect(details).toEqual({ reason, retryable: true, noNetwork: true });
    await zones.said(({ state, reason: text }) => state === "down" && text === reason);
    zones.event("network.changed", { addresses: [] });
    await zones.said(() => zones.statuses.length > 2);
    expect(zones.statuses.at(-1)).toEqual({ state: "ok", reason: null });
  });

  it("rejects an interface that can't be one", async () => {
    const zones = await run();
    zones.deliver(zoneItem({ Group: "239.1.2.3", Port: "20480", Interface: "eth0/20" }));
    expect((await zones.outcome(1, "failed")).details.reason).toMatch(/interface eth0\/20 must be the name/);
  });

  it("counts the zones that can't be reached, checks one of each interface, and those that failed", async () => {
    const results: (string | null)[] = [];
    const checked: string[] = [];
    const broken = new Set<string>();
    const network = createZoneNetwork({
      clock: systemClock,
      onResult: (problem) => void results.push(problem),
      check: async ({ group }) => {
        checked.push(group);
        return broken.has(group)
          ? { address: null, problem: `${group} fails.` }
          : { address: "10.1.2.3", problem: null };
      },
    });
    for (const [group, networkInterface] of [
      ["239.1.1.1", null],
      ["239.1.1.2", null],
      ["239.1.1.3", "eth1"],
    ] as const)
      network.add({ group, port: 20_480, networkInterface });
    broken.add("239.1.1.3");
    await network.checkAll();
    expect([results, checked.splice(0).length]).toEqual([["1 of 3 zones can't be reached. 239.1.1.3 fails."], 3]);
    broken.clear();
    await network.checkSample();
    expect([results.at(-1), checked.length]).toEqual([null, 2]);
  });
});
