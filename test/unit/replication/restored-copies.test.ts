import { beforeEach, describe, expect, it } from "vitest";
import { newId } from "../../../src/base/ids.ts";
import { type Command, LIMITS, type Welcome } from "../../../src/replication/frames.ts";
import { prepareHub } from "../../../src/replication/hub/publish.ts";
import { takePage } from "../../../src/replication/hub/up-feed.ts";
import { admit } from "../../../src/replication/hub/welcome.ts";
import { replicatedTypes } from "../../../src/replication/replicated-types.ts";
import { createCloudTime } from "../../../src/replication/site/cloud-time.ts";
import { forgetOld } from "../../../src/replication/site/forgetting.ts";
import { INBOX, receiveCommand } from "../../../src/replication/site/inbox.ts";
import { keptTime, linkState, makeHello, prepareLink } from "../../../src/replication/site/link-state.ts";
import { recordLocalWrite } from "../../../src/replication/site/local-writes.ts";
import { enqueue, nextPage } from "../../../src/replication/site/outbox.ts";
import { LINK, OUT } from "../../../src/replication/site/tables.ts";
import { acceptWelcome, adoptRestoredCopy } from "../../../src/replication/site/welcome.ts";
import { applyRow, put, scan, shownRow } from "../../../src/replication/work.ts";
import { createMemoryStore, type MemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";

const TYPES = replicatedTypes(CATALOGUE);
const NOW = Date.parse("2026-03-01T12:00:00Z");
const DAY_MS = 24 * 3600_000;
const journal = (now: number) => ({ types: TYPES, about: {}, now, newId });

function siteWith(record: string): MemoryStore {
  const site = createMemoryStore(CATALOGUE);
  site.perform(() => prepareLink("site-a", TYPES.fingerprint));
  site.perform(() => enqueue("hot", { uid: record, op: "p", type: "outcome", id: "c", body: {}, at: NOW }));
  return site;
}

describe("a copy of an appliance's disk", () => {
  it("is told apart from another copy of the same image, which has the same records under the same numbers", () => {
    const image = siteWith("record");
    const [one, other] = [image, image.copy()].map((copy) => {
      copy.perform(() => adoptRestoredCopy(journal(NOW)));
      return { copy, link: copy.perform(linkState) };
    });
    const up = { bulk: { hw: 0, tail: null }, hot: { hw: 1, tail: "record" } };
    const of = { sess: 1, epoch: "e", ct: NOW, up, resync: null, credit: { frames: 1, bytes: 1 } };
    const welcome: Welcome = { t: "welcome", ...of, inc: one?.link.inc as number };
    expect(other?.copy.perform(() => acceptWelcome(welcome, journal(NOW)))).toBe("restored");
    expect(one?.copy.perform(() => acceptWelcome(welcome, journal(NOW)))).toBe("live");
  });

  it("does not trust the time that it brought along", () => {
    const site = siteWith("record");
    site.perform(function* () {
      yield* put(LINK, { ...(yield* linkState()), ct: NOW, ctWall: NOW });
    });
    site.perform(() => adoptRestoredCopy(journal(NOW)));
    expect(site.perform(() => keptTime(NOW + 1_000))).toBeNull();
  });
});

describe("an image of an appliance's disk, of which nobody tells it", () => {
  let site: MemoryStore;
  let cloud: MemoryStore;
  const write = (type: string, id: string, note: string) =>
    site.perform(function* () {
      const [before, after] = [yield* shownRow(type, id), { id, note }];
      yield* applyRow(type, id, after);
      yield* recordLocalWrite({ type, id, before, after, actor: "a", at: NOW, newId }, TYPES);
    });
  /** Connects, and sends so many pages; no acknowledgement arrives. */
  const send = (pages: number): void => {
    const hello = site.perform(() => makeHello(TYPES.fromCloud, LIMITS.credit));
    const { welcome } = cloud.perform(() => admit(hello, NOW, LIMITS.credit));
    const accept = () => site.perform(() => acceptWelcome(welcome, journal(NOW)));
    let verdict = accept();
    while (verdict === "more") verdict = accept();
    expect(verdict).toBe("live");
    let from = welcome.up.bulk.hw;
    for (let turn = 0; turn < pages; turn += 1) {
      const page = site.perform(() => nextPage("bulk", from, { ...LIMITS, pageRows: 3 }))?.frame;
      if (!page) return;
      const by = { endpoint: "site-a", sess: welcome.sess };
      expect(cloud.perform(() => takePage(page, by, TYPES, NOW)).verdict).toBe("taken");
      from = page.to;
    }
  };
  const held = (): unknown[] => ["panels/p", "reports/r", "reports/last"].map((key) => cloud.rows.get(key)?.note);

  beforeEach(() => {
    site = createMemoryStore(CATALOGUE);
    cloud = createMemoryStore(CATALOGUE);
    site.perform(() => prepareLink("site-a", TYPES.fingerprint));
    cloud.perform(() => prepareHub("first"));
    write("panels", "p", "then");
    write("reports", "r", "begun");
    write("reports", "last", "seen");
  });

  it("tells of the rows whose records went as overtaken, which the image doesn't know", () => {
    const image = site.copy();
    write("panels", "p", "now");
    write("reports", "r", "ended");
    send(1);
    expect(held()).toEqual([undefined, undefined, "seen"]);
    site = image;
    send(100);
    expect(held()).toEqual(["then", "begun", "seen"]);
    const { bulkSeq } = site.perform(linkState);
    send(100);
    const { outBytes, ...link } = site.perform(linkState);
    const kept = site.perform(() => scan(OUT));
    expect(link).toMatchObject({ inc: 1, bulkAcked: bulkSeq });
    expect(outBytes).toBe(kept.reduce((sum, { bytes }) => sum + bytes, 0));
  });

  it("tells many again some at a time, and goes on where its process ended", () => {
    for (let at = 0; at < 1_200; at += 1) write("reports", `r${at}`, "then");
    const image = site.copy();
    send(1_000);
    site = image;
    const hello = site.perform(() => makeHello(TYPES.fromCloud, LIMITS.credit));
    const { welcome } = cloud.perform(() => admit(hello, NOW, LIMITS.credit));
    const { hw } = welcome.up.bulk;
    const open = () =>
      site.perform(() => scan(OUT, { where: ["bulk"] })).filter(({ live, oseq }) => live === 1 && oseq <= hw);
    const all = open().length;
    expect(all).toBeGreaterThanOrEqual(1_200);
    expect(site.perform(() => acceptWelcome(welcome, journal(NOW)))).toBe("more");
    expect(open().length).toBe(all - 500);
    write("reports", "r7", "meanwhile");
    write("reports", "r1199", "meanwhile");
    site = site.copy();
    send(0);
    const again = site.perform(() => scan(OUT, { where: ["bulk"], after: hw })).filter(({ live }) => live === 1);
    // One of them was overtaken before it was its turn, and goes as the newer one alone.
    expect(new Set(again.map(({ id }) => id)).size).toBe(all);
    expect(again.filter(({ id }) => id === "r1199").length).toBe(1);
    expect([open(), site.perform(linkState).bulkAcked]).toEqual([[], hw]);
    send(1_000);
    const notes = ["r7", "r8", "r1198", "r1199"].map((id) => cloud.rows.get(`reports/${id}`)?.note);
    expect(notes).toEqual(["meanwhile", "then", "then", "meanwhile"]);
  });

  it("tells no row's older record behind its newer one, as of a ledger that was told twice", () => {
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

  it("is not what an appliance is whose acknowledgement was lost: what the cloud took, it does not write again", () => {
    send(1);
    expect(held()).toEqual(["then", "begun", "seen"]);
    cloud.perform(() => applyRow("reports", "r", null));
    send(100);
    expect(held()).toEqual(["then", undefined, "seen"]);
  });
});

describe("a wrong clock", () => {
  it("that stood before the kept time is not believed when it is right again", () => {
    const site = siteWith("record");
    site.perform(function* () {
      yield* put(LINK, { ...(yield* linkState()), ct: NOW, ctWall: NOW + 360_000 });
    });
    expect(site.perform(() => keptTime(NOW + 400_000))).toEqual({ ct: NOW, wall: NOW + 360_000 });
    expect(site.perform(() => keptTime(0))).toBeNull();
    expect(site.perform(() => keptTime(NOW + 400_000))).toBeNull();
  });

  it("that is set while the process runs does not move the cloud's time", () => {
    const at = { wall: NOW, mono: 0 };
    const time = createCloudTime({ now: () => at.wall, monotonicMs: () => at.mono }, { ct: NOW, wall: NOW - 60_000 });
    const before = time.latest() as number;
    at.wall -= 50_000;
    at.mono += 1_000;
    expect(time.latest()).toBeGreaterThanOrEqual(before + 1_000);
    expect(time.heard()).toBeNull();
    time.told(NOW + 62_000, 1_000);
    expect(time.latest()).toBe(NOW + 62_000);
  });

  it("makes nothing old: commands and records are forgotten thirty days later by the cloud's time alone", () => {
    const site = siteWith("record");
    const command: Command = {
      ...{ cid: "c", kind: "cancel", class: "emergency", notAfter: NOW, rank: 0, term: 0, ref: "d", body: {} },
    };
    site.perform(() => receiveCommand({ t: "cmd", cseq: 1, command }, journal(0)));
    site.perform(() => enqueue("hot", { uid: "next", op: "p", type: "outcome", id: "c", body: {}, at: 0 }));
    site.perform(function* () {
      yield* put(LINK, { ...(yield* linkState()), hotAcked: 3 });
    });
    const left = (cloudTime: number | null) => {
      site.perform(() => forgetOld(cloudTime));
      return [site.perform(() => scan(INBOX)).length, site.perform(() => scan(OUT)).map(({ oseq }) => oseq)];
    };
    for (const time of [null, NOW, NOW + 29 * DAY_MS]) expect(left(time)).toEqual([2, [1, 2, 3]]);
    // The newest that arrived stays, by which a restore is found out.
    expect(left(NOW + 32 * DAY_MS)).toEqual([0, [3]]);
  });
});
