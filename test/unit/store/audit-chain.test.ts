import { cpSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import type { AuditRange, AuditVerification, KeptAuditNote } from "../../../src/store/audit-types.ts";
import type { Store } from "../../../src/store/store.ts";
import { rechainWithoutKey } from "../../support/forged-audit.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { everybody, openTestStore, rooms } from "./store-fixture.ts";

const ENTRIES = 250;
let written: string;
let sound: AuditVerification;

beforeAll(async () => {
  written = makeTempDir();
  const store = openTestStore(written);
  const names = Array.from({ length: ENTRIES - 1 }, (_, at) => `room ${at}`);
  await Promise.all(names.map((name) => store.create(rooms, { name }, everybody)));
  await store.write((tx) =>
    tx.addAuditEvent({ op: "refused", resource: "rooms", rowId: null, details: { n: 1 } }, everybody),
  );
  sound = await store.audit.verify();
  await store.close();
});

interface Attack {
  /** Ends of the audit that others kept. */
  notes?: readonly KeptAuditNote[];
  /** What the appliance does afterwards. */
  then?(store: Store): Promise<unknown>;
}

const keptAt = (number: number, hash: string): KeptAuditNote => ({
  ...{ number, hash, at: systemClock.now(), source: "in the cloud" },
});

/** What is found in a copy that somebody changed by `sql`, past the triggers. */
async function tampered(
  change: string | ((db: Database.Database) => void),
  checkpoint?: AuditVerification["last"],
  { notes = [], then = async () => undefined }: Attack = {},
): Promise<AuditVerification> {
  const copy = makeTempDir();
  cpSync(written, copy, { recursive: true });
  const db = new Database(join(copy, "carillon.db"));
  for (const name of ["update", "delete", "replace"]) db.exec(`DROP TRIGGER audit_no_${name}`);
  if (typeof change === "string") db.exec(change);
  else change(db);
  db.close();
  const store = openTestStore(copy);
  try {
    await then(store);
    const range: AuditRange = { notes };
    return await store.audit.verify(checkpoint ? { ...range, checkpoint } : range);
  } finally {
    await store.close();
  }
}

describe("audit hash chain", () => {
  it("verifies an untouched chain", () => {
    expect(sound).toMatchObject({ intact: true, entries: ENTRIES, finished: true, broken: null });
    expect(sound.last).toEqual({ number: ENTRIES, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it.each([
    ["an entry that was changed", "UPDATE audit_entries SET actor_name = 'Nobody' WHERE pk = 120", 120, "changed"],
    ["a value that was hidden", "UPDATE audit_entries SET after = NULL WHERE pk = 1", 1, "changed"],
    [
      "a note that was changed",
      `UPDATE audit_entries SET details = '{"n":2}' WHERE pk = ${ENTRIES}`,
      ENTRIES,
      "changed",
    ],
    ["an entry that was taken out", "DELETE FROM audit_entries WHERE pk = 150", 151, "150 to 150 are missing"],
    ["a beginning that was taken out", "DELETE FROM audit_entries WHERE pk <= 100", 101, "1 to 100 are missing"],
    ["a moment that was moved", "UPDATE audit_entries SET created_at = created_at - 1 WHERE pk = 99", 99, "changed"],
    ["a moment that is none", "UPDATE audit_entries SET created_at = 9e15 WHERE pk = 99", 99, "changed"],
    [
      "an entry that was closed up",
      "DELETE FROM audit_entries WHERE pk = 10; UPDATE audit_entries SET pk = pk - 1 WHERE pk > 10",
      10,
      "changed",
    ],
  ])("detects %s", async (_case, sql, number, reason) => {
    const found = await tampered(sql);
    expect(found.intact).toBe(false);
    expect(found.broken).toMatchObject({ number, reason: expect.stringContaining(reason) });
    expect(found.entries).toBe(found.last.number);
  });

  it("detects a truncated and a recomputed end with a stored checkpoint", async () => {
    const cut = `DELETE FROM audit_entries WHERE pk > ${ENTRIES - 5}`;
    expect((await tampered(cut)).intact).toBe(true);
    expect((await tampered(cut, sound.last)).broken).toMatchObject({
      number: ENTRIES - 4,
      reason: "The end was cut off.",
    });
    const other = { number: 200, hash: "0".repeat(64) };
    expect((await tampered("SELECT 1", other)).broken?.number).toBe(200);
  });

  it("verifies the chain in parts", async () => {
    const store = openTestStore(written);
    const first = await store.audit.verify({ maxEntries: 100 });
    expect(first).toMatchObject({ intact: true, entries: 100, finished: false });
    expect(await store.audit.verify({ after: first.last })).toEqual(sound);
    await store.close();
  });

  it("detects a log that was written again with good hashes, but without the key", async () => {
    const found = await tampered((db) => {
      db.exec("UPDATE audit_entries SET actor_name = 'Nobody' WHERE pk = 120");
      rechainWithoutKey(db);
    });
    expect(found).toMatchObject({ intact: false, entries: 0, broken: { number: 1 } });
  });

  it("detects a written log that claims to be one of an earlier release", async () => {
    const invented = (db: Database.Database): void => {
      db.exec("UPDATE audit_entries SET op = 'audit-sealed', actor_name = 'store' WHERE pk = 240");
      rechainWithoutKey(db);
    };
    expect(await tampered(invented)).toMatchObject({ intact: false, broken: { number: 240 } });
    // The appliance goes on writing, with its key.
    const then = (store: Store) => store.create(rooms, { name: "later" }, everybody);
    expect(await tampered(invented, undefined, { then })).toMatchObject({ intact: false, broken: { number: 240 } });
  });

  it("detects an emptied log", async () => {
    const found = await tampered("DELETE FROM audit_entries");
    expect(found).toMatchObject({ intact: false, entries: 0 });
    expect(found.broken).toMatchObject({ number: 1, reason: expect.stringContaining("was emptied") });
  });

  it("accepts a log without entries as long as nothing was written", async () => {
    const store = openTestStore(makeTempDir());
    expect(await store.audit.verify()).toMatchObject({ intact: true, entries: 0 });
    await store.close();
  });

  it("detects by kept ends that the end was cut off, also when the appliance goes on writing", async () => {
    const notes = [keptAt(10, (await hashOf(10)) as string), keptAt(ENTRIES, sound.last.hash)];
    expect(await tampered("SELECT 1", undefined, { notes })).toMatchObject({ intact: true });
    const cut = `DELETE FROM audit_entries WHERE pk > ${ENTRIES - 2}`;
    const found = await tampered(cut, undefined, { notes });
    expect(found.broken?.reason).toMatch(/^The end was cut off: there were 250 entries, as kept in the cloud on 20/);
    const then = async (store: Store): Promise<void> => {
      for (const name of ["one", "two", "three"]) await store.create(rooms, { name }, everybody);
    };
    const later = await tampered(cut, undefined, { notes, then });
    expect(later.broken).toMatchObject({ number: ENTRIES, reason: expect.stringContaining("does not match the end") });
    const emptied = await tampered("DELETE FROM audit_entries", undefined, { notes, then });
    expect(emptied.intact).toBe(false);
  });

  it("signs its end with the key, so that others cannot invent one", async () => {
    const store = openTestStore(written);
    const end = store.audit.end();
    expect(end).toMatchObject({ number: ENTRIES, hash: sound.last.hash });
    if (!end) return;
    expect(store.audit.isAuthentic(end)).toBe(true);
    for (const changed of [{ number: 9 }, { hash: "0".repeat(64) }, { at: end.at - 1 }, { mac: "0".repeat(64) }])
      expect(store.audit.isAuthentic({ ...end, ...changed })).toBe(false);
    expect(store.audit.includes(end)).toBe(true);
    expect(store.audit.includes({ number: ENTRIES, hash: "0".repeat(64) })).toBe(false);
    await store.close();
  });
});

describe("audit of an earlier release", () => {
  /** A copy as release 0.1 left it: hashes without a key. */
  function earlier(change: (db: Database.Database) => void = () => undefined): string {
    const copy = makeTempDir();
    cpSync(written, copy, { recursive: true });
    const db = new Database(join(copy, "carillon.db"));
    for (const name of ["update", "delete", "replace"]) db.exec(`DROP TRIGGER audit_no_${name}`);
    rechainWithoutKey(db);
    change(db);
    db.exec("DELETE FROM schema_migrations WHERE name = '0010-audit-seal'");
    db.close();
    return copy;
  }

  it("is verified and sealed by the first entry that is written", async () => {
    const copy = earlier();
    const store = openTestStore(copy);
    await store.create(rooms, { name: "new" }, everybody);
    const [seal] = store.all<{ pk: number; details: string }>(
      "SELECT pk, details FROM audit_entries WHERE op = 'audit-sealed'",
    );
    expect(seal?.pk).toBe(ENTRIES + 1);
    expect(JSON.parse(seal?.details ?? "{}")).toMatchObject({ entries: ENTRIES, intact: true });
    expect(await store.audit.verify()).toMatchObject({ intact: true, entries: ENTRIES + 2 });
    await store.close();
    // Once only.
    const again = openTestStore(copy);
    await again.create(rooms, { name: "newer" }, everybody);
    expect(again.all("SELECT 1 FROM audit_entries WHERE op = 'audit-sealed'")).toHaveLength(1);
    await again.close();
    // From now on, it cannot be written again without the key.
    const db = new Database(join(copy, "carillon.db"));
    for (const name of ["update", "delete", "replace"]) db.exec(`DROP TRIGGER audit_no_${name}`);
    db.exec("UPDATE audit_entries SET actor_name = 'Nobody' WHERE pk = 120");
    rechainWithoutKey(db);
    db.close();
    const attacked = openTestStore(copy);
    expect(await attacked.audit.verify()).toMatchObject({ intact: false, broken: { number: ENTRIES + 1 } });
    await attacked.close();
  });

  it("that was tampered with before is sealed as broken", async () => {
    const store = openTestStore(
      earlier((db) => db.exec("UPDATE audit_entries SET actor_name = 'Nobody' WHERE pk = 120")),
    );
    await store.create(rooms, { name: "new" }, everybody);
    const [seal] = store.all<{ details: string }>("SELECT details FROM audit_entries WHERE op = 'audit-sealed'");
    expect(JSON.parse(seal?.details ?? "{}")).toMatchObject({ intact: false, broken: { number: 120 } });
    expect(await store.audit.verify()).toMatchObject({ intact: false, broken: { number: 120 } });
    await store.close();
  });
});

async function hashOf(number: number): Promise<string | undefined> {
  const store = openTestStore(written);
  const [found] = store.all<{ hash: string }>("SELECT hash FROM audit_entries WHERE pk = ?", number);
  await store.close();
  return found?.hash;
}
