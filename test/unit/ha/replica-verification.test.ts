import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Client } from "pg";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { openTenantDatabase } from "../../../src/ha/tenant-database.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { productVersion } from "../../../src/lib/product-version.ts";
import { UNIQUE_NAMES } from "../../../src/sync/hub/tables.ts";
import { deleteRecord } from "../../../src/sync/storage/transaction-program.ts";
import { followLeader } from "../../../src/wiring/cloud-node/local-replica.ts";
import { externalProgram } from "../../support/external-programs.ts";
import { startLeaderNode } from "../../support/leader-node.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const postgres = externalProgram("pg_ctlcluster");
const TIMEOUT_MS = 120_000;
const LESS = "the replica lacks rows that the database has";
const DIFFER = "database and replica differ";

postgres.describe("replica verification", () => {
  let server: TestPostgres;
  let number = 0;
  let north: string;
  let south: string;
  beforeAll(async () => {
    server = await startPostgres();
  }, TIMEOUT_MS);
  afterAll(() => server?.stop());
  beforeEach(async () => {
    number += 1;
    const home = makeTempDir();
    [north, south] = [join(home, "north"), join(home, "south")];
    const first = await joined(north);
    for (const word of ["one", "three", "two"]) await first.note(word);
    expect(first.warnings).toEqual([]);
    await first.end();
    mkdirSync(south);
    copyFileSync(join(north, "secret-key"), join(south, "secret-key"));
  }, TIMEOUT_MS);

  const joined = (dataDir: string) =>
    startLeaderNode({ url: server.url, organisation: `organisation ${number}`, dataDir });

  /** The words that a node has when it acts, what it warned of until then, and what its health says. */
  async function found(dataDir: string): Promise<{ notes: string[]; warnings: readonly string[]; faults: string[] }> {
    const node = await joined(dataDir);
    const [notes, faults] = [node.notes(), node.healthCodes()];
    await node.end();
    return { notes, warnings: node.warnings, faults };
  }

  postgres.it(
    "changes nothing when replica and database are equal",
    async () => {
      const same = { notes: ["one", "three", "two"], warnings: [], faults: [] };
      expect([await found(north), await found(south), await found(north)]).toEqual([same, same, same]);
    },
    TIMEOUT_MS,
  );

  postgres.it(
    "uploads rows that the database lacks, for all nodes",
    async () => {
      await loseThere("two", "one");
      expect(await found(north)).toEqual({
        notes: ["one", "three", "two"],
        warnings: [DIFFER, "uploading rows that the database never got"],
        faults: [],
      });
      expect(await found(south)).toEqual({ notes: ["one", "three", "two"], warnings: [], faults: [] });
    },
    TIMEOUT_MS,
  );

  postgres.it(
    "rebuilds an incomplete replica and reports it in health",
    async () => {
      loseHere(north, "three");
      expect(await found(north)).toEqual({
        notes: ["one", "three", "two"],
        warnings: [DIFFER, LESS],
        faults: ["hub-copy:made-anew"],
      });
    },
    TIMEOUT_MS,
  );

  postgres.it(
    "leads with red health when a rebuilt replica is incomplete, too",
    async () => {
      // Two rows of the database are one to the copy.
      await withDatabase(async (client) => {
        const own = "FROM carillon_organisations WHERE name = $1";
        const image = JSON.stringify({ type: "notes", name: "one", id: "one" });
        const sql = `INSERT INTO carillon_rows SELECT id, $2, '["notes","two ones"]', seq + 1, $3 ${own}`;
        await client.query(sql, [`organisation ${number}`, UNIQUE_NAMES.name, image]);
        await client.query("UPDATE carillon_organisations SET seq = seq + 1 WHERE name = $1", [
          `organisation ${number}`,
        ]);
      });
      const { notes, warnings, faults } = await found(south);
      expect([notes, warnings, faults]).toEqual([["one", "three", "two"], [DIFFER, LESS], ["hub-copy:lacking"]]);
    },
    TIMEOUT_MS,
  );

  postgres.it(
    "uses the database's rows when both lack some, and keeps the old replica",
    async () => {
      await loseThere("one", "two");
      loseHere(north, "three");
      const { notes, warnings, faults } = await found(north);
      expect(notes).toEqual(["three"]);
      expect(warnings).toContain("replica and database have diverged: each has rows that the other lacks");
      const [kept = "none"] = readdirSync(north).filter((name) => /^parted-\d+[.]db$/.test(name));
      const db = new Database(join(north, kept), { readonly: true });
      expect(db.prepare(`SELECT name FROM "${UNIQUE_NAMES.name}" ORDER BY name`).pluck().all()).toEqual(["one", "two"]);
      db.close();
      expect(faults).toEqual(["hub-copy:made-anew", `hub-copy:${kept}`]);
      expect(await found(north)).toEqual({ notes: ["three"], warnings: [], faults: [`hub-copy:${kept}`] });
      rmSync(join(north, kept));
      expect(await found(north)).toEqual({ notes: ["three"], warnings: [], faults: [] });
    },
    TIMEOUT_MS,
  );

  postgres.it(
    "does not bring a deleted row back that the replica still had",
    async () => {
      await found(south);
      const other = await joined(north);
      await other.database.transact(() => deleteRecord(UNIQUE_NAMES, "notes", "two"));
      await other.end();
      const of = { url: server.url, dataDir: south, organisation: `organisation ${number}`, clock: systemClock };
      const organisation = await openTenantDatabase({
        ...{ ...of, name: of.organisation, node: "south", filesDir: join(south, "files"), version: productVersion() },
        onFault: () => undefined,
      });
      const news = async (after: number) => {
        await organisation.pruneTombstones(0);
        return organisation.log.readAfter(after);
      };
      const acting = organisation.leadership.acquire(new AbortController().signal);
      const tidied = { ...organisation, log: { ...organisation.log, readAfter: news } };
      expect(
        await followLeader(tidied, acting, {
          ...of,
          log: silentLog,
          onStatus: () => undefined,
          faults: { reportVerification: () => undefined },
        }),
      ).toBe(false);
      await acting;
      await organisation.close();
      expect((await found(south)).notes).toEqual(["one", "three"]);
    },
    TIMEOUT_MS,
  );

  /** Takes words from the database without a trace. */
  async function loseThere(...words: string[]): Promise<void> {
    const of = "organisation = (SELECT id FROM carillon_organisations WHERE name = $1) AND tab = $2";
    const sql = `DELETE FROM carillon_rows WHERE ${of} AND image::json->>'name' = ANY($3)`;
    await withDatabase(async (client) => {
      const { rowCount } = await client.query(sql, [`organisation ${number}`, UNIQUE_NAMES.name, words]);
      expect(rowCount).toBe(words.length);
    });
  }

  async function withDatabase(use: (client: Client) => Promise<void>): Promise<void> {
    const client = new (await import("pg")).default.Client({ connectionString: server.url });
    await client.connect();
    await use(client);
    await client.end();
  }

  /** Takes a word from a copy without a trace. */
  function loseHere(dataDir: string, word: string): void {
    const db = new Database(join(dataDir, "carillon.db"));
    expect(db.prepare(`DELETE FROM "${UNIQUE_NAMES.name}" WHERE name = ?`).run(word).changes).toBe(1);
    db.close();
  }
});
