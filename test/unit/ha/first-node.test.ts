import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { openTenantDatabase, type TenantDatabase } from "../../../src/ha/tenant-database.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { productVersion } from "../../../src/lib/product-version.ts";
import type { RowImage, SharedLog } from "../../../src/store/shared-log.ts";
import { UNIQUE_NAMES } from "../../../src/sync/hub/tables.ts";
import { followLeader, openReplica } from "../../../src/wiring/cloud-node/local-replica.ts";
import type { NodeProgress, NodeStatus } from "../../../src/wiring/cloud-node/node-status.ts";
import { prepareFirstRun } from "../../../src/wiring/first-run.ts";
import { externalProgram } from "../../support/external-programs.ts";
import { startLeaderNode } from "../../support/leader-node.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const postgres = externalProgram("pg_ctlcluster");
const TIMEOUT_MS = 120_000;
/** More than two statements take. */
const MANY = 4_500;
const SOUND = Buffer.from("a sound");
const SOUND_NAME = createHash("sha256").update(SOUND).digest("hex");

postgres.describe("initial upload of the first node", () => {
  let server: TestPostgres;
  let number = 0;
  let north: string;
  const open: TenantDatabase[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  }, TIMEOUT_MS);
  afterAll(() => server?.stop());
  beforeEach(async () => {
    number += 1;
    north = join(makeTempDir(), "north");
    await setUp(north, MANY);
    return async () => {
      for (const each of open.splice(0)) await each.close();
    };
  }, TIMEOUT_MS);

  const name = (): string => `organisation ${number}`;
  const joined = (dataDir: string) => startLeaderNode({ url: server.url, organisation: name(), dataDir });

  /** What a cloud of its own has that says so many words, one of which names a file. */
  async function setUp(dataDir: string, words: number): Promise<void> {
    await prepareFirstRun(dataDir, systemClock);
    const data = await openReplica(UNSHARED, optionsOf(dataDir), true);
    await data.close();
    const db = new Database(join(dataDir, "carillon.db"));
    const add = db.prepare(`INSERT INTO "${UNIQUE_NAMES.name}" (type, name, id) VALUES ('notes', ?, ?)`);
    db.transaction(() => {
      for (let at = 0; at < words; at += 1) add.run(`${at}`, at === 0 ? SOUND_NAME : `${at}`);
    })();
    db.close();
    mkdirSync(join(dataDir, "files", SOUND_NAME.slice(0, 2)), { recursive: true });
    writeFileSync(join(dataDir, "files", SOUND_NAME.slice(0, 2), SOUND_NAME), SOUND);
  }

  const optionsOf = (dataDir: string, doing: NodeStatus[] = []) => ({
    ...{ dataDir, organisation: name(), clock: systemClock, log: silentLog },
    faults: { reportVerification: () => expect.fail("the copy is not whole") },
    onStatus: (next: NodeStatus) => void doing.push(next),
  });

  async function opened(dataDir: string): Promise<TenantDatabase> {
    const organisation = await openTenantDatabase({
      ...{ url: server.url, name: name(), node: "north", filesDir: join(dataDir, "files"), version: productVersion() },
      ...{ clock: systemClock, onFault: () => undefined },
    });
    open.push(organisation);
    return organisation;
  }

  /** A start of the node in which `publish` does what is given; what became of it. */
  async function started(
    dataDir: string,
    publish: (rows: Iterable<RowImage>, real: (rows: Iterable<RowImage>) => Promise<number>) => Promise<number>,
  ): Promise<boolean> {
    const organisation = await opened(dataDir);
    const { log } = organisation;
    const begin: SharedLog["acquireWriteLock"] = async (after) => {
      const turn = await log.acquireWriteLock(after);
      return { ...turn, publish: (rows) => publish(rows, turn.publish) };
    };
    const acting = organisation.leadership.acquire(new AbortController().signal);
    const other = { ...organisation, log: { ...log, acquireWriteLock: begin } };
    return followLeader(other, acting, optionsOf(dataDir)).finally(() => organisation.close());
  }

  postgres.it(
    "uploads all rows atomically, and retries at the next start after a failure",
    async () => {
      const looking = await opened(makeTempDir());
      const failing = started(north, async (rows, real) => {
        function* half() {
          let count = 0;
          for (const row of rows) {
            yield row;
            count += 1;
            if (count > MANY - 100) throw new Error("the machine was switched off");
          }
        }
        return real(half());
      });
      await expect(failing).rejects.toThrow("switched off");
      expect([(await looking.readHead()).seq, (await looking.countRows()).size]).toEqual([0, 0]);
      const node = await joined(north);
      expect([node.notes().length, node.warnings]).toEqual([MANY, []]);
      await node.end();
    },
    TIMEOUT_MS,
  );

  postgres.it(
    "uploads files before rows",
    async () => {
      const looking = await opened(makeTempDir());
      const dataDir = makeTempDir();
      const there = await opened(dataDir);
      await started(north, async (rows, real) => {
        expect((await looking.readHead()).seq).toBe(0);
        await there.files.fetchMissing();
        return real(rows);
      });
      expect(readFileSync(join(dataDir, "files", SOUND_NAME.slice(0, 2), SOUND_NAME))).toEqual(SOUND);
    },
    TIMEOUT_MS,
  );

  postgres.it(
    "recognizes its own rows after a crash before it was recorded, and does not upload them twice",
    async () => {
      const looking = await opened(makeTempDir());
      const ended = started(north, async (rows, real) => {
        await real(rows);
        throw new Error("the machine was switched off");
      });
      await expect(ended).rejects.toThrow("switched off");
      const { seq } = await looking.readHead();
      expect(seq).toBeGreaterThan(MANY);
      const node = await joined(north);
      expect(node.warnings).toEqual([expect.stringContaining("ended before recording it")]);
      expect([node.notes().length, (await looking.readHead()).seq]).toEqual([MANY, seq]);
      await node.note("later");
      await node.end();
      const again = await joined(north);
      expect([again.notes().length, again.warnings]).toEqual([MANY + 1, []]);
      await again.end();
    },
    TIMEOUT_MS,
  );

  postgres.it(
    "refuses to upload when another folder's rows exist, and keeps its own",
    async () => {
      const south = join(makeTempDir(), "south");
      cpSync(north, south, { recursive: true });
      loseHere(south, 4);
      const ended = started(north, () => Promise.reject(new Error("the machine was switched off")));
      await expect(ended).rejects.toThrow("switched off");
      const other = await joined(south);
      await other.end();
      await expect(joined(north)).rejects.toThrow("do not belong to the organisation");
      expect([loseHere(north, 0), loseHere(south, 0)]).toEqual([MANY, MANY - 4]);
    },
    TIMEOUT_MS,
  );

  postgres.it(
    "does not append rows to those that another node has written",
    async () => {
      const { Client } = (await import("pg")).default;
      const client = new Client({ connectionString: server.url });
      await client.connect();
      const organisation = await opened(north);
      const { files } = organisation;
      const putLocal = async (names: Iterable<string>): Promise<void> => {
        await files.putLocal(names);
        await client.query("UPDATE carillon_organisations SET seq = seq + 1 WHERE name = $1", [name()]);
      };
      const acting = organisation.leadership.acquire(new AbortController().signal);
      const disturbed = followLeader({ ...organisation, files: { ...files, putLocal } }, acting, optionsOf(north));
      await expect(disturbed).rejects.toThrow("Another node wrote");
      await client.end();
      expect((await organisation.countRows()).size).toBe(0);
    },
    TIMEOUT_MS,
  );

  postgres.it(
    "reports the upload as progress, and a further node reports standby once it is complete",
    async () => {
      const organisation = await opened(north);
      await organisation.leadership.acquire(new AbortController().signal);
      const brought: NodeStatus[] = [];
      const taken: NodeStatus[] = [];
      const hurried = { clock: { ...systemClock, after: (_: number, fn: () => void) => systemClock.after(1, fn) } };
      expect(await followLeader(organisation, Promise.resolve(), { ...optionsOf(north, brought), ...hurried })).toBe(
        true,
      );
      const { seq } = await organisation.readHead();
      const rows = worksOf(brought, "brings-rows");
      // But for one that says which keys were given.
      expect(rows.map(({ of }) => of)).toEqual(rows.map(() => seq - 1));
      expect(rows.some(({ done }) => done > MANY / 2)).toBe(true);
      expect(worksOf(brought, "brings-files")).toEqual([{ doing: "brings-files", done: 1, of: 1 }]);
      expect(brought.map(({ doing }) => doing)).not.toContain("stands-by");
      // Its turn comes once it says that it stands by.
      let turn = (): void => undefined;
      const acting = new Promise<void>((resolve) => {
        turn = resolve;
      });
      const options = optionsOf(makeTempDir(), taken);
      const further = followLeader(await opened(options.dataDir), acting, { ...options, ...hurried });
      await expect.poll(() => taken.at(-1), { timeout: 60_000 }).toEqual({ doing: "stands-by" });
      const steps = worksOf(taken, "takes-rows");
      expect(steps.at(-1)).toEqual({ doing: "takes-rows", done: seq, of: seq });
      expect(steps.length).toBeGreaterThan(MANY / 1_000);
      expect(taken.filter(({ doing }) => doing === "stands-by").length).toBe(1);
      turn();
      expect(await further).toBe(true);
    },
    TIMEOUT_MS,
  );

  const worksOf = (all: readonly NodeStatus[], doing: NodeProgress["doing"]): NodeProgress[] =>
    all.filter((each): each is NodeProgress => each.doing === doing);

  /** Takes so many words from a folder; how many it has then. */
  function loseHere(dataDir: string, words: number): number {
    const db = new Database(join(dataDir, "carillon.db"));
    const own = `FROM "${UNIQUE_NAMES.name}" WHERE type = 'notes'`;
    db.exec(`DELETE FROM "${UNIQUE_NAMES.name}" WHERE (type, name) IN (SELECT type, name ${own} LIMIT ${words})`);
    const left = db.prepare(`SELECT count(*) ${own}`).pluck().get() as number;
    db.close();
    return left;
  }
});

/** Of a copy that is opened before there is anybody to share it with. */
const UNSHARED: SharedLog = {
  acquireWriteLock: () => Promise.reject(new Error("nobody shares it")),
  readAfter: () => Promise.reject(new Error("nobody shares it")),
  storeFile: async () => undefined,
  isReachable: () => true,
};
