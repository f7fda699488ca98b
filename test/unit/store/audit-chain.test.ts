import { cpSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { type AuditVerification, verifyAudit } from "../../../src/store/audit-chain.ts";
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
  sound = await verifyAudit(store, systemClock);
  await store.close();
});

/** What is found in a copy that somebody changed by `sql`, past the triggers. */
async function tampered(sql: string, checkpoint?: AuditVerification["last"]): Promise<AuditVerification> {
  const copy = makeTempDir();
  cpSync(written, copy, { recursive: true });
  const db = new Database(join(copy, "carillon.db"));
  for (const name of ["update", "delete", "replace"]) db.exec(`DROP TRIGGER audit_no_${name}`);
  db.exec(sql);
  db.close();
  const store = openTestStore(copy);
  try {
    return await verifyAudit(store, systemClock, checkpoint ? { checkpoint } : {});
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
    const first = await verifyAudit(store, systemClock, { maxEntries: 100 });
    expect(first).toMatchObject({ intact: true, entries: 100, finished: false });
    expect(await verifyAudit(store, systemClock, { after: first.last })).toEqual(sound);
    await store.close();
  });
});
