import { describe, expect, it } from "vitest";
import { newId } from "../../../src/lib/ids.ts";
import { type DownstreamRow, SYNC_LIMITS } from "../../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import { applyBatch, stagePage, stageSnapshotPage, startSnapshot } from "../../../src/sync/site/downstream-feed.ts";
import { initializeSyncState } from "../../../src/sync/site/sync-state.ts";
import { REFUSED_ROWS } from "../../../src/sync/site/tables.ts";
import { scanRecords } from "../../../src/sync/storage/transaction-program.ts";
import { createMemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";

const TYPES = readReplicatedTypes(CATALOGUE);
const SLICES = { ...SYNC_LIMITS, applyBatchRows: 3 };
const JOURNAL = { types: TYPES, commonFields: {}, now: 0, newId };

function room(id: string, seq: number, name: string): DownstreamRow {
  return ["p", "rooms", id, seq, { id, name, note: "" }];
}

describe("downstream feed of the site", () => {
  it("reuses names of deleted rows in a resync, however the batches fall", () => {
    const site = createMemoryStore(CATALOGUE);
    const applyAll = (): void => {
      while (!site.perform(() => applyBatch(JOURNAL, SLICES))) {
        // Each slice is a transaction of its own.
      }
    };
    const mark = { decided: 0, results: [] };
    site.perform(() => initializeSyncState("site-a", TYPES.fingerprint));
    const before = [room("old-1", 1, "Hall"), room("old-2", 2, "Gym")];
    site.perform(() => stagePage({ t: "rows", feed: "down.bulk", from: 0, to: 2, rows: before, mark }, TYPES));
    applyAll();

    // The second taker begins to wait a slice later than the first.
    const rows = [room("a", 1, "Hall"), room("b", 2, "Lobby"), room("c", 3, "Attic"), room("d", 4, "Gym")];
    site.perform(() => startSnapshot({ h0: 4, after: null }, JOURNAL));
    const page = { t: "snap", h0: 4, from: null, after: "rooms/d", rows, end: true } as const;
    site.perform(() => stageSnapshotPage(page, TYPES));
    site.perform(() => stagePage({ t: "rows", feed: "down.bulk", from: 4, to: 4, rows: [], mark }, TYPES));
    applyAll();

    expect(site.perform(() => scanRecords(REFUSED_ROWS))).toEqual([]);
    const names = [...site.rows]
      .filter(([key]) => key.startsWith("rooms/"))
      .map(([id, row]) => [id, row.name])
      .sort();
    expect(names).toEqual([
      ["rooms/a", "Hall"],
      ["rooms/b", "Lobby"],
      ["rooms/c", "Attic"],
      ["rooms/d", "Gym"],
    ]);
  });

  it("deletes rows in a resync although their dependents are deleted later", () => {
    const site = createMemoryStore(CATALOGUE);
    const mark = { decided: 0, results: [] };
    const person: DownstreamRow = ["p", "people", "person", 1, { id: "person", note: "" }];
    const list: DownstreamRow = [
      "p",
      "lists",
      "list",
      2,
      { id: "list", note: "", roomId: null, personIds: ["person"] },
    ];
    const before = [person, list];
    site.perform(() => initializeSyncState("site-a", TYPES.fingerprint));
    site.perform(() => stagePage({ t: "rows", feed: "down.bulk", from: 0, to: 2, rows: before, mark }, TYPES));
    while (!site.perform(() => applyBatch(JOURNAL, SLICES)));

    // That the list is gone is told with the mark, so the sweep leaves it; the person is not in the snapshot at all.
    site.perform(() => startSnapshot({ h0: 3, after: null }, JOURNAL));
    site.perform(() => stageSnapshotPage({ t: "snap", h0: 3, from: null, after: null, rows: [], end: true }, TYPES));
    const gone: DownstreamRow = ["d", "lists", "list", 4];
    site.perform(() => stagePage({ t: "rows", feed: "down.bulk", from: 3, to: 4, rows: [gone], mark }, TYPES));
    while (!site.perform(() => applyBatch(JOURNAL, SLICES)));

    expect(site.perform(() => scanRecords(REFUSED_ROWS))).toEqual([]);
    expect([...site.rows.keys()].filter((key) => /^(people|lists)/.test(key))).toEqual([]);
  });

  it("refuses a page after missing edit results", () => {
    const site = createMemoryStore(CATALOGUE);
    site.perform(() => initializeSyncState("site-a", TYPES.fingerprint));
    const told = (after: number, decided: number) => {
      const mark = { after, decided, results: [] };
      return site.perform(() => stagePage({ t: "rows", feed: "down.bulk", from: 0, to: 0, rows: [], mark }, TYPES));
    };
    expect(told(0, 3)).toBe("marked");
    site.perform(() => applyBatch(JOURNAL, SLICES));
    expect(told(5, 7)).toBe("gap");
    expect(told(3, 5)).toBe("marked");
  });
});
