import type Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { openDatabase } from "../../../src/store/database.ts";
import { createWalCheckpointer, type WalCheckpointer } from "../../../src/store/wal-checkpoint.ts";
import { WriteQueue } from "../../../src/store/write-queue.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const NEVER_DUE: Pick<WalCheckpointer, "isDue" | "run"> = { isDue: () => false, run: () => false };

/** A database in which no transaction can begin. */
function closedDoor(code: string) {
  let tries = 0;
  const exec = () => {
    tries++;
    throw Object.assign(new RangeError("no"), { code });
  };
  const db = { inTransaction: false, exec, prepare: () => ({ run: exec }) } as unknown as Database.Database;
  return { db, tries: () => tries };
}

describe("database in which no transaction can begin", () => {
  it.each([
    ["SQLITE_BUSY", { code: "SQLITE_BUSY" }, 0],
    ["SQLITE_FULL", { type: "storage-full" }, 0],
    ["SQLITE_IOERR_READ", { type: "outcome-unknown" }, 1],
  ])("fails every waiting write once (%s)", async (code, error, fatal) => {
    const { db, tries } = closedDoor(code);
    let fatals = 0;
    const clock = createFakeClock();
    const queue = new WriteQueue({
      db,
      clock,
      beforeCommit: () => false,
      checkpoint: NEVER_DUE,
      onRollback: () => {},
      onFatal: () => fatals++,
    });
    const never = () => expect.fail("nothing may be written");
    const writes = (["normal", "emergency"] as const).map((lane) => queue.write(never, never, lane));
    for (const write of writes) await expect(write).rejects.toMatchObject(error);
    await clock.advance(0);
    expect([tries(), fatals]).toEqual([1, fatal]);
    await queue.stop();
  });
});

describe("beforeCommit", () => {
  it("is skipped for an emergency write and runs after it", async () => {
    const steps: string[] = [];
    const prepare = (sql: string) => ({ run: () => steps.push(sql) });
    const db = { inTransaction: true, exec: () => {}, prepare } as unknown as Database.Database;
    const clock = createFakeClock();
    const beforeCommit = () => {
      steps.push("indexing");
      return false;
    };
    const queue = new WriteQueue({
      db,
      clock,
      beforeCommit,
      checkpoint: NEVER_DUE,
      onRollback: () => {},
      onFatal: () => {},
    });
    const written = queue.write(
      () => steps.push("emergency"),
      () => steps.push("done"),
      "emergency",
    );
    await clock.advance(0);
    await written;
    await clock.advance(0);
    const order = steps.filter((step) => ["emergency", "indexing", "done"].includes(step));
    expect(order).toEqual(["emergency", "done", "indexing"]);
    await queue.stop();
  });
});

describe("WAL checkpoint", () => {
  it("runs in its own turn of the event loop, after emergency writes", async () => {
    const db = openDatabase(makeTempDir());
    db.exec("CREATE TABLE notes (text BLOB)");
    const note = db.prepare("INSERT INTO notes VALUES (randomblob(100000))");
    const inLog = () => {
      const [{ log, checkpointed }] = db.pragma("wal_checkpoint(NOOP)") as [{ log: number; checkpointed: number }];
      return log - checkpointed;
    };
    const clock = createFakeClock();
    const checkpoint = createWalCheckpointer(db);
    const turns: string[] = [];
    const watched: WalCheckpointer = {
      ...checkpoint,
      run() {
        const wasDue = checkpoint.run();
        if (wasDue) turns.push(`moved, ${inLog()} left`);
        return wasDue;
      },
    };
    const beforeCommit = () => false;
    const queue = new WriteQueue({
      db,
      clock,
      beforeCommit,
      checkpoint: watched,
      onRollback: () => {},
      onFatal: (error) => expect.fail(String(error)),
    });
    const write = (name: string, notes: number, lane: "normal" | "emergency" = "normal") =>
      queue.write(
        () => {
          for (let n = 0; n < notes; n++) note.run();
        },
        () => turns.push(name),
        lane,
      );
    const all = [write("few", 2)];
    await clock.advance(0);
    expect([turns, checkpoint.isDue()]).toEqual([["few"], false]);
    all.push(write("many", 45).then(() => void all.push(write("urgent", 1, "emergency"), write("next", 1))));
    await clock.advance(0);
    await Promise.all(all);
    await Promise.all(all);
    expect(turns).toEqual(["few", "many", "urgent", "moved, 0 left", "next"]);
    await queue.stop();
    db.close();
  });
});

describe("deferred write", () => {
  it("does not wait for the disk unless another write of its group does", async () => {
    const steps: string[] = [];
    const prepare = (sql: string) => ({ run: () => steps.push(sql) });
    const exec = (sql: string) => steps.push(sql);
    const db = { inTransaction: true, exec, prepare } as unknown as Database.Database;
    const clock = createFakeClock();
    const queue = new WriteQueue({
      db,
      clock,
      beforeCommit: () => false,
      checkpoint: NEVER_DUE,
      onRollback: () => {},
      onFatal: () => expect.fail("nothing failed"),
    });
    const wrote = (what: string) => () => void steps.push(what);
    const write = (what: string, safety?: "deferred", lane: "normal" | "emergency" = "normal") =>
      queue.write(wrote(what), () => {}, lane, safety);
    const safe = async (...written: Promise<void>[]) => {
      await clock.advance(0);
      await Promise.all(written);
      return steps.splice(0).filter((step) => !/job$|BEGIN/.test(step));
    };
    expect(await safe(write("a", "deferred"))).toEqual(["PRAGMA synchronous = NORMAL", "a", "COMMIT"]);
    expect(await safe(write("b", "deferred"), write("c"))).toEqual(["PRAGMA synchronous = FULL", "b", "c", "COMMIT"]);
    expect(await safe(write("d", "deferred", "emergency"), write("e"))).toEqual([
      ...["PRAGMA synchronous = NORMAL", "d", "COMMIT"],
      ...["PRAGMA synchronous = FULL", "e", "COMMIT"],
    ]);
    await queue.stop();
  });
});
