import { beforeEach, describe, expect, it } from "vitest";
import { createPendingRemovals, type PendingRemovals, UNDO_MS } from "../../../../src/console/web/pending-removals.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";

let clock: FakeClock;
let page: EventTarget;
let removals: PendingRemovals;
let done: { id: string; leaving: boolean }[];
let faults: unknown[];
let changes: number;

beforeEach(() => {
  clock = createFakeClock();
  page = new EventTarget();
  removals = createPendingRemovals(clock, page);
  [done, faults, changes] = [[], [], 0];
  removals.onChange(() => changes++);
});

const plan = (id: string, fault?: Error) =>
  removals.plan({
    id,
    async run(leaving) {
      done.push({ id, leaving });
      if (fault) throw fault;
    },
    onFault: (error) => faults.push(error),
  });

describe("a removal", () => {
  it("takes the row out of sight at once and away after ten seconds", async () => {
    plan("a");
    expect([...removals.gone()]).toEqual(["a"]);
    await clock.advance(UNDO_MS - 1);
    expect(done).toEqual([]);
    await clock.advance(1);
    expect(done).toEqual([{ id: "a", leaving: false }]);
    expect([...removals.gone()]).toEqual(["a"]);
  });

  it("can be undone until then", async () => {
    plan("a");
    plan("b");
    removals.undo("a");
    expect([...removals.gone()]).toEqual(["b"]);
    await clock.advance(UNDO_MS);
    expect(done.map(({ id }) => id)).toEqual(["b"]);
    removals.undo("b");
    expect([...removals.gone()]).toEqual(["b"]);
    expect(changes).toBe(3);
  });

  it("is carried out once when the page closes", async () => {
    plan("a");
    page.dispatchEvent(new Event("pagehide"));
    await clock.advance(UNDO_MS);
    expect(done).toEqual([{ id: "a", leaving: true }]);
  });

  it("brings the row back into sight when it fails", async () => {
    const fault = new Error("no right");
    plan("a", fault);
    await clock.advance(UNDO_MS);
    expect(faults).toEqual([fault]);
    expect([...removals.gone()]).toEqual([]);
  });
});
