import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from "vitest";
import { openTenantDatabase, type TenantDatabase } from "../../../src/ha/tenant-database.ts";
import { openTenantHosts } from "../../../src/ha/tenant-hosts.ts";
import { readTenantOverviews } from "../../../src/ha/tenant-overview.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { admitSite } from "../../../src/sync/hub/handshake.ts";
import { PRESENCES } from "../../../src/sync/hub/presence-store.ts";
import { initializeFeed, publishRows, readFeedHead } from "../../../src/sync/hub/publish.ts";
import { FEED_RECORDS, LINK_RECORDS, UNIQUE_NAMES } from "../../../src/sync/hub/tables.ts";
import { HUB_COLLECTIONS } from "../../../src/sync/storage/collections.ts";
import {
  collectionTables,
  createSqliteProgramRunner,
  type SqliteProgramRunner,
} from "../../../src/sync/storage/sqlite-program-runner.ts";
import {
  getRecord,
  listProductIds,
  readProductRow,
  scanRecords,
} from "../../../src/sync/storage/transaction-program.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { externalProgram } from "../../support/external-programs.ts";
import { type LeaderNode, startLeaderNode } from "../../support/leader-node.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { BY, CREDIT, HELLO, type OpenPort, room, storePort, TYPES } from "./shared-log-contract.ts";

const postgres = externalProgram("pg_ctlcluster");
const TABLES = collectionTables([...HUB_COLLECTIONS, PRESENCES as never]);
const fail = (error: unknown): never => {
  throw error;
};
/** A node of a cloud: its way to the database, and its copy of the rows. */
interface Node {
  organisation: TenantDatabase;
  store: Store;
  work: SqliteProgramRunner;
  dir: string;
}

postgres.describe("tenant database", () => {
  let server: TestPostgres;
  const nodes: Node[] = [];
  let number = 0;
  let name = "";
  beforeAll(async () => {
    server = await startPostgres();
  }, 120_000);
  afterAll(() => server?.stop());
  beforeEach(() => {
    number += 1;
    name = `organisation ${number}`;
  });
  afterEach(async () => {
    for (const { store, organisation } of nodes.splice(0)) {
      await store.close();
      await organisation.close();
    }
  });

  async function node(called: string, isFollower = false): Promise<Node> {
    const dir = makeTempDir();
    const of = { url: server.url, name, node: called, filesDir: join(dir, "files"), version: "1.0.0" };
    const organisation = await openTenantDatabase({ ...of, clock: systemClock, onFault: () => undefined });
    if (!isFollower) await organisation.leadership.acquire(new AbortController().signal);
    const store = openStore({
      ...{ dataDir: dir, inMemory: true, catalogue: CATALOGUE, tables: TABLES, clock: systemClock },
      ...{ events: createEvents(fail), log: silentLog, onFatal: fail, shared: organisation.log, isFollower },
    });
    const made = { organisation, store, dir, work: createSqliteProgramRunner(store, CATALOGUE, BY, () => null) };
    nodes.push(made);
    return made;
  }

  describe("fulfils the contract of the shared log", () => {
    let process = 0;
    async function open(): Promise<OpenPort> {
      process += 1;
      const { store, work, organisation } = await node(`process ${process}`);
      await store.shared?.catchUp();
      await organisation.files.fetchMissing();
      return {
        ...{ store, work },
        async next() {
          nodes.pop();
          await store.close();
          await organisation.close();
          // Elsewhere, in a folder where nothing lies.
          return open();
        },
      };
    }
    storePort(open);
  });

  postgres.it("replicates rows to the other node", async () => {
    const one = await node("one");
    await one.work.transact(() => initializeFeed("epoch"));
    await one.work.transact(() => publishRows([room("a", "Hall"), room("b", "Yard")], TYPES));
    await one.work.transact(() => publishRows([{ ...room("a", "Yard 2"), at: 2 }], TYPES));
    await one.work.transact(() => publishRows([{ ...room("b", "Hall"), at: 3 }], TYPES));
    await one.work.transact(() => publishRows([{ ...room("a", ""), body: null }], TYPES));
    const other = await node("other", true);
    await other.store.shared?.catchUp();
    const seen = ({ work }: Node) => [
      work.readSync(() => scanRecords(FEED_RECORDS)),
      work.readSync(() => scanRecords(UNIQUE_NAMES)),
      work.readSync(readFeedHead),
    ];
    expect(seen(other)).toEqual(seen(one));
    expect(other.work.readSync(() => readProductRow("rooms", "a"))).toBeNull();
    expect(other.work.readSync(() => readProductRow("rooms", "b"))).toMatchObject({ name: "Hall" });
    // Internal keys are the same on all nodes.
    const keys = ({ store }: Node) => store.all("SELECT pk, id FROM rooms");
    expect(keys(other)).toEqual(keys(one));
  });

  postgres.it("lists organisations with their nodes and appliances", async () => {
    const one = await node("one");
    await node("other", true);
    await one.work.transact(() => initializeFeed("epoch"));
    await one.work.transact(() => admitSite(HELLO, 1, CREDIT));
    await one.work.transact(() => publishRows([room("a", "Hall")], TYPES));
    await one.store.write((tx) => {
      tx.run(`INSERT INTO ${PRESENCES.name} (endpoint, version, "since", heardAt) VALUES ('site', '1.0.0', 1, 2)`);
    });
    const hosts = await openTenantHosts(server.url, systemClock);
    await hosts.assign(name, `North-${number}.example.org.`);
    const found = (await readTenantOverviews(server.url, systemClock)).find((each) => each.name === name);
    expect(found).toEqual({
      ...{ name, host: `north-${number}.example.org`, version: "1.0.0" },
      nodes: [
        { name: "one", acts: true },
        { name: "other", acts: false },
      ],
      appliances: [{ endpointId: "site", name: null, version: "1.0.0", heardAt: 2, health: null, behind: 1 }],
    });
    await hosts.close();
  });

  postgres.it("keeps all rows of a large write while another write is requested and released", async () => {
    const { log } = (await node("one")).organisation;
    const rows = Array.from({ length: 6_001 }, (_, at) => ({ table: "rooms", key: `[${at}]`, image: "{}" }));
    const first = await log.acquireWriteLock(0);
    const second = log.acquireWriteLock(0).then((turn) => turn.release());
    expect(await first.publish(rows)).toBe(rows.length);
    await second;
    let [found, at] = [0, 0];
    for (let more = true; more; ) {
      const news = await log.readAfter(at);
      [found, at, more] = [found + news.rows.length, news.at, news.more];
    }
    expect([found, at]).toEqual([rows.length, rows.length]);
  });

  postgres.it("sends one query at a time to the driver", async () => {
    const { organisation } = await node("one");
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on("warning", note);
    await Promise.all(Array.from({ length: 5 }, () => organisation.readHead()));
    // A warning is told after what is under way.
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", note);
    expect(warnings.map(String)).toEqual([]);
  });

  postgres.it("assigns each host name to one organisation", async () => {
    const hosts = await openTenantHosts(server.url, systemClock);
    const own = async () => (await hosts.list()).filter((each) => each.name.startsWith(name));
    await hosts.assign(name, "first.example.org");
    await hosts.assign(name, "second.example.org");
    expect(await own()).toEqual([{ name, host: "second.example.org" }]);
    await expect(hosts.assign(`${name} b`, "second.example.org")).rejects.toThrow(
      "already belongs to another organisation",
    );
    for (const host of ["", "10.0.0.1", "a b", "-a.example.org", "a..org", "a/b", "a.0x1", "a.0x"])
      await expect(hosts.assign(`${name} b`, host)).rejects.toThrow("is not a valid host name");
    await expect(hosts.assign("", "third.example.org")).rejects.toThrow("1 to 100 characters");
    // Who was refused was not begun either.
    const known = (await readTenantOverviews(server.url, systemClock)).map((each) => each.name);
    expect(known.filter((each) => each.startsWith(name))).toEqual([name]);
    await hosts.release(name);
    expect(await own()).toEqual([]);
    await expect(hosts.release(name)).rejects.toThrow("has no host name");
    await hosts.close();
  });

  postgres.it(
    "lets only the leader write: a replaced leader keeps nothing and receives the rows of the new one",
    async () => {
      const one = await node("one");
      await one.work.transact(() => initializeFeed("epoch"));
      const lost = one.organisation.leadership.lost();
      const next = await node("next", true);
      const hello = { ...HELLO, endpoint: "site" };
      await one.work.transact(() => admitSite(hello, 1, CREDIT));
      // As if the network had cut the first one off.
      await takeLock(name);
      await expect(one.work.transact(() => publishRows([room("a", "Late")], TYPES))).rejects.toThrow(
        "Another node is the leader",
      );
      await lost;
      expect(one.work.readSync(() => readProductRow("rooms", "a"))).toBeNull();
      expect(one.work.readSync(readFeedHead).seq).toBe(0);
      await next.store.shared?.catchUp();
      expect(next.work.readSync(() => getRecord(LINK_RECORDS, "site"))?.sess).toBe(1);
    },
  );

  postgres.it(
    "waits for a restarted database and writes nothing twice",
    async () => {
      const one = await node("one");
      await one.work.transact(() => initializeFeed("epoch"));
      await server.restart("crash");
      // On a slow machine some are refused before the server is back.
      const rows = Promise.allSettled(
        Array.from({ length: 20 }, (_, at) =>
          one.work.transact(() => publishRows([room(`r${at}`, `Room ${at}`)], TYPES)),
        ),
      );
      await server.restart("fast");
      const kept = (await rows).flatMap(({ status }, at) => (status === "fulfilled" ? [`r${at}`] : []));
      await one.work.transact(() => publishRows([room("last", "Last")], TYPES));
      const other = await node("other", true);
      await other.store.shared?.catchUp();
      const there = other.work.readSync(() => listProductIds("rooms", null, 100));
      expect(there).toEqual(expect.arrayContaining([...kept, "last"]));
      expect(there).toEqual(one.work.readSync(() => listProductIds("rooms", null, 100)));
      expect(other.work.readSync(() => scanRecords(FEED_RECORDS)).length).toBe(there.length);
      expect(one.organisation.leadership.term).toBe(1);
    },
    60_000,
  );

  postgres.it("separates organisations by sequence numbers, files and settings", async () => {
    const one = await node("one");
    const bytes = Buffer.from("a file");
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(join(one.dir, "sound"), bytes);
    await one.organisation.log.storeFile(sha256, join(one.dir, "sound"));
    await one.organisation.proposeSetting("key", "first");
    await one.work.transact(() => initializeFeed("epoch"));
    const mate = await node("mate", true);
    await mate.organisation.files.fetchMissing();
    expect(readFileSync(join(mate.dir, "files", sha256.slice(0, 2), sha256))).toEqual(bytes);
    expect(await mate.organisation.proposeSetting("key", "second")).toBe("first");
    name = `${name}, another one`;
    const other = await node("other");
    await other.organisation.files.fetchMissing();
    expect(existsSync(join(other.dir, "files"))).toBe(false);
    expect(await other.organisation.readHead()).toMatchObject({ seq: 0, version: null });
    expect(await other.organisation.readSetting("key")).toBeNull();
  });

  postgres.it("prunes old tombstones and raises the floor for replicas that were away longer", async () => {
    const one = await node("one");
    await one.work.transact(() => initializeFeed("epoch"));
    for (const id of ["a", "b"]) await one.work.transact(() => publishRows([room(id, id)], TYPES));
    for (const id of ["a", "b"]) await one.work.transact(() => publishRows([{ ...room(id, id), body: null }], TYPES));
    await one.organisation.pruneTombstones(1);
    const { floor, seq } = await one.organisation.readHead();
    expect([floor > 0, floor < seq]).toEqual([true, true]);
    const fresh = await node("fresh", true);
    await fresh.store.shared?.catchUp();
    expect(fresh.work.readSync(() => scanRecords(FEED_RECORDS))).toEqual(
      one.work.readSync(() => scanRecords(FEED_RECORDS)),
    );
  });

  postgres.it("writes again after a lock timeout", async () => {
    const one = await node("one");
    await one.work.transact(() => initializeFeed("epoch"));
    const other = await connected();
    await other.query("BEGIN; SELECT 1 FROM carillon_organisations FOR UPDATE");
    const refused = expect(one.work.transact(() => publishRows([room("a", "Hall")], TYPES))).rejects.toThrow("cancel");
    const breakOff = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while ((await other.query(breakOff)).rowCount === 0);
    await refused;
    await other.end();
    await one.work.transact(() => publishRows([room("b", "Yard")], TYPES));
    expect(one.work.readSync(() => listProductIds("rooms", null, 10))).toEqual(["b"]);
  });

  postgres.it(
    "starts a new history after a restore, and rebuilds older replicas",
    async () => {
      const home = makeTempDir();
      const north = await joined(join(home, "north"));
      await north.database.transact(() => initializeFeed("first"));
      await north.note("before");
      const bringBack = await backUp();
      await north.note("after");
      await north.end();
      mkdirSync(join(home, "south"));
      copyFileSync(join(home, "north", "secret-key"), join(home, "south", "secret-key"));
      const south = await joined(join(home, "south"));
      expect(south.notes()).toEqual(["after", "before"]);
      await south.end();
      await bringBack();
      await expect(joined(join(home, "north"))).rejects.toThrow("The database is older than the replica");
      const restored = await joined(join(home, "north"), true);
      expect(restored.notes()).toEqual(["before"]);
      expect(restored.database.readSync(readFeedHead).epoch).not.toBe("first");
      // So that numbers are higher than those of the other copy.
      for (const word of ["later", "last"]) await restored.note(word);
      await restored.end();
      const again = await joined(join(home, "south"));
      expect(again.notes()).toEqual(["before", "last", "later"]);
      await again.end();
    },
    60_000,
  );

  postgres.it(
    "rebuilds a replica that is below the floor",
    async () => {
      const [north, south] = [join(makeTempDir(), "north"), makeTempDir()];
      const acting = await joined(north);
      for (const word of ["vanishing", "here"]) await acting.note(word);
      copyFileSync(join(north, "secret-key"), join(south, "secret-key"));
      const following = joined(south);
      const client = await connected();
      await expect.poll(() => isIn(south, "vanishing"), { timeout: 30_000 }).toBe(true);
      // In one statement: a row is removed, and that it was is forgotten at once.
      await client.query(
        `WITH own AS (UPDATE carillon_organisations SET seq = seq + 1, floor = seq + 1 WHERE name = $1 RETURNING id)
       DELETE FROM carillon_rows USING own WHERE organisation = own.id AND tab = $2 AND key LIKE '%"vanishing"%'`,
        [name, UNIQUE_NAMES.name],
      );
      await client.end();
      await acting.end();
      const then = await following;
      expect(then.notes()).toEqual(["here"]);
      await then.end();
    },
    60_000,
  );

  postgres.it(
    "is not followed by a node of an earlier version, whose replica is rebuilt after the upgrade",
    async () => {
      const [north, south] = [join(makeTempDir(), "north"), makeTempDir()];
      const acting = await joined(north);
      await acting.note("before");
      copyFileSync(join(north, "secret-key"), join(south, "secret-key"));
      const refused = expect(joined(south)).rejects.toThrow("Upgrade this node first");
      await expect.poll(() => existsSync(join(south, "copy-of")), { timeout: 30_000 }).toBe(true);
      const client = await connected();
      await client.query("UPDATE carillon_organisations SET version = '999.0.0' WHERE name = $1", [name]);
      await client.end();
      await refused;
      expect(existsSync(join(south, "carillon.db"))).toBe(false);
      await acting.end();
    },
  );

  const joined = (dataDir: string, isRestored = false): Promise<LeaderNode> =>
    startLeaderNode({ url: server.url, organisation: name, dataDir, isRestored });

  /** A process that has it open lets nobody else in. */
  function isIn(dataDir: string, word: string): boolean {
    const paths = ["carillon.db", "carillon.db-wal"].map((file) => join(dataDir, file)).filter(existsSync);
    return paths.some((path) => readFileSync(path).includes(word));
  }

  /** Keeps the organisation's rows as they are; what is given puts them back. */
  async function backUp(): Promise<() => Promise<void>> {
    const client = await connected();
    const own = "organisation = (SELECT id FROM carillon_organisations WHERE name = $1)";
    await client.query("CREATE TEMP TABLE kept AS SELECT * FROM carillon_rows WITH NO DATA");
    await client.query(`INSERT INTO kept SELECT * FROM carillon_rows WHERE ${own}`, [name]);
    return async () => {
      await client.query(`DELETE FROM carillon_rows WHERE ${own}`, [name]);
      await client.query("INSERT INTO carillon_rows SELECT * FROM kept");
      const last = "SELECT max(seq) FROM kept";
      await client.query(`UPDATE carillon_organisations SET seq = (${last}) WHERE name = $1`, [name]);
      await client.end();
    };
  }

  async function connected() {
    const { Client } = (await import("pg")).default;
    const client = new Client({ connectionString: server.url });
    await client.connect();
    return client;
  }

  async function takeLock(of: string): Promise<void> {
    const client = await connected();
    await client.query("UPDATE carillon_organisations SET term = term + 1 WHERE name = $1", [of]);
    await client.end();
  }
});
