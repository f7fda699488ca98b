import { describe, expect, it } from "vitest";
import type { Clock } from "../../../src/lib/clock.ts";
import { createLog } from "../../../src/lib/log.ts";
import { createLoopGuard } from "../../../src/ops/loop-guard.ts";

const MINUTE = 60_000;

/** A loop whose turns take as long as a test says. */
function scene() {
  let now = 1_000;
  let cpu = 0;
  let tick: () => void = () => undefined;
  let work = "other";
  const lines: Record<string, unknown>[] = [];
  const clock = {
    monotonicMs: () => now,
    every: (_ms: number, fn: () => void) => {
      tick = fn;
      const cancel = (): void => {
        tick = () => undefined;
      };
      return { cancel };
    },
  } as unknown as Clock;
  const log = createLog({ level: "info", stream: { write: (line: string) => void lines.push(JSON.parse(line)) } });
  const guard = createLoopGuard({ clock, log, cpuMs: () => cpu, takeWork: () => work });
  guard.start();
  return {
    guard,
    lines,
    /** One turn of `ms`, in which the thread used the processor for `usedMs`. */
    turn(name: string, ms: number, usedMs = ms) {
      work = name;
      now += 10 + ms;
      cpu += usedMs;
      tick();
    },
    wait(ms: number) {
      now += ms;
    },
    codes: () => guard.healthReasons().map(({ code, level }) => `${level} ${code}`),
  };
}

describe("the loop guard", () => {
  it("logs turns of more than 50 ms with their work, and no others", () => {
    const { turn, lines, guard } = scene();
    turn("bells", 49);
    turn("GET v1/users", 120, 110);
    expect(lines).toMatchObject([{ event: "loop.blocked", work: "GET v1/users", ms: 120, cpuMs: 110 }]);
    expect([...guard.blocked]).toEqual([["GET v1/users", { turns: 1, seconds: 0.12 }]]);
  });

  it("logs each work once in ten seconds, and counts all turns", () => {
    const { turn, lines, guard, wait } = scene();
    for (let turns = 0; turns < 20; turns++) turn("GET v1/users", 100);
    turn("plugin ip-phones", 60);
    wait(10_000);
    turn("other", 0);
    lines.length = 0;
    turn("GET v1/users", 100);
    expect(lines).toMatchObject([{ work: "GET v1/users", more: 19 }]);
    expect(guard.blocked.get("GET v1/users")).toEqual({ turns: 21, seconds: expect.closeTo(2.1) });
    expect(guard.blocked.get("plugin ip-phones")?.turns).toBe(1);
  });

  it("turns the health yellow when turns are often long, and green again", () => {
    const { turn, codes, guard, wait } = scene();
    for (let turns = 0; turns < 60; turns++) turn("GET v1/users", 60);
    expect(codes()).toEqual([]);
    turn("webhooks", 90);
    expect(codes()).toEqual(["yellow loop-blocked"]);
    expect(guard.healthReasons()[0]?.reason).toContain("at most for 90 ms by webhooks");
    wait(6 * MINUTE);
    expect(codes()).toEqual([]);
  });

  it("turns the health yellow for one turn of two seconds", () => {
    const { turn, codes } = scene();
    turn("GET v1/users", 2_100);
    expect(codes()).toEqual(["yellow loop-blocked"]);
  });

  it("does not blame the daemon for a machine that is busy with something else", () => {
    const { turn, codes, lines } = scene();
    for (let turns = 0; turns < 100; turns++) turn("GET v1/users", 3_000, 5);
    expect(codes()).toEqual([]);
    expect(lines[0]).toMatchObject({ ms: 3_000, cpuMs: 5 });
  });

  it("bounds the number of works", () => {
    const { turn, guard } = scene();
    for (let n = 0; n < 1_000; n++) turn(`GET v1/${n}`, 60);
    expect(guard.blocked.size).toBe(301);
    expect(guard.blocked.get("more")?.turns).toBe(700);
  });

  it("stops with the daemon", () => {
    const { turn, guard, lines } = scene();
    guard.stop();
    turn("GET v1/users", 500);
    expect(lines).toEqual([]);
  });
});
