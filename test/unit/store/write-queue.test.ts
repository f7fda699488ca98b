import type Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { WriteQueue } from "../../../src/store/write-queue.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

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

describe("a database in which no transaction can begin", () => {
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
      onRollback: () => {},
      onFatal: () => fatals++,
    });
    const never = () => expect.fail("nothing may be written");
    const writes = (["normal", "emergency"] as const).map((lane) => queue.write(never, never, lane));
    for (const write of writes) await expect(write).rejects.toMatchObject(error);
    await clock.advance(0);
    expect([tries(), fatals]).toEqual([1, fatal]);
    queue.stop();
  });
});

describe("what runs before each COMMIT", () => {
  it("stands back for an emergency, and runs after it", async () => {
    const steps: string[] = [];
    const prepare = (sql: string) => ({ run: () => steps.push(sql) });
    const db = { inTransaction: true, exec: () => {}, prepare } as unknown as Database.Database;
    const clock = createFakeClock();
    const beforeCommit = () => {
      steps.push("indexing");
      return false;
    };
    const queue = new WriteQueue({ db, clock, beforeCommit, onRollback: () => {}, onFatal: () => {} });
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
    queue.stop();
  });
});
