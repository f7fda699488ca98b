import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GROUP_LEASES } from "../../../src/sync/hub/tables.ts";
import type { Frame, RemoteCommandType } from "../../../src/sync/protocol/frames.ts";
import { bucketDigests, sumDigests } from "../../../src/sync/protocol/row-digests.ts";
import { computeLocalBuckets, findDifferingTypes } from "../../../src/sync/site/digest-check.ts";
import { ACTIVITY_TYPE } from "../../../src/sync/site/sync-activities.ts";
import { APPLIED_VERSIONS, SYNC_STATE } from "../../../src/sync/site/tables.ts";
import {
  getRecord,
  putRecord,
  type RowBody,
  scanRecords,
  type TransactionProgram,
} from "../../../src/sync/storage/transaction-program.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { type LinkedPair, linkedPair } from "../../support/linked-pair.ts";

const ORDERED = "0190b1c0-0000-7000-8000-000000000001";

describe("site sync", () => {
  let pair: LinkedPair;
  let played: string[];
  const told = (type: string): RowBody | undefined => pair.activities().find((body) => body.type === type);
  const order = (kind: RemoteCommandType): Promise<void> => pair.command({ cid: ORDERED, kind });

  beforeEach(async () => {
    played = [];
    pair = await linkedPair(CATALOGUE, (command, on) => {
      played.push(command.kind);
      on.ended(command.kind === "upgrade" ? "failed" : "done", { file: "a.zip" });
      return () => undefined;
    });
  });
  afterEach(() => pair.stop());

  it("runs a remote command and reports its outcome under the command's id", async () => {
    await order("backup");
    expect(played).toEqual(["backup"]);
    expect(await pair.hub.outcomes(ORDERED)).toEqual({ "site-a": "done" });
    const row = pair.siteStore.rows.get(`${ACTIVITY_TYPE}/${ORDERED}`);
    expect(row).toMatchObject({ type: "backup", state: "success", severity: "info", value: { file: "a.zip" } });
  });

  it("reports a failed command as failed", async () => {
    await order("upgrade");
    expect(await pair.hub.outcomes(ORDERED)).toEqual({ "site-a": "failed" });
    expect(pair.siteStore.rows.get(`${ACTIVITY_TYPE}/${ORDERED}`)).toMatchObject({ type: "upgrade", state: "fail" });
  });

  it.each(["full-resync", "replication-queue-reset"] as const)(
    "has done a %s once all rows came anew",
    async (kind) => {
      await pair.hub.publish([{ type: "people", id: "p", body: { id: "p", note: "" }, scope: null, at: 0 }]);
      await pair.settle();
      await order(kind);
      expect([played, pair.closed()]).toEqual([[], "restored"]);
      expect(await pair.hub.outcomes(ORDERED)).toEqual({ "site-a": null });
      await pair.connect();
      expect(await pair.hub.outcomes(ORDERED)).toEqual({ "site-a": "done" });
      expect(told("full-resync")).toMatchObject({ state: "success", severity: "warn" });
      expect(pair.siteStore.rows.get(`${ACTIVITY_TYPE}/${ORDERED}`)).toMatchObject({ type: kind, state: "success" });
    },
  );

  it("applies rows at the next connection that could not be written at first", async () => {
    const { perform } = pair.siteStore;
    const full = vi.spyOn(pair.siteStore, "perform").mockImplementation((work) => {
      if (perform(() => getRecord(SYNC_STATE, "link"))?.applyingCheckpoint) throw new Error("The disk is full.");
      return perform(work);
    });
    await pair.hub.publish([{ type: "people", id: "p", body: { id: "p", note: "" }, scope: null, at: 0 }]);
    await pair.settle();
    expect([pair.errors.length > 0, pair.siteStore.rows.has("people/p")]).toEqual([true, false]);
    full.mockRestore();
    await pair.connect();
    expect([pair.closed(), pair.siteStore.rows.has("people/p")]).toEqual([null, true]);
  });

  it("computes digests in chunks and yields to other tasks", async () => {
    const rows = Array.from({ length: 1_100 }, (_, at) => ({ type: "people", id: `p${at}`, seq: at + 1 }));
    pair.siteStore.perform(function* () {
      for (const row of rows) yield* putRecord(APPLIED_VERSIONS, { ...row, snapshotGeneration: 1, applyOrder: 1 });
    });
    let turns = 0;
    const after = (_: number, over: () => void) => {
      turns += 1;
      setImmediate(over);
      return { cancel() {} };
    };
    const store = { read: async <T>(work: () => TransactionProgram<T>) => pair.siteStore.perform(work) };
    const needs = { store, clock: { after }, yieldToUrgent: async () => undefined };
    const all = bucketDigests("people", rows);
    const digest = all.reduce(sumDigests);
    expect((await computeLocalBuckets(needs, "people")).buckets).toEqual(all);
    expect(await findDifferingTypes(needs, ["people"], { people: digest })).toEqual([]);
    expect(await findDifferingTypes(needs, ["people", "rooms"], {})).toEqual(["people"]);
    expect(turns).toBe(3);
  });

  it("prunes on command", async () => {
    await order("replication-clean-up");
    expect(await pair.hub.outcomes(ORDERED)).toEqual({ "site-a": "done" });
    expect(told("replication-clean-up")).toMatchObject({ state: "success", value: { freedBytes: 0 } });
  });

  it("writes fewer activities than rows", async () => {
    const rows = Array.from({ length: 40 }, (_, at) => ({ type: "people", id: `p${at}`, scope: null, at: 0 }));
    for (const row of rows) await pair.hub.publish([{ ...row, body: { id: row.id, note: "" } }]);
    await pair.settle();
    await pair.hub.publish(rows.slice(0, 10).map((row) => ({ ...row, body: null })));
    await pair.settle();
    expect(told("message-dependency-sync")).toMatchObject({ state: "success", value: { rows: 50 } });
    expect(told("syncer-startup")).toMatchObject({ value: { times: 1 } });
    expect(pair.activities().length).toBeLessThan(5);
  });

  it.each([
    [
      "the cloud",
      () => pair.toSite({ t: "rows", feed: "down.bulk", from: 0, to: 1, rows: "all" }),
      /no frame: rows: rows:/,
    ],
    ["an appliance", () => pair.toCloud({ t: "ping", t0: "now", groups: [] }), /site-a: ping: t0:/],
  ])("closes the connection when %s sends what is no frame, and nothing changes", async (_, send, words) => {
    const before = [
      pair.siteStore.perform(() => getRecord(SYNC_STATE, "link")),
      pair.siteStore.rows.size,
      pair.hubStore.rows.size,
    ];
    send();
    await pair.settle();
    expect([pair.closed(), pair.errors]).toEqual(["schema", [expect.stringMatching(words)]]);
    expect([
      pair.siteStore.perform(() => getRecord(SYNC_STATE, "link")),
      pair.siteStore.rows.size,
      pair.hubStore.rows.size,
    ]).toEqual(before);
  });

  it("grants no lease of a group to a non-member", async () => {
    pair.toCloud({ t: "ping", t0: 1, groups: ["own", "other"] });
    await pair.settle();
    expect(pair.hubStore.perform(() => scanRecords(GROUP_LEASES)).map(({ group, holder }) => [group, holder])).toEqual([
      ["own", "site-a"],
    ]);
  });

  it("rejects a hello of another endpoint", async () => {
    const hello = {
      t: "hello",
      v: 1,
      endpoint: "site-b",
      inc: 1,
      sequence: { bulk: 0, hot: 0 },
      epoch: null,
      received: 0,
    };
    const rest = {
      applied: 0,
      snap: null,
      commandHighWatermark: 0,
      decided: 0,
      resyncRequested: false,
      types: [],
      credit: { frames: 1, bytes: 1 },
    };
    const sent: Frame[] = [];
    pair.hub.connected({ send: (frame) => sent.push(frame), close() {} }, "site-a").frame({ ...hello, ...rest });
    await pair.settle();
    expect(sent).toEqual([{ t: "err", code: "refused", reason: "The endpoint of the hello must be the authenticated one." }]);
  });
});
