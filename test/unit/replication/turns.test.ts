import { describe, expect, it } from "vitest";
import { createTurns } from "../../../src/replication/failover/turns.ts";
import { createFakeClock, FAKE_START } from "../../support/fake-clock.ts";

const GROUP = { id: "g", members: ["east", "west"], timeoutMs: 3_000 };

/** East's turns, `awakeMs` after its start, where `alive` are heard. */
function turnsOf(alive: readonly string[], awakeMs: number) {
  const clock = createFakeClock();
  const startedAt = clock.monotonicMs() - awakeMs;
  const circle = {
    isSettled: () => true,
    order: () => [...alive],
    neighbour: () => null,
    awakeMs: () => clock.monotonicMs() - startedAt,
  };
  const silent = { isIsolated: () => false, doubled: () => undefined, tookOver: () => undefined };
  return { clock, turns: createTurns({ ownId: "east", clock, circle, ...silent }) };
}

describe("whose turn a bell is", () => {
  it("is not at once that of whoever was away at its moment and hears nobody", async () => {
    const { clock, turns } = turnsOf(["east"], 2_500);
    const due = { id: "bell", at: FAKE_START - 9_000, groups: [GROUP] };
    expect(turns.turn(due)).toBe("wait");
    const said = { endpoint: "west", boot: "1", n: 1, version: "1", at: FAKE_START, holds: {}, armed: 0, sounding: [] };
    turns.heard({ ...said, over: ["bell"] });
    expect(turns.turn(due)).toBe("stand-down");
    const other = { ...due, id: "another" };
    expect(turns.turn(other)).toBe("wait");
    await clock.advance(3_500);
    expect(turns.turn(other)).toBe("go");
  });

  it("is that of whoever was there and hears nobody", () => {
    const { turns } = turnsOf(["east"], 60_000);
    expect(turns.turn({ id: "bell", at: FAKE_START, groups: [GROUP] })).toBe("go");
  });
});

describe("a bell that appliances share out by groups", () => {
  const OTHER = { ...GROUP, id: "h" };
  const beat = { endpoint: "west", boot: "1", n: 1, version: "1", at: FAKE_START, holds: {}, armed: 0, sounding: [] };
  const due = { id: "bell", at: FAKE_START, groups: [GROUP] };

  it("is sounded for one's own groups whatever others sound for theirs, and for all who say nothing of groups", () => {
    const { turns } = turnsOf(["east", "west"], 60_000);
    turns.heard({ ...beat, over: ["bell"], covers: { bell: ["h"] } });
    expect(turns.turn(due)).toBe("go");
    expect(turns.turn({ ...due, groups: [OTHER], part: "h" })).toBe("stand-down");
    // Half of it was not sounded by anybody.
    expect(turns.turn({ ...due, groups: [GROUP, OTHER], part: "both" })).toBe("go");
    const { turns: older } = turnsOf(["east", "west"], 60_000);
    older.heard({ ...beat, over: ["bell"] });
    expect(older.turn(due)).toBe("stand-down");
  });

  it("is sounded in a silent neighbour's place when that one's time is over, and told with its groups", async () => {
    const { clock, turns } = turnsOf(["west", "east"], 60_000);
    const part = { ...due, groups: [OTHER], part: "h" };
    turns.began({ id: "bell", part: null, groups: ["g"] });
    expect(turns.told()).toMatchObject({ sounding: ["bell"], covers: { bell: ["g"] } });
    expect(turns.turn(part)).toBe("wait");
    await clock.advance(3_000);
    expect(turns.turn(part)).toBe("go");
    turns.began({ id: "bell", part: "h", groups: ["h"] });
    turns.ended({ id: "bell", part: null });
    expect(turns.told()).toMatchObject({ sounding: ["bell"], over: [], covers: { bell: ["g", "h"] } });
    turns.ended({ id: "bell", part: "h" });
    expect(turns.told()).toMatchObject({ sounding: [], over: ["bell"] });
  });

  it("is alike at groups whose turn comes together, until one of them was sounded elsewhere", () => {
    const { turns } = turnsOf(["east", "west"], 60_000);
    const shared = (id: string) => turns.outlook("bell", { ...GROUP, id });
    expect([shared("g"), shared("h")]).toEqual(Array(2).fill({ holder: "east", like: "east" }));
    turns.heard({ ...beat, sounding: ["bell"], over: [], covers: { bell: ["h"] } });
    expect(shared("g")).toEqual({ holder: "east", like: "east" });
    expect(shared("h")).toMatchObject({ holder: "west" });
    expect(shared("h").like).not.toBe("east");
    const { turns: second } = turnsOf(["west", "east"], 60_000);
    expect(second.outlook("bell", GROUP)).toEqual({ holder: "west", like: "west,east" });
  });

  it("keeps roles where they are from the sharing out on, for a minute at most", async () => {
    const { clock, turns } = turnsOf(["east", "west"], 60_000);
    turns.expect("bell");
    expect([turns.isBusy(), turns.told().armed]).toEqual([true, 1]);
    // What was taken away is not asked about any more.
    await clock.advance(61_000);
    expect([turns.told().armed, turns.isBusy()]).toEqual([0, false]);
  });

  it("names groups as far as a beat has room, of what ended a while ago none", async () => {
    const { clock, turns } = turnsOf(["east", "west"], 60_000);
    const groups = (n: number): string[] => Array.from({ length: n }, (_, at) => `g${at}`);
    turns.began({ id: "over", part: null, groups: groups(1) });
    turns.ended({ id: "over", part: null });
    turns.began({ id: "most", part: null, groups: groups(1_400) });
    turns.began({ id: "some", part: null, groups: groups(200) });
    expect(Object.keys(turns.told().covers ?? {}).sort()).toEqual(["over", "some"]);
    await clock.advance(31_000);
    expect(turns.told()).toMatchObject({ over: ["over"], covers: { some: groups(200) } });
    expect(turns.told().covers).not.toHaveProperty("over");
  });
});
