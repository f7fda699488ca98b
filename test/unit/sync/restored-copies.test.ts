import { beforeEach, describe, expect, it } from "vitest";
import { newId } from "../../../src/lib/ids.ts";
import { admitSite } from "../../../src/sync/hub/handshake.ts";
import { initializeFeed } from "../../../src/sync/hub/publish.ts";
import { applyUpstreamPage } from "../../../src/sync/hub/upstream-feed.ts";
import { SYNC_LIMITS, type SyncCommand, type SyncWelcome } from "../../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import { createCloudTime } from "../../../src/sync/site/cloud-time.ts";
import { COMMAND_INBOX, receiveCommand } from "../../../src/sync/site/command-inbox.ts";
import { adoptRestoredSite, handleWelcome } from "../../../src/sync/site/handshake.ts";
import { recordLocalWrite } from "../../../src/sync/site/local-writes.ts";
import { enqueue, nextUpstreamPage } from "../../../src/sync/site/outbox.ts";
import { pruneSiteData } from "../../../src/sync/site/retention.ts";
import {
  buildHello,
  initializeSyncState,
  readSavedCloudTime,
  readSyncState,
} from "../../../src/sync/site/sync-state.ts";
import { OUTBOX, SYNC_STATE } from "../../../src/sync/site/tables.ts";
import { applyRow, putRecord, readProductRow, scanRecords } from "../../../src/sync/storage/transaction-program.ts";
import { createMemoryStore, type MemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";

const TYPES = readReplicatedTypes(CATALOGUE);
const NOW = Date.parse("2026-03-01T12:00:00Z");
const DAY_MS = 24 * 3600_000;
const journal = (now: number) => ({ types: TYPES, commonFields: {}, now, newId });

function siteWith(record: string): MemoryStore {
  const site = createMemoryStore(CATALOGUE);
  site.perform(() => initializeSyncState("site-a", TYPES.fingerprint));
  site.perform(() => enqueue("hot", { uid: record, op: "p", type: "outcome", id: "c", body: {}, at: NOW }));
  return site;
}

describe("copy of an appliance's disk", () => {
  it("is distinguished from another copy of the same image with the same records and numbers", () => {
    const image = siteWith("record");
    const [one, other] = [image, image.copy()].map((copy) => {
      copy.perform(() => adoptRestoredSite(journal(NOW)));
      return { copy, link: copy.perform(readSyncState) };
    });
    const up = { bulk: { hw: 0, tail: null }, hot: { hw: 1, tail: "record" } };
    const of = { sess: 1, epoch: "e", ct: NOW, up, resync: null, credit: { frames: 1, bytes: 1 } };
    const welcome: SyncWelcome = { t: "welcome", ...of, inc: one?.link.incarnation as number };
    expect(other?.copy.perform(() => handleWelcome(welcome, journal(NOW)))).toBe("restored");
    expect(one?.copy.perform(() => handleWelcome(welcome, journal(NOW)))).toBe("live");
  });

  it("does not trust its saved cloud time", () => {
    const site = siteWith("record");
    site.perform(function* () {
      yield* putRecord(SYNC_STATE, { ...(yield* readSyncState()), cloudTime: NOW, cloudTimeWallClock: NOW });
    });
    site.perform(() => adoptRestoredSite(journal(NOW)));
    expect(site.perform(() => readSavedCloudTime(NOW + 1_000))).toBeNull();
  });
});

describe("undeclared restore of an appliance's disk", () => {
  let site: MemoryStore;
  let cloud: MemoryStore;
  const write = (type: string, id: string, note: string) =>
    site.perform(function* () {
      const [before, after] = [yield* readProductRow(type, id), { id, note }];
      yield* applyRow(type, id, after);
      yield* recordLocalWrite({ type, id, before, after, actor: "a", at: NOW, newId }, TYPES);
    });
  /** Connects, and sends so many pages; no acknowledgement arrives. */
  const send = (pages: number): void => {
    const hello = site.perform(() => buildHello(TYPES.cloudOwned, SYNC_LIMITS.credit));
    const { welcome } = cloud.perform(() => admitSite(hello, NOW, SYNC_LIMITS.credit));
    const accept = () => site.perform(() => handleWelcome(welcome, journal(NOW)));
    let verdict = accept();
    while (verdict === "more") verdict = accept();
    expect(verdict).toBe("live");
    let from = welcome.up.bulk.hw;
    for (let turn = 0; turn < pages; turn += 1) {
      const page = site.perform(() => nextUpstreamPage("bulk", from, { ...SYNC_LIMITS, pageRows: 3 }))?.frame;
      if (!page) return;
      const by = { endpoint: "site-a", sess: welcome.sess };
      expect(cloud.perform(() => applyUpstreamPage(page, by, TYPES, NOW)).result).toBe("taken");
      from = page.to;
    }
  };
  const held = (): unknown[] => ["panels/p", "reports/r", "reports/last"].map((key) => cloud.rows.get(key)?.note);

  beforeEach(() => {
    site = createMemoryStore(CATALOGUE);
    cloud = createMemoryStore(CATALOGUE);
    site.perform(() => initializeSyncState("site-a", TYPES.fingerprint));
    cloud.perform(() => initializeFeed("first"));
    write("panels", "p", "then");
    write("reports", "r", "begun");
    write("reports", "last", "seen");
  });

  it("sends rows again whose records were superseded after the backup", () => {
    const image = site.copy();
    write("panels", "p", "now");
    write("reports", "r", "ended");
    send(1);
    expect(held()).toEqual([undefined, undefined, "seen"]);
    site = image;
    send(100);
    expect(held()).toEqual(["then", "begun", "seen"]);
    const { bulkSeq } = site.perform(readSyncState);
    send(100);
    const { outboxBytes, ...link } = site.perform(readSyncState);
    const kept = site.perform(() => scanRecords(OUTBOX));
    expect(link).toMatchObject({ incarnation: 1, bulkAcked: bulkSeq });
    expect(outboxBytes).toBe(kept.reduce((sum, { bytes }) => sum + bytes, 0));
  });

  it("queues many records again in batches, across restarts", () => {
    for (let at = 0; at < 1_200; at += 1) write("reports", `r${at}`, "then");
    const image = site.copy();
    send(1_000);
    site = image;
    const hello = site.perform(() => buildHello(TYPES.cloudOwned, SYNC_LIMITS.credit));
    const { welcome } = cloud.perform(() => admitSite(hello, NOW, SYNC_LIMITS.credit));
    const { hw } = welcome.up.bulk;
    const open = () =>
      site
        .perform(() => scanRecords(OUTBOX, { where: ["bulk"] }))
        .filter(({ isNewest, sequence }) => isNewest === 1 && sequence <= hw);
    const all = open().length;
    expect(all).toBeGreaterThanOrEqual(1_200);
    expect(site.perform(() => handleWelcome(welcome, journal(NOW)))).toBe("more");
    expect(open().length).toBe(all - 500);
    write("reports", "r7", "meanwhile");
    write("reports", "r1199", "meanwhile");
    site = site.copy();
    send(0);
    const again = site
      .perform(() => scanRecords(OUTBOX, { where: ["bulk"], after: hw }))
      .filter(({ isNewest }) => isNewest === 1);
    // One of them was overtaken before it was its turn, and goes as the newer one alone.
    expect(new Set(again.map(({ id }) => id)).size).toBe(all);
    expect(again.filter(({ id }) => id === "r1199").length).toBe(1);
    expect([open(), site.perform(readSyncState).bulkAcked]).toEqual([[], hw]);
    send(1_000);
    const notes = ["r7", "r8", "r1198", "r1199"].map((id) => cloud.rows.get(`reports/${id}`)?.note);
    expect(notes).toEqual(["meanwhile", "then", "then", "meanwhile"]);
  });

  it("never sends an older record of a row after a newer one", () => {
    const tell = (note: string) =>
      site.perform(() =>
        recordLocalWrite(
          { type: "reports", id: "r", before: null, after: { id: "r", note }, actor: "", at: NOW, newId },
          TYPES,
        ),
      );
    tell("failed");
    send(100);
    tell("delivered");
    send(100);
    send(100);
    expect(held()).toEqual(["then", "delivered", "seen"]);
  });

  it("is not confused with a lost acknowledgement, whose rows the cloud does not write again", () => {
    send(1);
    expect(held()).toEqual(["then", "begun", "seen"]);
    cloud.perform(() => applyRow("reports", "r", null));
    send(100);
    expect(held()).toEqual(["then", undefined, "seen"]);
  });
});

describe("wrong clock", () => {
  it("is not trusted after it was before the saved time", () => {
    const site = siteWith("record");
    site.perform(function* () {
      yield* putRecord(SYNC_STATE, { ...(yield* readSyncState()), cloudTime: NOW, cloudTimeWallClock: NOW + 360_000 });
    });
    expect(site.perform(() => readSavedCloudTime(NOW + 400_000))).toEqual({
      cloudTimeMs: NOW,
      wallClockMs: NOW + 360_000,
    });
    expect(site.perform(() => readSavedCloudTime(0))).toBeNull();
    expect(site.perform(() => readSavedCloudTime(NOW + 400_000))).toBeNull();
  });

  it("does not move cloud time when it is set while the process runs", () => {
    const at = { wall: NOW, mono: 0 };
    const time = createCloudTime(
      { now: () => at.wall, monotonicMs: () => at.mono },
      { cloudTimeMs: NOW, wallClockMs: NOW - 60_000 },
    );
    const before = time.latest() as number;
    at.wall -= 50_000;
    at.mono += 1_000;
    expect(time.latest()).toBeGreaterThanOrEqual(before + 1_000);
    expect(time.latestObserved()).toBeNull();
    time.observe(NOW + 62_000, 1_000);
    expect(time.latest()).toBe(NOW + 62_000);
  });

  it("expires nothing: commands and records are pruned 30 days later by cloud time only", () => {
    const site = siteWith("record");
    const command: SyncCommand = {
      ...{ cid: "c", kind: "cancel", class: "emergency", notAfter: NOW, rank: 0, term: 0, ref: "d", body: {} },
    };
    site.perform(() => receiveCommand({ t: "cmd", cseq: 1, command }, journal(0)));
    site.perform(() => enqueue("hot", { uid: "next", op: "p", type: "outcome", id: "c", body: {}, at: 0 }));
    site.perform(function* () {
      yield* putRecord(SYNC_STATE, { ...(yield* readSyncState()), hotAcked: 3 });
    });
    const left = (cloudTime: number | null) => {
      site.perform(() => pruneSiteData(cloudTime));
      return [
        site.perform(() => scanRecords(COMMAND_INBOX)).length,
        site.perform(() => scanRecords(OUTBOX)).map(({ sequence }) => sequence),
      ];
    };
    for (const time of [null, NOW, NOW + 29 * DAY_MS]) expect(left(time)).toEqual([2, [1, 2, 3]]);
    // The newest that arrived stays, by which a restore is found out.
    expect(left(NOW + 32 * DAY_MS)).toEqual([0, [3]]);
  });
});
