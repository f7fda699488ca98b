import { expect, it } from "vitest";
import { fullScope } from "../../../src/store/full-scope.ts";
import type { Store } from "../../../src/store/store.ts";
import { admitSite } from "../../../src/sync/hub/handshake.ts";
import { initializeFeed, publishRows, readFeedHead } from "../../../src/sync/hub/publish.ts";
import { FEED_RECORDS, LINK_RECORDS, UNIQUE_NAMES } from "../../../src/sync/hub/tables.ts";
import { applyUpstreamPage } from "../../../src/sync/hub/upstream-feed.ts";
import type { SyncHello, UpstreamPage } from "../../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import type { SqliteProgramRunner } from "../../../src/sync/storage/sqlite-program-runner.ts";
import {
  getRecord,
  listProductIds,
  readProductRow,
  scanRecords,
} from "../../../src/sync/storage/transaction-program.ts";
import { CATALOGUE } from "../../sim/resources.ts";

export const TYPES = readReplicatedTypes(CATALOGUE);
/** Who writes what the other side sent. */
export const BY = {
  actor: { kind: "system", userId: null, name: "replication", address: null },
  scope: fullScope(() => null),
} as const;
export const CREDIT = { frames: 4, bytes: 65_536 };
export const HELLO: SyncHello = {
  ...{ t: "hello", v: 1, endpoint: "site", inc: 1, oseq: { bulk: 0, hot: 0 }, epoch: null, recv: 0, applied: 0 },
  ...{ fresh: false, snap: null, cmdHw: 0, decided: 0, types: ["rooms"], credit: CREDIT },
};

/** A room as the cloud publishes it. */
export const room = (id: string, name: string) => ({
  ...{ type: "rooms", id, scope: null, at: 1 },
  body: { id, name, note: "n" },
});

/** A cloud's store in a process that has the right to write. */
export interface OpenPort {
  store: Store;
  work: SqliteProgramRunner;
  /** Ends that process, and gives what the one after it has. */
  next(): Promise<OpenPort>;
}

/** What every store of a cloud does, wherever its rows lie; `open` gives an empty one. */
export function storePort(open: () => Promise<OpenPort>): void {
  const begun = async (): Promise<OpenPort> => {
    const port = await open();
    await port.work.transact(() => initializeFeed("epoch"));
    return port;
  };
  const feed = ({ work }: OpenPort) => work.readSync(() => scanRecords(FEED_RECORDS));
  const numbers = (port: OpenPort) =>
    Object.fromEntries(feed(port).map(({ id, seq }) => [id, seq])) as Record<string, number>;

  it("commits concurrent writes separately, and nothing of a failed one", async () => {
    const port = await begun();
    const [first, failed, last] = await Promise.allSettled([
      port.work.transact(() => publishRows([room("a", "Hall")], TYPES)),
      port.work.transact(function* () {
        yield* publishRows([room("b", "Yard")], TYPES);
        throw new Error("No more.");
      }),
      port.work.transact(() => publishRows([room("c", "Yard")], TYPES)),
    ]);
    expect([first.status, failed.status, last.status]).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(numbers(port)).toEqual({ a: 1, c: 2 });
    expect(port.work.readSync(() => listProductIds("rooms", null, 10))).toEqual(["a", "c"]);
  });

  it("numbers writes in order without gaps, and keeps all acknowledged ones", async () => {
    const port = await begun();
    const writes = Array.from({ length: 12 }, async (_, at) => {
      const id = `r${String(at).padStart(2, "0")}`;
      await port.work.transact(() => publishRows([room(id, `Room ${at}`), room(`${id}x`, `Room ${at} x`)], TYPES));
      return (await port.work.read(() => getRecord(FEED_RECORDS, "rooms", id)))?.seq;
    });
    expect(await Promise.all(writes)).toEqual(Array.from({ length: 12 }, (_, at) => 2 * at + 1));
    expect(
      feed(port)
        .map(({ seq }) => seq)
        .sort((a, b) => a - b),
    ).toEqual(Array.from({ length: 24 }, (_, at) => at + 1));
    expect(port.work.readSync(readFeedHead).seq).toBe(24);
  });

  it("runs an emergency write before waiting ones", async () => {
    const port = await begun();
    const one = (id: string, lane: "normal" | "emergency") =>
      port.work.transact(() => publishRows([room(id, id)], TYPES), lane);
    await Promise.all([one("a", "normal"), one("b", "normal"), one("c", "emergency")]);
    expect(numbers(port)).toEqual({ c: 1, a: 2, b: 3 });
  });

  it("enforces unique names, and lets the second row wait", async () => {
    const port = await begun();
    expect(await port.work.transact(() => publishRows([room("a", "Hall"), room("b", "Hall")], TYPES))).toEqual([
      "done",
      "wait",
    ]);
    const rooms = CATALOGUE.byName("rooms");
    await expect(port.store.create(rooms, { name: "Hall" }, BY)).rejects.toMatchObject({ type: "conflict" });
    await port.work.transact(() => publishRows([{ ...room("a", ""), body: null }, room("b", "Hall")], TYPES));
    expect(port.work.readSync(() => readProductRow("rooms", "b"))).toMatchObject({ name: "Hall" });
    expect(port.work.readSync(() => scanRecords(UNIQUE_NAMES))).toHaveLength(1);
  });

  it("fences a connection by a newer one, and applies a page once", async () => {
    const port = await begun();
    const page: UpstreamPage = {
      ...{ t: "rows", feed: "up.bulk", from: 0, to: 1, tail: "u1" },
      rows: [["p", "reports", "r", 1, "u1", { id: "r", note: "seen" }]],
    };
    const take = async (sess: number) =>
      (await port.work.transact(() => applyUpstreamPage(page, { endpoint: "site", sess }, TYPES, 1))).result;
    await port.work.transact(() => admitSite(HELLO, 1, CREDIT));
    await port.work.transact(() => admitSite(HELLO, 2, CREDIT));
    expect([await take(1), await take(2), await take(2)]).toEqual(["fenced", "taken", "gap"]);
    expect(port.work.readSync(() => getRecord(LINK_RECORDS, "site"))).toMatchObject({
      sess: 2,
      bulkHw: 1,
      bulkTail: "u1",
    });
  });

  it("restores rows, numbers and internal keys in the next process", async () => {
    const port = await begun();
    const rows = [room("a", "Hall"), room("b", "Yard"), room("c", "Gate")];
    await port.work.transact(() => publishRows(rows, TYPES));
    const keys = ({ store }: OpenPort) => store.all<{ pk: number; id: string }>("SELECT pk, id FROM rooms ORDER BY pk");
    await port.work.transact(() => publishRows([{ ...room("c", ""), body: null }], TYPES));
    const before = { feed: feed(port), head: port.work.readSync(readFeedHead), keys: keys(port) };
    const next = await port.next();
    expect({ feed: feed(next), head: next.work.readSync(readFeedHead), keys: keys(next) }).toEqual(before);
    await next.work.transact(() => publishRows([room("d", "Gate")], TYPES));
    expect(numbers(next).d).toBe(5);
  });

  it("restores referenced files in the next process", async () => {
    const port = await begun();
    const bytes = Buffer.from("a sound");
    const how = { fileName: "sound", maxBytes: 100, types: ["*/*"] };
    const upload = await port.store.files.put([bytes] as unknown as AsyncIterable<Uint8Array>, how);
    await port.store.create(CATALOGUE.byName("lists"), { note: "n", sound: upload }, BY);
    port.store.files.release(upload, true);
    const next = await port.next();
    expect(await next.store.files.read(upload.file)).toEqual(bytes);
  });
}
