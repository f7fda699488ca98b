import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { extensionIdOf } from "../../src/plugin-host/extension-rows.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { anyActor, itemOf, openAppliance, type TestAppliance } from "./test-appliance.ts";

const FIXTURES = new URL("./fixtures/", import.meta.url);
/**
 * Longest round trip of a delivery through a healthy plugin while another one goes wrong, in ms: one that waited for a
 * plugin that spins would take the 5 s until that is ended.
 */
const MAX_ROUND_TRIP = 4_000;

let appliance: TestAppliance;

async function open(config: Record<string, unknown> = {}): Promise<TestAppliance> {
  appliance = await openAppliance(makeTempDir(), FIXTURES);
  const starting = appliance.host.start();
  if (Object.keys(config).length > 0) {
    await starting;
    await appliance.store.update(extensions, extensionIdOf("faulty"), { config }, anyActor);
  }
  await starting;
  return appliance;
}

afterEach(() => appliance.close());

/** Sends deliveries to the healthy plugin one after the other and answers the longest round trip, until `done`. */
async function roundTrips({ host, outcomes, until }: TestAppliance, done: () => boolean): Promise<number> {
  let longest = 0;
  for (let deliveryId = 1; !done(); deliveryId++) {
    const began = systemClock.monotonicMs();
    host.deliver("steady", [itemOf(deliveryId)]);
    await until(() => outcomes.some((outcome) => outcome.provider === "steady" && outcome.deliveryId === deliveryId));
    longest = Math.max(longest, systemClock.monotonicMs() - began);
  }
  return longest;
}

describe("a plugin in a worker thread", () => {
  it("runs, receives deliveries, opens its port, and has an empty environment", async () => {
    const { host, outcomes, until, logged } = await open();
    expect([host.state("steady"), host.state("faulty"), host.state("none")]).toEqual(["running", "running", "absent"]);
    host.deliver("steady", [itemOf(7)]);
    const [outcome] = await until(() => outcomes.length > 0 && outcomes);
    expect(outcome).toMatchObject({ provider: "steady", deliveryId: 7, level: "accepted" });
    const url = host.urls()["steady/hello"] as string;
    expect(await (await fetch(url)).text()).toBe("environment: {}");
    expect(logged()).toContain("steady prints");
    const tail = await until(() => {
      const lines = host
        .readLog(extensionIdOf("steady"), 500, 0)
        ?.map(({ message, details }) => `${message} ${details}`);
      return lines?.some((line) => line.includes("steady prints")) && lines;
    });
    expect(tail).toContain('plugin started {"event":"plugin.started"}');
    await host.stop();
    await expect(fetch(url)).rejects.toThrow();
  });

  it.each([
    ["throws", "throw", /uncaught exception: meant to fail/],
    ["rejects a promise that nobody awaits", "reject", /uncaught exception: meant to fail/],
    ["spins", "spin", /no response for 5 s/],
    ["exits", "exit", /the process exited with code 3/],
    ["needs too much memory", "grow", /out of memory/],
  ])("that %s is restarted without delaying another", async (_case, fault, reason) => {
    const test = await open({ fault });
    const { host, changes, until } = test;
    const ofFaulty = (state: string) =>
      changes.filter((change) => change.plugin === "faulty" && change.state === state);
    await until(() => host.state("faulty") === "running");
    const runs = ofFaulty("running").length;
    host.deliver("faulty", [itemOf(100_000)]);
    const longest = await roundTrips(test, () => ofFaulty("running").length > runs);
    expect(ofFaulty("restarting").at(-1)?.reason).toMatch(reason);
    expect(longest).toBeLessThan(MAX_ROUND_TRIP);
    expect(changes.filter((change) => change.plugin === "steady").map(({ state }) => state)).toEqual(["running"]);
  });

  it("leaves the appliance ready and other plugins running if it fails to start", async () => {
    const dataDir = makeTempDir();
    appliance = await openAppliance(dataDir, FIXTURES);
    await appliance.host.start();
    await appliance.store.update(extensions, extensionIdOf("faulty"), { config: { start: "exit" } }, anyActor);
    await appliance.close();

    appliance = await openAppliance(dataDir, FIXTURES);
    await appliance.host.start();
    expect(appliance.host.state("steady")).toBe("running");
    await appliance.until(() => appliance.host.state("faulty") === "restarting");
    expect(appliance.changes.find(({ plugin }) => plugin === "faulty")).toMatchObject({
      state: "restarting",
      reason: "the process exited with code 3",
    });
  });
});
