import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { openDatabase } from "../../../src/store/database.ts";
import { createOnlineBackup } from "../../../src/store/online-backup.ts";
import { createWalCheckpointer } from "../../../src/store/wal-checkpoint.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const ROWS = 2_000;
const PER_WRITE = 20;

/** A database in which each transaction says of many rows, far apart, that it changed them last. */
function busyDatabase() {
  const db = openDatabase(makeTempDir());
  db.exec("CREATE TABLE pages (id INTEGER PRIMARY KEY, changed_by INTEGER, filling BLOB)");
  db.exec("CREATE TABLE writes (n INTEGER, page INTEGER)");
  const fill = db.prepare("INSERT INTO pages VALUES (?, 0, randomblob(3500))");
  db.transaction(() => {
    for (let id = 0; id < ROWS; id++) fill.run(id);
  })();
  const change = db.prepare("UPDATE pages SET changed_by = ?, filling = randomblob(3500) WHERE id = ?");
  const note = db.prepare("INSERT INTO writes VALUES (?, ?)");
  const write = db.transaction((n: number) => {
    for (let k = 0; k < PER_WRITE; k++) {
      const page = (n * 613 + k * 97) % ROWS;
      change.run(n, page);
      note.run(n, page);
    }
  });
  return { db, write };
}

it("copies a consistent snapshot while the database is written, checkpointed and shrunk", async () => {
  const { db, write } = busyDatabase();
  const checkpoint = createWalCheckpointer(db);
  const copying = createOnlineBackup(db, checkpoint);
  const path = join(makeTempDir(), "copy.db");
  let n = 0;
  for (; n < 50; n++) write(n);
  const before = n;
  let done = false;
  let moved = 0;
  const copied = copying.copyTo(path).finally(() => {
    done = true;
  });
  while (!done) {
    for (let k = 0; k < 10; k++) write(n++);
    if (checkpoint.run()) moved += 1;
    if (n === before + 50) {
      db.exec(`DELETE FROM pages WHERE id >= ${ROWS / 2}`);
      db.exec("VACUUM");
    }
    await new Promise((turn) => setImmediate(turn));
  }
  await copied;
  db.close();
  copying.close();
  const copy = new Database(path);
  copy.pragma("journal_mode = DELETE");
  expect(copy.pragma("integrity_check", { simple: true })).toBe("ok");
  const wrong = copy
    .prepare(
      "SELECT COUNT(*) FROM pages p WHERE changed_by <> (SELECT COALESCE(MAX(n), 0) FROM writes w WHERE w.page = p.id)",
    )
    .pluck()
    .get();
  const last = copy.prepare("SELECT MAX(n) FROM writes").pluck().get();
  const partial = copy.prepare(`SELECT COUNT(*) FROM writes`).pluck().get();
  copy.close();
  expect({ wrong, moved: moved > 0, whole: partial === (Number(last) + 1) * PER_WRITE }).toEqual({
    wrong: 0,
    moved: true,
    whole: true,
  });
  expect(last).toBeGreaterThanOrEqual(before - 1);
  expect(existsSync(`${path}-log`)).toBe(false);
});
