import { describe, expect, it } from "vitest";
import { BugError, UpstreamError } from "../../../src/lib/errors.ts";
import { createMulticastAddressPool, type MulticastAddressRange } from "../../../src/media/multicast-address-pool.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const ROUTINE: MulticastAddressRange = {
  firstGroup: "239.10.0.254",
  lastGroup: "239.10.1.1",
  firstPort: 20_480,
  lastPort: 20_482,
};
const EMERGENCY: MulticastAddressRange = {
  firstGroup: "239.11.0.1",
  lastGroup: "239.11.0.1",
  firstPort: 30_001,
  lastPort: 30_004,
};
const REST_MS = 300_000;

function setUp(startIndex = 0) {
  const clock = createFakeClock();
  return { clock, pool: createMulticastAddressPool({ clock, routine: ROUTINE, emergency: EMERGENCY, startIndex }) };
}

describe("the address pool", () => {
  it("allocates every address once, groups before ports, even ports only", () => {
    const { pool } = setUp();
    const lent = Array.from({ length: 8 }, () => pool.allocate(false));
    expect(lent.map(({ group, port }) => `${group}:${port}`)).toEqual([
      "239.10.0.254:20480",
      "239.10.0.255:20480",
      "239.10.1.0:20480",
      "239.10.1.1:20480",
      "239.10.0.254:20482",
      "239.10.0.255:20482",
      "239.10.1.0:20482",
      "239.10.1.1:20482",
    ]);
    expect(() => pool.allocate(false)).toThrow(UpstreamError);
  });

  it("reserves addresses for emergencies, which fall back to routine ones", () => {
    const { pool } = setUp();
    for (let n = 0; n < 7; n++) pool.allocate(false);
    const emergencies = Array.from({ length: 3 }, () => pool.allocate(true));
    expect(emergencies.map(({ group, port }) => `${group}:${port}`)).toEqual([
      "239.11.0.1:30002",
      "239.11.0.1:30004",
      "239.10.1.1:20482",
    ]);
    expect(() => pool.allocate(true)).toThrow(UpstreamError);
  });

  it("does not reuse an address for five minutes", async () => {
    const { clock, pool } = setUp();
    const lent = Array.from({ length: 8 }, () => pool.allocate(false));
    const returned = lent[3] ?? { group: "", port: 0 };
    pool.release(returned);
    await clock.advance(REST_MS - 1);
    expect(() => pool.allocate(false)).toThrow(UpstreamError);
    await clock.advance(1);
    expect(pool.allocate(false)).toEqual(returned);
  });

  it("counts the delay from the first release, and ignores addresses not in use", async () => {
    const { clock, pool } = setUp();
    const lent = Array.from({ length: 8 }, () => pool.allocate(false));
    const returned = lent[0] ?? { group: "", port: 0 };
    pool.release(returned);
    await clock.advance(REST_MS - 1000);
    pool.release(returned);
    pool.release({ group: "239.99.0.1", port: 20_480 });
    await clock.advance(1000);
    expect(pool.allocate(false)).toEqual(returned);
  });

  it("skips addresses claimed from an earlier process", async () => {
    const { clock, pool } = setUp();
    const claimed = { group: "239.10.0.254", port: 20_480 };
    pool.claim(claimed);
    pool.claim({ group: "239.77.0.1", port: 20_480 });
    const lent = Array.from({ length: 7 }, () => pool.allocate(false));
    expect(lent).not.toContainEqual(claimed);
    expect(() => pool.allocate(false)).toThrow(UpstreamError);
    pool.release(claimed);
    await clock.advance(REST_MS);
    expect(pool.allocate(false)).toEqual(claimed);
  });

  it("begins at the given index, at a random one otherwise", () => {
    expect(setUp(5).pool.allocate(false)).toEqual({ group: "239.10.0.255", port: 20_482 });
    const clock = createFakeClock();
    const wide = { ...ROUTINE, lastGroup: "239.20.0.1" };
    const firsts = Array.from({ length: 4 }, () =>
      createMulticastAddressPool({ clock, routine: wide, emergency: EMERGENCY }).allocate(false),
    );
    expect(new Set(firsts.map(({ group, port }) => `${group}:${port}`)).size).toBeGreaterThan(1);
  });

  it.each<[string, Partial<MulticastAddressRange>]>([
    ["groups in the wrong order", { firstGroup: "239.10.2.0" }],
    ["hosts", { firstGroup: "10.0.0.1", lastGroup: "10.0.0.9" }],
    ["words", { firstGroup: "group" }],
    ["a fourth part beyond 255", { lastGroup: "239.10.0.256" }],
    ["ports too low", { firstPort: 20_000 }],
    ["ports too high", { lastPort: 40_000 }],
    ["a single odd port", { firstPort: 20_481, lastPort: 20_481 }],
  ])("refuses a range with %s", (_, change) => {
    const clock = createFakeClock();
    const routine = { ...ROUTINE, ...change };
    expect(() => createMulticastAddressPool({ clock, routine, emergency: EMERGENCY })).toThrow(BugError);
  });
});
