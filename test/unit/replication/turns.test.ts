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
