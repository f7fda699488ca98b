import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import { CallerError } from "../../../../src/lib/errors.ts";
import { silentLog } from "../../../../src/lib/log.ts";
import { createAuditNotes } from "../../../../src/ops/audit-notes.ts";
import { createBackupKey, labelPathOf, parseIdentities } from "../../../../src/ops/backup/backup-encryption.ts";
import { backupName } from "../../../../src/ops/backup/backup-manifest.ts";
import { listBackups, pruneBackups, takeBackup, verifyBackup } from "../../../../src/ops/backup/take-backup.ts";
import { OPERATION_STATE, writeOperationState } from "../../../../src/ops/operation-state.ts";
import users from "../../../../src/resources/people/users.ts";
import { openApplianceDataOffline } from "../../../../src/wiring/appliance-data.ts";
import { initAppliance } from "../../../../src/wiring/init.ts";
import { restoreBackup } from "../../../../src/wiring/restore.ts";
import { runControlCommand } from "../../../../src/wiring/run-control-command.ts";
import { TEST_ADMIN } from "../../../support/daemon.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";

const SOUND = Buffer.from("a recording, as far as this test is concerned ".repeat(9_000));
const SHA = createHash("sha256").update(SOUND).digest("hex");

type Key = Awaited<ReturnType<typeof createBackupKey>>;

let dataDir: string;
let folder: string;
let backup: string;
let safe: Key;
let other: Key;

async function take(into: string, recipients: string[], now = Date.now()) {
  const data = await openApplianceDataOffline(dataDir, systemClock);
  try {
    const { store } = data;
    return await takeBackup(into, { store, dataDir, version: "0.0.1", now, isScheduled: true, recipients });
  } finally {
    await data.close();
  }
}

async function namesIn(where: string): Promise<(string | null)[]> {
  const data = await openApplianceDataOffline(where, systemClock);
  try {
    return data.store.find(users, {}).map(({ name }) => name);
  } finally {
    await data.close();
  }
}

beforeAll(async () => {
  dataDir = makeTempDir();
  folder = makeTempDir();
  [safe, other] = [await createBackupKey(), await createBackupKey()];
  await initAppliance(dataDir, TEST_ADMIN, systemClock);
  mkdirSync(join(dataDir, "files", SHA.slice(0, 2)), { recursive: true });
  writeFileSync(join(dataDir, "files", SHA.slice(0, 2), SHA), SOUND);
  backup = (await take(folder, [safe.recipient, other.recipient])).path;
});

describe("an encrypted backup", () => {
  it("was decrypted and compared when it was taken, and shows nothing of the data", async () => {
    const report = await take(makeTempDir(), [safe.recipient]);
    expect(report).toMatchObject({ faults: [], encryption: "opened", manifest: { rows: { users: 1 } } });
    expect(report.path).toMatch(/Z\.tar\.age$/);
    const bytes = readFileSync(report.path);
    for (const text of ["SQLite format 3", "manifest.json", "Administrator", "a recording", TEST_ADMIN.email])
      expect(bytes.includes(text)).toBe(false);
    expect(readFileSync(labelPathOf(report.path), "utf8")).not.toContain("users");
  });

  it("leaves nothing but itself and its label in the folder, and no copy in the data directory", () => {
    expect(readdirSync(folder).sort()).toEqual([basename(backup), `${basename(backup)}.json`]);
    expect(readdirSync(dataDir).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("is restored with any one of the identities, and with nothing else", async () => {
    const keyFile = join(dataDir, "secret-key");
    const before = readdirSync(dataDir).sort();
    const stranger = await createBackupKey();
    await expect(restoreBackup({ file: backup, dataDir, clock: systemClock })).rejects.toThrow("--identity FILE");
    await expect(
      restoreBackup({ file: backup, dataDir, identities: [stranger.identity], clock: systemClock }),
    ).rejects.toThrow("different key");
    expect(readdirSync(dataDir).sort()).toEqual(before);
    for (const { identity } of [safe, other]) {
      const target = makeTempDir();
      await restoreBackup({
        ...{ file: backup, dataDir: target, keyFile, clock: systemClock },
        identities: [stranger.identity, identity],
      });
      expect(await namesIn(target)).toEqual(["Administrator"]);
      expect(readFileSync(join(target, "files", SHA.slice(0, 2), SHA))).toEqual(SOUND);
    }
  });

  it("is verified with and without the identity", async () => {
    const work = makeTempDir();
    const opened = await verifyBackup(backup, work, { identities: [safe.identity] });
    expect(opened).toMatchObject({ faults: [], encryption: "opened" });
    expect(opened.manifest.files).toHaveLength(2);
    const sealed = await verifyBackup(backup, work);
    expect(sealed).toMatchObject({ faults: [], encryption: "sealed", manifest: { version: "0.0.1" } });
    const alone = join(makeTempDir(), "copied.tar.age");
    copyFileSync(backup, alone);
    expect(await verifyBackup(alone, work)).toMatchObject({ faults: [], encryption: "unlabelled" });
    expect(readdirSync(work)).toEqual([]);
  });

  it("is damaged by any flipped bit, with and without the identity", async () => {
    const bytes = readFileSync(backup);
    const label = readFileSync(labelPathOf(backup));
    const damaged = join(makeTempDir(), "damaged.tar.age");
    for (const at of [30, 120, 700, 200_000, bytes.length - 1]) {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] as number) ^ 4;
      writeFileSync(damaged, copy);
      writeFileSync(labelPathOf(damaged), label);
      expect((await verifyBackup(damaged, makeTempDir())).faults.join()).toContain("checksum mismatch");
      const { faults } = await verifyBackup(damaged, makeTempDir(), { identities: [safe.identity] });
      expect(faults, `byte ${at}`).toHaveLength(1);
      await expect(
        restoreBackup({ file: damaged, dataDir: makeTempDir(), identities: [safe.identity], clock: systemClock }),
      ).rejects.toThrow("can't be restored");
    }
  });

  it("is not taken for whole when it was cut off, even between two chunks", async () => {
    const bytes = readFileSync(backup);
    const header = bytes.indexOf("\n--- ") + 49;
    const cut = join(makeTempDir(), "cut.tar.age");
    for (const length of [bytes.length - 1, header + 16 + 2 * 65_552, header + 20, 25]) {
      writeFileSync(cut, bytes.subarray(0, length));
      const { faults } = await verifyBackup(cut, makeTempDir(), { identities: [other.identity] });
      expect(faults.join(), `${length} bytes`).toContain("truncated");
      writeFileSync(labelPathOf(cut), readFileSync(labelPathOf(backup)));
      expect((await verifyBackup(cut, makeTempDir())).faults.join()).toContain("checksum mismatch");
      rmSync(labelPathOf(cut));
    }
    writeFileSync(cut, bytes.subarray(0, header + 20));
    expect((await verifyBackup(cut, makeTempDir())).faults.join()).toContain("truncated");
    writeFileSync(cut, bytes.subarray(0, 40));
    expect((await verifyBackup(cut, makeTempDir())).faults.join()).toContain("header is damaged");
  });

  it("may be encrypted with post-quantum keys", async () => {
    const hybrid = await createBackupKey("hybrid");
    const { path, faults } = await take(makeTempDir(), [hybrid.recipient]);
    expect(faults).toEqual([]);
    const report = await verifyBackup(path, makeTempDir(), { identities: [hybrid.identity] });
    expect(report).toMatchObject({ faults: [], encryption: "opened" });
  });

  it("makes way for later ones together with its label", async () => {
    const kept = makeTempDir();
    const night = (day: number, isEncrypted: boolean) => backupName(Date.UTC(2026, 10, day, 2), true, isEncrypted);
    for (const day of [1, 2, 3]) {
      writeFileSync(join(kept, night(day, true)), "");
      writeFileSync(labelPathOf(join(kept, night(day, true))), "");
    }
    writeFileSync(join(kept, night(4, false)), "");
    writeFileSync(join(kept, backupName(Date.UTC(2026, 10, 1, 9), false, true)), "");
    await pruneBackups(kept, { days: 2, weeks: 0, offsetAt: () => 0 });
    expect(readdirSync(kept).sort()).toEqual([
      "carillon-2026-11-01T090000Z-manual.tar.age",
      ...[night(3, true), `${night(3, true)}.json`, night(4, false)],
    ]);
    expect((await listBackups(kept)).map(({ encrypted }) => encrypted)).toEqual([false, true, true]);
  });

  it("proves the end of the audit by its label", async () => {
    const data = await openApplianceDataOffline(dataDir, systemClock);
    const notes = createAuditNotes({ ...data, clock: systemClock, log: silentLog, dataDir, backupFolder: folder });
    const collected = await notes.collect();
    await data.close();
    expect(collected).toContainEqual(
      expect.objectContaining({ source: `in the label of the backup ${basename(backup)}`, number: expect.any(Number) }),
    );
  });

  it("is taken without the daemon to the recipients that the daemon had", async () => {
    const own = makeTempDir();
    await initAppliance(own, TEST_ADMIN, systemClock);
    const data = await openApplianceDataOffline(own, systemClock, undefined, [OPERATION_STATE]);
    await data.store.write((tx) => writeOperationState(tx, "backup-recipients", [safe.recipient]));
    await data.close();
    const to = makeTempDir();
    const { report } = (await runControlCommand(own, "backup.take", { to }, systemClock)) as {
      report: { path: string; faults: string[] };
    };
    expect(report).toMatchObject({ faults: [], encryption: "opened" });
    expect(readdirSync(to).filter((name) => name.endsWith(".tar"))).toEqual([]);
    expect(existsSync(report.path)).toBe(true);
  });
});

describe("the file of an identity", () => {
  it("may have comments and several identities", () => {
    const text = `# created: 2026-11-01\n# public key: ${safe.recipient}\r\n${safe.identity}\n\n${other.identity}\n`;
    expect(parseIdentities(text, "identity.txt")).toEqual([safe.identity, other.identity]);
  });

  it("is refused without repeating what it contains", () => {
    for (const text of ["", "# nothing\n", safe.recipient, safe.identity.slice(0, -1), `${safe.identity}X`, "\0"]) {
      const parse = (): unknown => parseIdentities(text, "identity.txt");
      expect(parse).toThrow(CallerError);
      expect(parse).not.toThrow(safe.identity.slice(20, 40));
    }
  });
});
