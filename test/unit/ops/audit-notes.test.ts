import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import {
  AUDIT_END_FILE,
  createAuditNotes,
  createHeldAuditNotes,
  HELD_AUDIT_NOTES,
} from "../../../src/ops/audit-notes.ts";
import users from "../../../src/resources/people/users.ts";
import type { SignedAuditNote } from "../../../src/store/audit-types.ts";
import { type ApplianceData, openApplianceDataOffline } from "../../../src/wiring/appliance-data.ts";
import { initAppliance } from "../../../src/wiring/init.ts";
import { runControlCommand } from "../../../src/wiring/run-control-command.ts";
import { TEST_ADMIN } from "../../support/daemon.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const clock = createFakeClock();
let dataDir: string;

beforeEach(async () => {
  dataDir = makeTempDir();
  await initAppliance(dataDir, TEST_ADMIN, clock);
});

async function withData<T>(use: (data: ApplianceData) => Promise<T>): Promise<T> {
  const data = await openApplianceDataOffline(dataDir, clock, undefined, [HELD_AUDIT_NOTES]);
  try {
    return await use(data);
  } finally {
    await data.close();
  }
}

const notesOf = ({ store }: ApplianceData, log = silentLog) =>
  createAuditNotes({ store, clock, log, dataDir, backupFolder: join(dataDir, "backups") });

/** The daemon runs once, and notes the end. */
const runOnce = (): Promise<SignedAuditNote | null> =>
  withData(async (data) => {
    const notes = notesOf(data);
    notes.start();
    notes.stop();
    return notes.current();
  });

function attack(sql: string): void {
  const db = new Database(join(dataDir, "carillon.db"));
  for (const name of ["update", "delete", "replace"]) db.exec(`DROP TRIGGER audit_no_${name}`);
  db.exec(sql);
  db.close();
}

const verify = () => runControlCommand(dataDir, "audit.verify", {}, clock);

const addUser = (name: string) =>
  withData(({ store, access }) => store.create(users, { name, type: "anonymous" }, access.systemContext("test")));

describe("ends of the audit", () => {
  it("are kept in a file, in which an end that is missing in the audit is not replaced", async () => {
    const first = await runOnce();
    expect(JSON.parse(readFileSync(join(dataDir, AUDIT_END_FILE), "utf8"))).toEqual(first);
    await addUser("Ann");
    const second = await runOnce();
    expect(second?.number).toBeGreaterThan(first?.number ?? 0);
    expect(await verify()).toMatchObject({ intact: true });
    attack(`DELETE FROM audit_entries WHERE pk > ${first?.number ?? 0}`);
    expect(await verify()).toMatchObject({ intact: false, broken: { number: (first?.number ?? 0) + 1 } });
    // The daemon goes on, and the attacker writes more entries than there were.
    for (const name of ["Bo", "Cy", "Di"]) await addUser(name);
    await withData(async (data) => {
      const notes = notesOf(data);
      notes.start();
      expect(notes.healthReasons()).toMatchObject([{ level: "red", code: "audit" }]);
      notes.stop();
    });
    expect(JSON.parse(readFileSync(join(dataDir, AUDIT_END_FILE), "utf8"))).toEqual(second);
    expect(await verify()).toMatchObject({ intact: false, broken: { number: second?.number } });
  });

  it("reveal an emptied log in which the appliance has written again", async () => {
    await runOnce();
    attack("DELETE FROM audit_entries");
    expect(await verify()).toMatchObject({ intact: false, entries: 0 });
    await addUser("Ann");
    expect(await verify()).toMatchObject({ intact: false });
  });

  it("are found in backups when the file is gone", async () => {
    await runControlCommand(dataDir, "backup.take", {}, clock);
    expect(await verify()).toMatchObject({ intact: true });
    rmSync(join(dataDir, AUDIT_END_FILE), { force: true });
    attack("DELETE FROM audit_entries WHERE pk > 3");
    const found = (await verify()) as { broken: { reason: string } };
    expect(found.broken.reason).toMatch(
      /^The end was cut off: there were \d+ entries, as kept in the backup carillon-/,
    );
  });

  it("that others kept count only if this appliance has signed them", async () => {
    await withData(async (data) => {
      const notes = notesOf(data);
      notes.start();
      const own = notes.current();
      notes.receiveKept("in the cloud", [{ ...own, number: 1_000 }, { number: 7 }, "x", null, own]);
      const found = (await notes.collect()).filter(({ source }) => source === "in the cloud");
      expect(found).toEqual([{ number: own?.number, hash: own?.hash, at: own?.at, source: "in the cloud" }]);
      notes.stop();
    });
  });

  it("of others are kept: the first of each day and the newest, for each by itself", async () => {
    await withData(async (data) => {
      const held = createHeldAuditNotes(data.store, clock);
      const note = (number: number) => ({ number, hash: "a".repeat(64), at: clock.now(), mac: "b".repeat(64) });
      for (const number of [1, 2, 3]) await held.keep("one", note(number));
      clock.advanceSync(86_400_000);
      // What was cut off there cannot take the older ends along.
      for (const number of [2, 1]) await held.keep("one", note(number));
      await held.keep("two", note(9));
      await held.keep("two", { number: "x" });
      expect(held.of("one").map(({ number }) => number)).toEqual([1, 2, 1]);
      expect(held.of("two").map(({ number }) => number)).toEqual([9, 9]);
      expect(held.of("three")).toEqual([]);
    });
  });
});
