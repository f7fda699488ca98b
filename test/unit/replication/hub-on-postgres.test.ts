import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { createEvents } from "../../../src/base/events.ts";
import { silentLog } from "../../../src/base/log.ts";
import { HUB_COLLECTIONS } from "../../../src/replication/collections.ts";
import { openHosts } from "../../../src/replication/hub/postgres/hosts.ts";
import { type Organisation, openOrganisation } from "../../../src/replication/hub/postgres/organisation.ts";
import { overviewOf } from "../../../src/replication/hub/postgres/overview.ts";
import { head, prepareHub, publish } from "../../../src/replication/hub/publish.ts";
import { LINKS, NAMES, ROWS } from "../../../src/replication/hub/tables.ts";
import { admit } from "../../../src/replication/hub/welcome.ts";
import { PRESENCES } from "../../../src/replication/link/presence.ts";
import { createSqliteWork, type SqliteWork, tablesOf } from "../../../src/replication/sqlite-work.ts";
import { get, productIds, scan, shownRow } from "../../../src/replication/work.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { type JoinedNode, joinedNode } from "../../support/joined-node.ts";
import { peer } from "../../support/peers.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { BY, CREDIT, HELLO, type OpenPort, room, storePort, TYPES } from "./store-port.ts";

const postgres = peer("pg_ctlcluster");
const TABLES = tablesOf([...HUB_COLLECTIONS, PRESENCES as never]);
const fail = (error: unknown): never => {
  throw error;
};
/** A node of a cloud: its way to the database, and its copy of the rows. */
interface Node {
  organisation: Organisation;
  store: Store;
  work: SqliteWork;
  dir: string;
}

postgres.describe("a cloud's rows on PostgreSQL", () => {
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

  async function node(called: string, follows = false): Promise<Node> {
    const dir = makeTempDir();
    const of = { url: server.url, name, node: called, filesDir: join(dir, "files"), version: "1.0.0" };
    const organisation = await openOrganisation({ ...of, clock: systemClock, onFault: () => undefined });
    if (!follows) await organisation.acting.begin(new AbortController().signal);
    const store = openStore({
      ...{ dataDir: dir, inMemory: true, catalogue: CATALOGUE, tables: TABLES, clock: systemClock },
      ...{ events: createEvents(fail), log: silentLog, onFatal: fail, shared: organisation.log, follows },
    });
    const made = { organisation, store, dir, work: createSqliteWork(store, CATALOGUE, BY) };
    nodes.push(made);
    return made;
  }

  describe("behave as everywhere", () => {
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

  postgres.it("are at the other node as they are at the one that wrote them", async () => {
    const one = await node("one");
    await one.work.transact(() => prepareHub("epoch"));
    await one.work.transact(() => publish([room("a", "Hall"), room("b", "Yard")], TYPES));
    await one.work.transact(() => publish([{ ...room("a", "Yard 2"), at: 2 }], TYPES));
    await one.work.transact(() => publish([{ ...room("b", "Hall"), at: 3 }], TYPES));
    await one.work.transact(() => publish([{ ...room("a", ""), body: null }], TYPES));
    const other = await node("other", true);
    await other.store.shared?.catchUp();
    const seen = ({ work }: Node) => [work.peek(() => scan(ROWS)), work.peek(() => scan(NAMES)), work.peek(head)];
    expect(seen(other)).toEqual(seen(one));
    expect(other.work.peek(() => shownRow("rooms", "a"))).toBeNull();
    expect(other.work.peek(() => shownRow("rooms", "b"))).toMatchObject({ name: "Hall" });
    // Internal keys are the same on all nodes.
    const keys = ({ store }: Node) => store.all("SELECT pk, id FROM rooms");
    expect(keys(other)).toEqual(keys(one));
  });

  postgres.it("are told with those of other organisations, their nodes and appliances", async () => {
    const one = await node("one");
    await node("other", true);
    await one.work.transact(() => prepareHub("epoch"));
    await one.work.transact(() => admit(HELLO, 1, CREDIT));
    await one.work.transact(() => publish([room("a", "Hall")], TYPES));
    await one.store.write((tx) => {
      tx.run(`INSERT INTO ${PRESENCES.name} (endpoint, version, "since", heardAt) VALUES ('site', '1.0.0', 1, 2)`);
    });
    const hosts = await openHosts(server.url, systemClock);
    await hosts.name(name, `North-${number}.example.org.`);
    const found = (await overviewOf(server.url, systemClock)).find((each) => each.name === name);
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

  postgres.it("are all there although another turn is asked for, and ended, while many are brought", async () => {
    const { log } = (await node("one")).organisation;
    const rows = Array.from({ length: 6_001 }, (_, at) => ({ table: "rooms", key: `[${at}]`, image: "{}" }));
    const first = await log.begin(0);
    const second = log.begin(0).then((turn) => turn.release());
    expect(await first.publish(rows)).toBe(rows.length);
    await second;
    let [found, at] = [0, 0];
    for (let more = true; more; ) {
      const news = await log.news(at);
      [found, at, more] = [found + news.rows.length, news.at, news.more];
    }
    expect([found, at]).toEqual([rows.length, rows.length]);
  });

  postgres.it("are asked for one by one, which the driver warns who does not", async () => {
    const { organisation } = await node("one");
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on("warning", note);
    await Promise.all(Array.from({ length: 5 }, () => organisation.head()));
    // A warning is told after what is under way.
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", note);
    expect(warnings.map(String)).toEqual([]);
  });

  postgres.it("have host names, each of one organisation", async () => {
    const hosts = await openHosts(server.url, systemClock);
    const own = async () => (await hosts.all()).filter((each) => each.name.startsWith(name));
    await hosts.name(name, "first.example.org");
    await hosts.name(name, "second.example.org");
    expect(await own()).toEqual([{ name, host: "second.example.org" }]);
    await expect(hosts.name(`${name} b`, "second.example.org")).rejects.toThrow("leads to another organisation");
    for (const host of ["", "10.0.0.1", "a b", "-a.example.org", "a..org", "a/b", "a.0x1", "a.0x"])
      await expect(hosts.name(`${name} b`, host)).rejects.toThrow("is no host name");
    await expect(hosts.name("", "third.example.org")).rejects.toThrow("1 to 100 characters");
    // Who was refused was not begun either.
    const known = (await overviewOf(server.url, systemClock)).map((each) => each.name);
    expect(known.filter((each) => each.startsWith(name))).toEqual([name]);
    await hosts.release(name);
    expect(await own()).toEqual([]);
    await expect(hosts.release(name)).rejects.toThrow("No host name leads to");
    await hosts.close();
  });

  postgres.it(
    "are written by one node at a time: who was taken the place of keeps nothing, and has what the other wrote",
    async () => {
      const one = await node("one");
      await one.work.transact(() => prepareHub("epoch"));
      const lost = one.organisation.acting.lost();
      const next = await node("next", true);
      const hello = { ...HELLO, endpoint: "site" };
      await one.work.transact(() => admit(hello, 1, CREDIT));
      // As if the network had cut the first one off.
      await takeLock(name);
      await expect(one.work.transact(() => publish([room("a", "Late")], TYPES))).rejects.toThrow("Another node acts");
      await lost;
      expect(one.work.peek(() => shownRow("rooms", "a"))).toBeNull();
      expect(one.work.peek(head).seq).toBe(0);
      await next.store.shared?.catchUp();
      expect(next.work.peek(() => get(LINKS, "site"))?.sess).toBe(1);
    },
  );

  postgres.it(
    "wait for a database that is restarted, and nothing is written twice",
    async () => {
      const one = await node("one");
      await one.work.transact(() => prepareHub("epoch"));
      await server.restart("crash");
      // On a slow machine some are refused before the server is back.
      const rows = Promise.allSettled(
        Array.from({ length: 20 }, (_, at) => one.work.transact(() => publish([room(`r${at}`, `Room ${at}`)], TYPES))),
      );
      await server.restart("fast");
      const kept = (await rows).flatMap(({ status }, at) => (status === "fulfilled" ? [`r${at}`] : []));
      await one.work.transact(() => publish([room("last", "Last")], TYPES));
      const other = await node("other", true);
      await other.store.shared?.catchUp();
      const there = other.work.peek(() => productIds("rooms", null, 100));
      expect(there).toEqual(expect.arrayContaining([...kept, "last"]));
      expect(there).toEqual(one.work.peek(() => productIds("rooms", null, 100)));
      expect(other.work.peek(() => scan(ROWS)).length).toBe(there.length);
      expect(one.organisation.acting.term).toBe(1);
    },
    60_000,
  );

  postgres.it("lie beside those of other organisations, each with its own numbers, files and agreements", async () => {
    const one = await node("one");
    const bytes = Buffer.from("a file");
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(join(one.dir, "sound"), bytes);
    await one.organisation.log.keepFile(sha256, join(one.dir, "sound"));
    await one.organisation.agree("key", "first");
    await one.work.transact(() => prepareHub("epoch"));
    const mate = await node("mate", true);
    await mate.organisation.files.fetchMissing();
    expect(readFileSync(join(mate.dir, "files", sha256.slice(0, 2), sha256))).toEqual(bytes);
    expect(await mate.organisation.agree("key", "second")).toBe("first");
    name = `${name}, another one`;
    const other = await node("other");
    await other.organisation.files.fetchMissing();
    expect(existsSync(join(other.dir, "files"))).toBe(false);
    expect(await other.organisation.head()).toMatchObject({ seq: 0, version: null });
    expect(await other.organisation.agreed("key")).toBeNull();
  });

  postgres.it("are forgotten once they are gone for long, and who has been away longer is told so", async () => {
    const one = await node("one");
    await one.work.transact(() => prepareHub("epoch"));
    for (const id of ["a", "b"]) await one.work.transact(() => publish([room(id, id)], TYPES));
    for (const id of ["a", "b"]) await one.work.transact(() => publish([{ ...room(id, id), body: null }], TYPES));
    await one.organisation.forgetGone(1);
    const { floor, seq } = await one.organisation.head();
    expect([floor > 0, floor < seq]).toEqual([true, true]);
    const fresh = await node("fresh", true);
    await fresh.store.shared?.catchUp();
    expect(fresh.work.peek(() => scan(ROWS))).toEqual(one.work.peek(() => scan(ROWS)));
  });

  postgres.it("are written again after a wait for another's lock was broken off", async () => {
    const one = await node("one");
    await one.work.transact(() => prepareHub("epoch"));
    const other = await connected();
    await other.query("BEGIN; SELECT 1 FROM carillon_organisations FOR UPDATE");
    const refused = expect(one.work.transact(() => publish([room("a", "Hall")], TYPES))).rejects.toThrow("cancel");
    const breakOff = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while ((await other.query(breakOff)).rowCount === 0);
    await refused;
    await other.end();
    await one.work.transact(() => publish([room("b", "Yard")], TYPES));
    expect(one.work.peek(() => productIds("rooms", null, 10))).toEqual(["b"]);
  });

  postgres.it(
    "begin another history when the database was brought back from a backup, and copies of the old one are made anew",
    async () => {
      const home = makeTempDir();
      const north = await joined(join(home, "north"));
      await north.work.transact(() => prepareHub("first"));
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
      await expect(joined(join(home, "north"))).rejects.toThrow("The database stands behind the copy");
      const restored = await joined(join(home, "north"), true);
      expect(restored.notes()).toEqual(["before"]);
      expect(restored.work.peek(head).epoch).not.toBe("first");
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
    "are copied anew by a node that follows once what it did not hear of is forgotten",
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
        [name, NAMES.name],
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
    "are not followed by a node of an earlier version, whose copy is made anew once it is upgraded",
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

  const joined = (dataDir: string, isRestored = false): Promise<JoinedNode> =>
    joinedNode({ url: server.url, organisation: name, dataDir, isRestored });

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
