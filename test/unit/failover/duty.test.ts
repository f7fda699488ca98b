import { describe, expect, it } from "vitest";
import { createRingDuty } from "../../../src/failover/duty.ts";
import { createFakeClock, FAKE_CLOCK_START } from "../../support/fake-clock.ts";

const GROUP = { id: "g", members: ["east", "west"], timeoutMs: 3_000 };

/** East's turns, `awakeMs` after its start, where `alive` are heard. */
function turnsOf(alive: readonly string[], awakeMs: number) {
  const clock = createFakeClock();
  const startedAt = clock.monotonicMs() - awakeMs;
  const membership = {
    isSettled: () => true,
    activationOrder: () => [...alive],
    peer: () => null,
    activeMs: () => clock.monotonicMs() - startedAt,
  };
  const silent = { isIsolated: () => false, onDuplicate: () => undefined, onTakeover: () => undefined };
  return { clock, turns: createRingDuty({ ownId: "east", clock, membership, ...silent }) };
}

describe("duty for a bell", () => {
  it("waits on an appliance that was away at the scheduled time and hears no peer", async () => {
    const { clock, turns } = turnsOf(["east"], 2_500);
    const due = { id: "bell", at: FAKE_CLOCK_START - 9_000, groups: [GROUP] };
    expect(turns.decide(due)).toBe("wait");
    const said = {
      endpoint: "west",
      boot: "1",
      n: 1,
      version: "1",
      at: FAKE_CLOCK_START,
      holds: {},
      armed: 0,
      sounding: [],
    };
    turns.receive({ ...said, over: ["bell"] });
    expect(turns.decide(due)).toBe("yield");
    const other = { ...due, id: "another" };
    expect(turns.decide(other)).toBe("wait");
    await clock.advance(3_500);
    expect(turns.decide(other)).toBe("go");
  });

  it("goes to an appliance that was present and hears no peer", () => {
    const { turns } = turnsOf(["east"], 60_000);
    expect(turns.decide({ id: "bell", at: FAKE_CLOCK_START, groups: [GROUP] })).toBe("go");
  });
});

describe("the takeover report", () => {
  it("is sent for a bell of a silent member with higher priority only", async () => {
    const clock = createFakeClock();
    const reported: string[] = [];
    const membership = {
      ...{ isSettled: () => true, peer: () => null, activeMs: () => 60_000 },
      activationOrder: ({ members }: { members: readonly string[] }) => [...members],
    };
    const onTakeover = (id: string): void => void reported.push(id);
    const deps = {
      ownId: "east",
      clock,
      membership,
      isIsolated: () => false,
      onDuplicate: () => undefined,
      onTakeover,
    };
    const turns = createRingDuty(deps);
    expect(turns.decide({ id: "own", at: FAKE_CLOCK_START, groups: [GROUP] })).toBe("go");
    expect(reported).toEqual([]);
    const due = { id: "west's", at: FAKE_CLOCK_START, groups: [{ ...GROUP, members: ["west", "east"] }] };
    expect(turns.decide(due)).toBe("wait");
    await clock.advance(3_000);
    expect(turns.decide(due)).toBe("go");
    expect(reported).toEqual(["west's"]);
  });
});

describe("duty by group", () => {
  const OTHER = { ...GROUP, id: "h" };
  const beat = {
    endpoint: "west",
    boot: "1",
    n: 1,
    version: "1",
    at: FAKE_CLOCK_START,
    holds: {},
    armed: 0,
    sounding: [],
  };
  const due = { id: "bell", at: FAKE_CLOCK_START, groups: [GROUP] };

  it("plays for own groups regardless of other groups, and accepts evidence without groups for all", () => {
    const { turns } = turnsOf(["east", "west"], 60_000);
    turns.receive({ ...beat, over: ["bell"], covers: { bell: ["h"] } });
    expect(turns.decide(due)).toBe("go");
    expect(turns.decide({ ...due, groups: [OTHER], part: "h" })).toBe("yield");
    // Half of it was not sounded by anybody.
    expect(turns.decide({ ...due, groups: [GROUP, OTHER], part: "both" })).toBe("go");
    const { turns: older } = turnsOf(["east", "west"], 60_000);
    older.receive({ ...beat, over: ["bell"] });
    expect(older.decide(due)).toBe("yield");
  });

  it("takes over for a silent peer after its timeout, and reports the groups", async () => {
    const { clock, turns } = turnsOf(["west", "east"], 60_000);
    const part = { ...due, groups: [OTHER], part: "h" };
    turns.markStarted({ id: "bell", part: null, groups: ["g"] });
    expect(turns.heartbeatFields()).toMatchObject({ sounding: ["bell"], covers: { bell: ["g"] } });
    expect(turns.decide(part)).toBe("wait");
    await clock.advance(3_000);
    expect(turns.decide(part)).toBe("go");
    turns.markStarted({ id: "bell", part: "h", groups: ["h"] });
    turns.markEnded({ id: "bell", part: null });
    expect(turns.heartbeatFields()).toMatchObject({ sounding: ["bell"], over: [], covers: { bell: ["g", "h"] } });
    turns.markEnded({ id: "bell", part: "h" });
    expect(turns.heartbeatFields()).toMatchObject({ sounding: [], over: ["bell"] });
  });

  it("treats groups with equal order alike until one was played elsewhere", () => {
    const { turns } = turnsOf(["east", "west"], 60_000);
    const shared = (id: string) => turns.forecast("bell", { ...GROUP, id });
    expect([shared("g"), shared("h")]).toEqual(Array(2).fill({ holder: "east", equivalenceKey: "east" }));
    turns.receive({ ...beat, sounding: ["bell"], over: [], covers: { bell: ["h"] } });
    expect(shared("g")).toEqual({ holder: "east", equivalenceKey: "east" });
    expect(shared("h")).toMatchObject({ holder: "west" });
    expect(shared("h").equivalenceKey).not.toBe("east");
    const { turns: second } = turnsOf(["west", "east"], 60_000);
    expect(second.forecast("bell", GROUP)).toEqual({ holder: "west", equivalenceKey: "west,east" });
  });

  it("prevents failback from distribution on, for at most a minute", async () => {
    const { clock, turns } = turnsOf(["east", "west"], 60_000);
    turns.expectStart("bell");
    expect([turns.isBusy(), turns.heartbeatFields().armed]).toEqual([true, 1]);
    // What was taken away is not asked about any more.
    await clock.advance(61_000);
    expect([turns.heartbeatFields().armed, turns.isBusy()]).toEqual([0, false]);
  });

  it("limits the groups in a heartbeat, and omits those of sounds that ended earlier", async () => {
    const { clock, turns } = turnsOf(["east", "west"], 60_000);
    const groups = (n: number): string[] => Array.from({ length: n }, (_, at) => `g${at}`);
    turns.markStarted({ id: "over", part: null, groups: groups(1) });
    turns.markEnded({ id: "over", part: null });
    turns.markStarted({ id: "most", part: null, groups: groups(1_400) });
    turns.markStarted({ id: "some", part: null, groups: groups(200) });
    expect(Object.keys(turns.heartbeatFields().covers ?? {}).sort()).toEqual(["over", "some"]);
    await clock.advance(31_000);
    expect(turns.heartbeatFields()).toMatchObject({ over: ["over"], covers: { some: groups(200) } });
    expect(turns.heartbeatFields().covers).not.toHaveProperty("over");
  });
});
