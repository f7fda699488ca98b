import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newId } from "../../../src/base/ids.ts";
import { type Command, type Frame, LIMITS, type OrderKind } from "../../../src/replication/frames.ts";
import { createHub, type Hub } from "../../../src/replication/hub/hub.ts";
import { LEASES } from "../../../src/replication/hub/tables.ts";
import { replicatedTypes } from "../../../src/replication/replicated-types.ts";
import { ACTIVITY_TYPE } from "../../../src/replication/site/activities.ts";
import { createSite, type Site } from "../../../src/replication/site/site.ts";
import { LINK } from "../../../src/replication/site/tables.ts";
import { type Body, get, scan, type WorkStore } from "../../../src/replication/work.ts";
import { createMemoryBlobs } from "../../sim/memory-blobs.ts";
import { createMemoryStore, type MemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";

const TYPES = replicatedTypes(CATALOGUE);
const ORDERED = "0190b1c0-0000-7000-8000-000000000001";

describe("an appliance and its cloud", () => {
  let clock: FakeClock;
  let [cloud, own]: [MemoryStore, MemoryStore] = [] as never;
  let hub: Hub;
  let site: Site;
  let played: string[];
  let faults: string[];
  let closed: string | null;
  let toSite: (value: unknown) => void;
  let toCloud: (value: unknown) => void;
  const storeOf = (memory: MemoryStore): WorkStore => ({
    transact: async (work) => memory.perform(work),
    read: async (work) => memory.perform(work),
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
  };
  const connect = async (): Promise<void> => {
    closed = null;
    const end = (code: string): void => {
      closed ??= code;
    };
    const wire = { send: (frame: Frame) => setImmediate(() => toCloud(frame)), close: end };
    const session = hub.connected(
      { send: (frame) => setImmediate(() => site.frame(wire, frame)), close: end },
      "site-a",
    );
    toCloud = session.frame;
    toSite = (value) => site.frame(wire, value);
    site.connected(wire);
    await settle();
  };
  const activities = (): Body[] =>
    [...own.rows].flatMap(([key, body]) => (key.startsWith(`${ACTIVITY_TYPE}/`) ? [body] : []));
  const told = (type: string): Body | undefined => activities().find((body) => body.type === type);
  const order = async (kind: OrderKind): Promise<void> => {
    const of = { cid: ORDERED, kind, class: "admin", notAfter: clock.now() + 86_400_000 } as const;
    const command: Command = { ...of, rank: 0, term: 0, ref: null, body: {} };
    await hub.command([{ endpoint: "site-a", command }]);
    await settle();
  };

  beforeEach(async () => {
    clock = createFakeClock();
    [cloud, own] = [createMemoryStore(CATALOGUE), createMemoryStore(CATALOGUE)];
    [played, faults] = [[], []];
    const fault = (error: unknown): void => void faults.push(String(error));
    const common = { clock, types: TYPES, limits: LIMITS, newId, onFault: fault };
    hub = createHub({
      ...{ ...common, store: storeOf(cloud), blobs: createMemoryBlobs() },
      onBadPeer: (endpoint, reason) => faults.push(`${endpoint}: ${reason}`),
      isInGroup: (endpoint, group) => endpoint === "site-a" && group === "own",
    });
    site = createSite({
      ...{ ...common, store: storeOf(own), blobs: createMemoryBlobs(), endpoint: "site-a", about: { site: "site-a" } },
      ...{ groups: () => [], hasContact: () => false, onMark() {}, onMismatch() {}, onLease() {}, onTrouble() {} },
      resumed: () => "interrupted",
      play(command, on) {
        played.push(command.kind);
        on.ended(command.kind === "upgrade" ? "failed" : "done", { file: "a.zip" });
        return () => undefined;
      },
    });
    await hub.start();
    await site.start();
    await connect();
  });
  afterEach(() => {
    site.stop();
    hub.stop();
  });

  it("carries an order out, says what became of it, and tells it under the id of the order", async () => {
    await order("backup");
    expect(played).toEqual(["backup"]);
    expect(await hub.outcomes(ORDERED)).toEqual({ "site-a": "done" });
    const row = own.rows.get(`${ACTIVITY_TYPE}/${ORDERED}`);
    expect(row).toMatchObject({ type: "backup", state: "success", severity: "info", value: { file: "a.zip" } });
  });

  it("tells an order that failed as failed", async () => {
    await order("upgrade");
    expect(await hub.outcomes(ORDERED)).toEqual({ "site-a": "failed" });
    expect(own.rows.get(`${ACTIVITY_TYPE}/${ORDERED}`)).toMatchObject({ type: "upgrade", state: "fail" });
  });

  it.each(["full-resync", "replication-queue-reset"] as const)(
    "has done a %s once all rows came anew",
    async (kind) => {
      await hub.publish([{ type: "people", id: "p", body: { id: "p", note: "" }, scope: null, at: 0 }]);
      await settle();
      await order(kind);
      expect([played, closed]).toEqual([[], "restored"]);
      expect(await hub.outcomes(ORDERED)).toEqual({ "site-a": null });
      await connect();
      expect(await hub.outcomes(ORDERED)).toEqual({ "site-a": "done" });
      expect(told("full-resync")).toMatchObject({ state: "success", severity: "warn" });
      expect(own.rows.get(`${ACTIVITY_TYPE}/${ORDERED}`)).toMatchObject({ type: kind, state: "success" });
    },
  );

  it("cleans up by order", async () => {
    await order("replication-clean-up");
    expect(await hub.outcomes(ORDERED)).toEqual({ "site-a": "done" });
    expect(told("replication-clean-up")).toMatchObject({ state: "success", value: { freedBytes: 0 } });
  });

  it("tells of rows by sums that are fewer than the rows", async () => {
    const rows = Array.from({ length: 40 }, (_, at) => ({ type: "people", id: `p${at}`, scope: null, at: 0 }));
    for (const row of rows) await hub.publish([{ ...row, body: { id: row.id, note: "" } }]);
    await settle();
    await hub.publish(rows.slice(0, 10).map((row) => ({ ...row, body: null })));
    await settle();
    expect(told("message-dependency-sync")).toMatchObject({ state: "success", value: { rows: 50 } });
    expect(told("syncer-startup")).toMatchObject({ value: { times: 1 } });
    expect(activities().length).toBeLessThan(5);
  });

  it.each([
    ["the cloud", () => toSite({ t: "rows", feed: "down.bulk", from: 0, to: 1, rows: "all" }), /no frame: rows: rows:/],
    ["an appliance", () => toCloud({ t: "ping", t0: "now", groups: [] }), /site-a: ping: t0:/],
  ])("closes the connection when %s sends what is no frame, and nothing changes", async (_, send, words) => {
    const before = [own.perform(() => get(LINK, "link")), own.rows.size, cloud.rows.size];
    send();
    await settle();
    expect([closed, faults]).toEqual(["schema", [expect.stringMatching(words)]]);
    expect([own.perform(() => get(LINK, "link")), own.rows.size, cloud.rows.size]).toEqual(before);
  });

  it("gives no lease of a group that an appliance is not in", async () => {
    toCloud({ t: "ping", t0: 1, groups: ["own", "other"] });
    await settle();
    expect(cloud.perform(() => scan(LEASES)).map(({ group, holder }) => [group, holder])).toEqual([["own", "site-a"]]);
  });

  it("does not let an appliance in as another one", async () => {
    const hello = { t: "hello", v: 1, endpoint: "site-b", inc: 1, oseq: { bulk: 0, hot: 0 }, epoch: null, recv: 0 };
    const rest = {
      applied: 0,
      snap: null,
      cmdHw: 0,
      decided: 0,
      fresh: false,
      types: [],
      credit: { frames: 1, bytes: 1 },
    };
    const sent: Frame[] = [];
    hub.connected({ send: (frame) => sent.push(frame), close() {} }, "site-a").frame({ ...hello, ...rest });
    await settle();
    expect(sent).toEqual([{ t: "err", code: "refused", reason: "It is another endpoint." }]);
  });
});
