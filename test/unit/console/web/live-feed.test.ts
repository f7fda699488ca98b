import { describe, expect, it } from "vitest";
import { createLiveFeed, type FeedState, type RowChange } from "../../../../src/console/web/api/live-feed.ts";
import { createServerClock } from "../../../../src/console/web/browser-clock.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

type On = Parameters<Parameters<typeof createLiveFeed>[0]["open"]>[1];

function scene() {
  const clock = createFakeClock();
  const opened: { address: string; on: On; closed: boolean }[] = [];
  const changes: RowChange[] = [];
  const states: FeedState[] = [];
  const times: number[] = [];
  let resyncs = 0;
  const feed = createLiveFeed({
    clock,
    open(address, on) {
      const socket = { address, on, closed: false };
      opened.push(socket);
      return {
        close() {
          socket.closed = true;
        },
      };
    },
    onChanges: (some) => void changes.push(...some),
    onResync: () => void resyncs++,
    onState: (state) => void states.push(state),
    onServerTime: (now) => void times.push(now),
  });
  const last = () => {
    const socket = opened.at(-1);
    if (!socket) throw new Error("nothing was opened");
    return socket;
  };
  const tell = (message: object) => last().on.message(JSON.stringify(message));
  return { clock, feed, opened, changes, states, times, last, tell, resyncs: () => resyncs };
}

describe("the clock of the console", () => {
  it("shows the time of the appliance, however wrong the browser's is, and follows no delays of the network", () => {
    const browser = createFakeClock();
    const clock = createServerClock(browser);
    const first = browser.now();
    expect(clock.now()).toBe(first);
    clock.set(first - 3 * 3_600_000);
    expect(clock.now()).toBe(first - 3 * 3_600_000);
    browser.advanceSync(5_000);
    expect(clock.now()).toBe(first - 3 * 3_600_000 + 5_000);
    clock.set(first - 3 * 3_600_000 + 4_100);
    expect(clock.now()).toBe(first - 3 * 3_600_000 + 5_000);
    clock.set(first + 60_000);
    expect(clock.now()).toBe(first + 60_000);
  });
});

describe("the live feed", () => {
  it("reports the time of the appliance, which not every message has", () => {
    const { feed, tell, times } = scene();
    feed.start();
    tell({ seq: 1, now: 5_000 });
    tell({ seq: 2, changes: [] });
    tell({ seq: 2, now: 10_000 });
    expect(times).toEqual([5_000, 10_000]);
  });

  it("reloads everything after its first frame, then only changes", () => {
    const { feed, tell, changes, states, resyncs } = scene();
    feed.start();
    tell({ seq: 7 });
    expect(resyncs()).toBe(1);
    tell({ seq: 8, changes: [{ resource: "users", id: "a", op: "update" }] });
    expect(resyncs()).toBe(1);
    expect(changes).toEqual([{ resource: "users", id: "a", op: "update" }]);
    expect(states.at(-1)?.live).toBe(true);
  });

  it("says since when it is cut, and resumes after the last number it saw", () => {
    const { clock, feed, tell, last, states, opened, resyncs } = scene();
    feed.start();
    expect(last().address).toBe("/api/live");
    tell({ seq: 41 });
    clock.advanceSync(3_000);
    last().on.end();
    expect(states.at(-1)).toEqual({ live: false, since: clock.now() - 3_000 });
    clock.advanceSync(499);
    expect(opened).toHaveLength(1);
    clock.advanceSync(1);
    expect(last().address).toBe("/api/live?since=41");
    tell({ seq: 42 });
    expect(states.at(-1)).toEqual({ live: true, since: clock.now() });
    expect(resyncs()).toBe(1);
  });

  it("takes silence for a cut", () => {
    const { clock, feed, tell, opened, states } = scene();
    feed.start();
    tell({ seq: 1 });
    clock.advanceSync(10_999);
    expect(states.at(-1)?.live).toBe(true);
    clock.advanceSync(1);
    expect(states.at(-1)?.live).toBe(false);
    expect(opened[0]?.closed).toBe(true);
  });

  it("grows patient, at most ten seconds, and is quick again after a word", () => {
    const { clock, feed, last, opened, tell } = scene();
    feed.start();
    for (const pauseMs of [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      const before = opened.length;
      last().on.end();
      clock.advanceSync(pauseMs - 1);
      expect(opened).toHaveLength(before);
      clock.advanceSync(1);
      expect(opened).toHaveLength(before + 1);
    }
    tell({ seq: 1 });
    last().on.end();
    const before = opened.length;
    clock.advanceSync(500);
    expect(opened).toHaveLength(before + 1);
  });

  it("reloads everything after a long disconnection", () => {
    const { feed, tell, resyncs } = scene();
    feed.start();
    tell({ seq: 1 });
    tell({ resync: true, seq: 90 });
    expect(resyncs()).toBe(2);
  });

  it("hears nothing of a socket that it has left, nor words that are no JSON", () => {
    const { clock, feed, last, changes, tell } = scene();
    feed.start();
    const old = last();
    old.on.end();
    clock.advanceSync(500);
    old.on.message(JSON.stringify({ seq: 5, changes: [{ resource: "users", id: "a", op: "update" }] }));
    last().on.message("{");
    expect(changes).toEqual([]);
    tell({ seq: 6 });
    expect(last().address).toBe("/api/live");
  });

  it("leaves no timer and no socket behind", () => {
    const { clock, feed, last, tell } = scene();
    feed.start();
    tell({ seq: 1 });
    feed.stop();
    expect(clock.pendingTimers()).toBe(0);
    expect(last().closed).toBe(true);
  });
});
