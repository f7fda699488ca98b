import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { silentLog } from "../../../../src/lib/log.ts";
import { createHealthSeries } from "../../../../src/ops/health/health-series.ts";
import { createQuietTests } from "../../../../src/ops/health/quiet-tests.ts";
import type { ProbeResult } from "../../../../src/plugin-api/index.ts";
import devices from "../../../../src/resources/devices/devices.ts";
import { type BroadcastFixture, openBroadcasts } from "../../notifications/notification-fixture.ts";

const HOUR_MS = 3_600_000;

let fixture: BroadcastFixture;
beforeAll(async () => {
  fixture = await openBroadcasts();
});
afterAll(() => fixture.close());

describe("quiet tests", () => {
  it("prove the ways to devices, tell what failed, and what was not proven for too long", async () => {
    const { store, clock } = fixture;
    const answers: Record<string, ProbeResult> = {
      SEP1: { proof: "answered" },
      SEP2: { proof: null, reason: "host unreachable" },
      SEP3: { proof: "untested" },
      "zone:gym": { proof: "looped" },
    };
    for (const name of ["SEP1", "SEP2", "SEP3"]) await fixture.phone(name);
    await fixture.zone("gym");
    const asked: string[] = [];
    const tests = createQuietTests({
      ...{ store, clock, log: silentLog, provenWithinHours: 48 },
      probe: async (provider, { deviceIdentifier }) => {
        asked.push(`${provider} ${deviceIdentifier}`);
        return answers[deviceIdentifier] ?? { proof: "untested" };
      },
    });
    await Promise.all([tests.testAll(), tests.testAll()]);
    expect(asked.sort()).toEqual(["ip-phones SEP1", "ip-phones SEP2", "ip-phones SEP3", "multicast-zones zone:gym"]);
    const shown = () =>
      store.find(devices, {}).map((row) => [row.deviceIdentifier, row.provenBy, row.testFault, row.testedAt !== null]);
    expect(shown()).toEqual([
      ["SEP1", "quiet-test", null, true],
      ["SEP2", null, "host unreachable", true],
      ["SEP3", null, null, false],
      ["zone:gym", "loopback", null, true],
    ]);
    expect(tests.healthSource()).toEqual([]);
    await clock.advance(49 * HOUR_MS);
    answers["zone:gym"] = { proof: null };
    await tests.testAll();
    expect(tests.healthSource()).toMatchObject([
      { level: "yellow", reason: "The connections to 2 devices, such as The SEP2, were not verified for 48 h." },
    ]);
    const [, , untested] = store.find(devices, {});
    await expect(tests.testDevice(untested as NonNullable<typeof untested>)).rejects.toThrow("does not support silent tests");
    await tests.stop();
  });
});

describe("the series of the health", () => {
  it("keeps one sample a minute of the last day, and no more", async () => {
    const { clock } = fixture;
    let residentBytes = 0;
    const measured = { loopLagMs: 1, writeMs: null, disk: null, memory: null } as never;
    const health = { report: () => ({ status: "YELLOW" }) as never };
    const queues = () => ({ broadcastsUnderWay: 2, alarmActionsWaiting: 0, webhooksWaiting: 0 });
    const series = createHealthSeries({ clock, health, measured, queues, residentBytes: () => ++residentBytes });
    series.start();
    await clock.advance(25 * HOUR_MS);
    series.stop();
    const samples = series.samples();
    expect(samples).toHaveLength(1_440);
    expect(samples.at(-1)).toMatchObject({ health: 1, loopLagMs: 1, residentBytes: 1_501, broadcastsUnderWay: 2 });
    expect(samples[0]?.residentBytes).toBe(62);
  });
});
