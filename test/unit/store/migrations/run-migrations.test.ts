import Database from "better-sqlite3";
import { beforeEach, describe, expect, it } from "vitest";
import { MISSED_AUDIO_REASONS } from "../../../../src/resources/notifications/missed-audio.ts";
import { REWORDED_REASONS } from "../../../../src/store/migrations/0002-missed-audio-reasons.ts";
import { hasServedPlainHttp, plainHttp } from "../../../../src/store/migrations/0013-plain-http.ts";
import type { Migration } from "../../../../src/store/migrations/migration.ts";
import { MIGRATIONS, runMigrations } from "../../../../src/store/migrations/run-migrations.ts";

let db: Database.Database;
beforeEach(() => {
  db = new Database(":memory:");
  db.pragma("foreign_keys = ON");
  return () => void db.close();
});

const run = (migrations: readonly Migration[] = MIGRATIONS): string[] =>
  runMigrations(db, { dataDir: "data", now: 1, migrations });
const applied = (): unknown[] => db.prepare("SELECT name FROM schema_migrations ORDER BY name").pluck().all();
/** As a database looks that an earlier release made. */
const existing = (sql = ""): unknown => db.exec(`CREATE TABLE store_meta (name TEXT PRIMARY KEY, value TEXT); ${sql}`);
const adding = (name: string, sql: string): Migration => ({ name, up: (at) => void at.exec(sql) });

it("keeps plain HTTP for the data of an earlier release only", () => {
  const reader = { one: <T>(sql: string, ...params: string[]) => (db.prepare(sql).get(...params) ?? null) as T | null };
  existing();
  run([plainHttp]);
  expect(hasServedPlainHttp(reader)).toBe(true);
  db.exec("DROP TABLE store_meta; DROP TABLE schema_migrations");
  run([plainHttp]);
  existing();
  expect(hasServedPlainHttp(reader)).toBe(false);
});

describe("migrations", () => {
  it("are recorded without being run in a new database", () => {
    expect(run([adding("0001-a", "CREATE TABLE a (x)")])).toEqual([]);
    expect([applied(), db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'a'").get()]).toEqual([
      ["0001-a"],
      undefined,
    ]);
  });

  it("run once each, in order, in an existing database", () => {
    existing();
    const [one, two] = [adding("0001-a", "CREATE TABLE a (x)"), adding("0002-b", "ALTER TABLE a ADD COLUMN y")];
    expect(run([one])).toEqual(["0001-a"]);
    expect(run([one, two])).toEqual(["0002-b"]);
    expect(run([one, two])).toEqual([]);
  });

  it("leave the old form whole when one fails, and foreign keys enforced", () => {
    existing();
    const failing = [adding("0001-a", "CREATE TABLE a (x)"), adding("0002-b", "CREATE TABLE a (x)")];
    expect(() => run(failing)).toThrow("already exists");
    expect(db.prepare("SELECT name FROM sqlite_schema WHERE name IN ('a', 'schema_migrations')").all()).toEqual([]);
    expect(db.pragma("foreign_keys", { simple: true })).toBe(1);
  });

  it("refuse a database that a newer release migrated", () => {
    existing();
    run([adding("0001-a", ""), adding("0009-later", "")]);
    expect(() => run([adding("0001-a", "")])).toThrow("migrated by a newer release (0009-later)");
  });
});

it("renames tables with their rows, and drops indexes that carry the old name", () => {
  existing(`CREATE TABLE broadcast_due (notification INTEGER, at INTEGER);
    CREATE INDEX broadcast_due__at ON broadcast_due(at); INSERT INTO broadcast_due VALUES (7, 8);`);
  run();
  expect(db.prepare("SELECT * FROM notification_timers").all()).toEqual([{ notification: 7, at: 8 }]);
  expect(db.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'broadcast_due%'").all()).toEqual([]);
});

it("gives stored deliveries the reasons by which missed audio is counted", () => {
  existing("CREATE TABLE deliveries (pk INTEGER PRIMARY KEY, reason TEXT)");
  const add = db.prepare("INSERT INTO deliveries (reason) VALUES (?)");
  for (const [from] of REWORDED_REASONS) add.run(from);
  add.run("no response");
  run();
  const reasons = db.prepare("SELECT reason FROM deliveries ORDER BY pk").pluck().all();
  expect(reasons).toEqual([MISSED_AUDIO_REASONS.asked, MISSED_AUDIO_REASONS.joined, "no response"]);
});

it("adds columns to tables of replication that exist, once", () => {
  existing(`CREATE TABLE hub_conflict (uid TEXT PRIMARY KEY, lost TEXT) STRICT, WITHOUT ROWID;
    CREATE TABLE hub_enrolment (hash TEXT PRIMARY KEY, domainIds TEXT) STRICT, WITHOUT ROWID;
    INSERT INTO hub_conflict VALUES ('u', '["*"]'); INSERT INTO hub_enrolment VALUES ('h', NULL);`);
  run();
  expect(db.prepare("SELECT * FROM hub_conflict").all()).toEqual([{ uid: "u", lost: '["*"]', reason: null }]);
  expect(db.prepare("SELECT * FROM hub_enrolment").all()).toEqual([{ hash: "h", domainIds: null }]);
  expect(db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'hub_decided'").all()).toEqual([]);
});

it("marks stored deliveries that showed text only, and counts them", () => {
  existing(`CREATE TABLE notifications (pk INTEGER PRIMARY KEY, t0 INTEGER);
    CREATE TABLE notification_counters (notification INTEGER, name TEXT, n INTEGER, PRIMARY KEY (notification, name));
    CREATE TABLE deliveries (pk INTEGER PRIMARY KEY, notification_pk INTEGER, device_pk INTEGER, level TEXT, reason TEXT);
    CREATE INDEX deliveries__notification_pk__level ON deliveries(notification_pk, level);
    INSERT INTO notifications VALUES (1, 100), (2, NULL), (3, NULL);
    INSERT INTO notification_counters VALUES (1, 'level:accepted', 2), (2, 'level:accepted', 2), (2, 'level:failed', 1);`);
  const add = db.prepare("INSERT INTO deliveries (notification_pk, device_pk, level, reason) VALUES (?, ?, ?, ?)");
  add.run(1, 7, "accepted", MISSED_AUDIO_REASONS.asked);
  add.run(1, 8, "accepted", null);
  add.run(2, 7, "accepted", null);
  add.run(2, null, "accepted", null);
  add.run(2, 8, "failed", "no response");
  add.run(3, 7, "accepted", null);
  run();
  const marked = db.prepare("SELECT pk FROM deliveries WHERE text_only = 1 ORDER BY pk").pluck().all();
  expect(marked).toEqual([1, 3, 6]);
  const counters = db.prepare("SELECT notification, n FROM notification_counters WHERE name = 'text:accepted'").all();
  expect(counters).toEqual([
    { notification: 1, n: 1 },
    { notification: 2, n: 1 },
  ]);
  expect(db.prepare("SELECT 1 FROM sqlite_schema WHERE name LIKE 'deliveries__%'").all()).toEqual([]);
});
