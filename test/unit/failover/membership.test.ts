import { describe, expect, it } from "vitest";
import { createFailoverMembership, type FailoverMembershipDeps } from "../../../src/failover/membership.ts";
import { createFakeClock, FAKE_CLOCK_START } from "../../support/fake-clock.ts";

const GROUP = { id: "g", members: ["north", "east", "west"], timeoutMs: 3_000 };

/** Membership of `ownId`, and a way for peers to send heartbeats. */
function membershipOf(ownId: string, deps: Partial<FailoverMembershipDeps> = {}) {
  const clock = createFakeClock();
  const membership = createFailoverMembership({
    ...{ ownId, clock, groups: () => [GROUP], lease: () => null, isBusy: () => false },
    ...deps,
  });
  let n = 0;
  const hear = (endpoint: string, term: number | null, more: { armed?: number; sounding?: string[] } = {}): void =>
    membership.receive({
      ...{ endpoint, boot: "1", n: ++n, version: "1", at: clock.now(), holds: term === null ? {} : { g: term } },
      ...{ armed: 0, sounding: [], over: [], ...more },
    });
  /** Advances in steps of the tick, with heartbeats of peers. */
  const run = (ms: number, beats: () => void = () => undefined): void => {
    for (let passed = 0; passed < ms; passed += 250) {
      clock.advanceSync(250);
      beats();
      membership.tick();
    }
  };
  return { clock, membership, hear, run };
}

describe("the election of a failover group", () => {
  it("follows the highest term, not the priority", () => {
    const { membership, hear, run } = membershipOf("west");
    run(2_500, () => {
      hear("north", 4);
      hear("east", 5);
    });
    expect(membership.role("g")).toMatchObject({ holder: "east", term: 5 });
    run(500, () => {
      hear("north", 6);
      hear("east", 5);
    });
    expect(membership.role("g")).toMatchObject({ holder: "north", term: 6 });
  });

  it("resolves equal terms by priority, whichever was heard first", () => {
    for (const order of [
      ["north", "east"],
      ["east", "north"],
    ]) {
      const { membership, run, hear } = membershipOf("west");
      run(2_500, () => {
        for (const endpoint of order) hear(endpoint, 3);
      });
      expect(membership.role("g")).toMatchObject({ holder: "north", term: 3 });
    }
  });

  it("yields to an equal term of a member with higher priority, and keeps its own against a lower one", () => {
    const east = membershipOf("east");
    east.run(2_500);
    expect(east.membership.role("g")).toMatchObject({ holder: "east", term: 1 });
    east.run(500, () => east.hear("west", 1));
    expect(east.membership.role("g")?.holder).toBe("east");
    east.run(500, () => east.hear("north", 1));
    expect(east.membership.role("g")?.holder).toBe("north");
  });

  it("chooses the first live member without a claim, with a higher term after a takeover", () => {
    const { membership, hear, run } = membershipOf("east");
    run(2_500, () => hear("north", 7));
    expect(membership.role("g")).toMatchObject({ holder: "north", term: 7 });
    expect(membership.heldGroups()).toEqual({});
    run(4_500);
    expect(membership.role("g")?.holder).toBe("north");
    run(1_000);
    expect(membership.role("g")).toMatchObject({ holder: "east", term: 8 });
    expect(membership.heldGroups()).toEqual({ g: 8 });
  });

  it("waits two seconds after its start and after a stall, or until all peers were heard", () => {
    const { clock, membership, hear, run } = membershipOf("north");
    run(1_750);
    expect([membership.isSettled(), membership.role("g")]).toEqual([false, null]);
    run(250);
    expect([membership.isSettled(), membership.role("g")?.holder]).toEqual([true, "north"]);
    clock.advanceSync(2_000);
    membership.tick();
    expect([membership.isSettled(), membership.activeMs()]).toEqual([false, 0]);
    hear("east", null);
    hear("west", null);
    expect(membership.isSettled()).toBe(true);
  });

  it("counts the holder of the lease as eligible although it is silent", () => {
    const { membership, run } = membershipOf("east", { lease: () => ({ holder: "north", term: 9 }) });
    run(2_500);
    expect(membership.role("g")).toMatchObject({ holder: "north", term: 9 });
    expect(membership.activationOrder(GROUP)).toEqual(["north", "east"]);
  });
});

describe("the failback to a member of higher priority", () => {
  const steady = (more: Parameters<ReturnType<typeof membershipOf>["hear"]>[2] = {}, isBusy = false) => {
    const fixture = membershipOf("north", { isBusy: () => isBusy });
    const beats = (): void => {
      fixture.hear("east", 5, more);
    };
    return { ...fixture, beats };
  };

  it("happens after a minute of stable heartbeats while nothing plays", () => {
    const { membership, run, beats } = steady();
    run(59_750, beats);
    expect(membership.role("g")).toMatchObject({ holder: "east", term: 5 });
    run(1_000, beats);
    expect(membership.role("g")).toMatchObject({ holder: "north", term: 6 });
  });

  it.each([
    ["the holder plays", steady({ sounding: ["bell"] })],
    ["the holder has a prepared ring", steady({ armed: 1 })],
    ["this appliance plays", steady({}, true)],
  ])("waits while %s", (_, { membership, run, beats }) => {
    run(90_000, beats);
    expect(membership.role("g")?.holder).toBe("east");
  });

  it("never happens to a member of lower priority", () => {
    const { membership, hear, run } = membershipOf("west");
    run(90_000, () => hear("east", 5));
    expect(membership.role("g")).toMatchObject({ holder: "east", term: 5 });
  });
});

describe("a peer", () => {
  it("is alive for five seconds after its last heartbeat", () => {
    const { clock, membership, hear } = membershipOf("east");
    hear("north", null);
    clock.advanceSync(4_999);
    expect([membership.isAlive("north"), membership.peer("north")?.silentMs]).toEqual([true, 4_999]);
    clock.advanceSync(1);
    expect([membership.isAlive("north"), membership.isAlive("east")]).toEqual([false, true]);
    expect(membership.peers()).toMatchObject([{ endpoint: "north", heardAt: FAKE_CLOCK_START }]);
  });

  it("orders members with the active one first, then by priority", () => {
    const { membership, hear, run } = membershipOf("east");
    run(2_500, () => {
      hear("north", null);
      hear("west", 3);
    });
    expect(membership.activationOrder(GROUP)).toEqual(["west", "north", "east"]);
  });
});
