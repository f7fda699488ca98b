import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import { NOTIFICATION_TABLES } from "../../../../src/notifications/schema.ts";
import { backupName, backupTimeOf, expiredBackups } from "../../../../src/ops/backup/backup-manifest.ts";
import { pruneBackups, takeBackup, verifyBackup } from "../../../../src/ops/backup/take-backup.ts";
import endpointActivities from "../../../../src/resources/devices/endpoint-activities.ts";
import endpoints from "../../../../src/resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../../../../src/resources/devices/on-premises-extension.ts";
import users from "../../../../src/resources/people/users.ts";
import { initializeFeed, readFeedHead } from "../../../../src/sync/hub/publish.ts";
import { FEED_HEAD } from "../../../../src/sync/hub/tables.ts";
import { initializeSyncState, readSyncState } from "../../../../src/sync/site/sync-state.ts";
import { SYNC_STATE } from "../../../../src/sync/site/tables.ts";
import { collectionTables, createSqliteProgramRunner } from "../../../../src/sync/storage/sqlite-program-runner.ts";
import { getRecord, type TransactionProgram } from "../../../../src/sync/storage/transaction-program.ts";
import { type ApplianceData, openApplianceDataOffline } from "../../../../src/wiring/appliance-data.ts";
import { initAppliance } from "../../../../src/wiring/init.ts";
import { storeLocalEndpoint } from "../../../../src/wiring/local-endpoint.ts";
import { restoreBackup } from "../../../../src/wiring/restore.ts";
import { completePendingRestore } from "../../../../src/wiring/restore-journal.ts";
import { TEST_ADMIN } from "../../../support/daemon.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";

const SOUND = Buffer.from("a recording, as far as this test is concerned ".repeat(200));
const SHA = createHash("sha256").update(SOUND).digest("hex");

let dataDir: string;
let folder: string;
let backup: string;

const take = (data: ApplianceData, version = "0.0.1", signal?: AbortSignal) =>
  takeBackup(folder, {
    store: data.store,
    dataDir,
    version,
    now: Date.now(),
    isScheduled: true,
    ...(signal && { signal }),
  });

async function withData<T>(where: string, use: (data: ApplianceData) => Promise<T>): Promise<T> {
  const data = await openApplianceDataOffline(where, systemClock);
  try {
    return await use(data);
  } finally {
    await data.close();
  }
}

const addUser = (where: string, name: string) =>
  withData(where, ({ store, access }) =>
    store.create(users, { name, type: "anonymous" }, access.systemContext("test")),
  );

const namesIn = (where: string) => withData(where, async ({ store }) => store.find(users, {}).map(({ name }) => name));

beforeAll(async () => {
  dataDir = makeTempDir();
  folder = makeTempDir();
  await initAppliance(dataDir, TEST_ADMIN, systemClock);
  mkdirSync(join(dataDir, "files", SHA.slice(0, 2)), { recursive: true });
  writeFileSync(join(dataDir, "files", SHA.slice(0, 2), SHA), SOUND);
  await addUser(dataDir, "Before");
  backup = (await withData(dataDir, (data) => take(data))).path;
});

describe("a backup", () => {
  it("contains database and files without the key, and is verified", async () => {
    const { faults, manifest } = await verifyBackup(backup, makeTempDir());
    expect(faults).toEqual([]);
    expect(manifest.files.map(({ path }) => path)).toEqual(["carillon.db", `files/${SHA.slice(0, 2)}/${SHA}`]);
    expect(manifest.rows).toMatchObject({ users: 2 });
    expect(readFileSync(backup).includes(readFileSync(join(dataDir, "secret-key")))).toBe(false);
  });

  it("names the file with one flipped bit", async () => {
    const bytes = readFileSync(backup);
    const damaged = join(makeTempDir(), "damaged.tar");
    const inSound = bytes.indexOf(SOUND) + 777;
    const inDatabase = bytes.indexOf("SQLite format 3") + 5_000;
    for (const [at, name] of [
      [inSound, SHA],
      [inDatabase, "carillon.db"],
      [bytes.indexOf('"takenAt"') + 14, "manifest.json"],
    ] as const) {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] as number) ^ 4;
      writeFileSync(damaged, copy);
      const { faults } = await verifyBackup(damaged, makeTempDir());
      expect(faults.join("\n")).toContain(name);
    }
    writeFileSync(damaged, bytes.subarray(0, bytes.length / 2));
    expect((await verifyBackup(damaged, makeTempDir())).faults).not.toEqual([]);
  });

  it("leaves the last good backup and nothing else when it is aborted", async () => {
    const before = readdirSync(folder);
    await withData(dataDir, async (data) => {
      await expect(take(data, "0.0.1", AbortSignal.abort())).rejects.toThrow();
    });
    mkdirSync(join(folder, ".working-left-by-a-killed-process"));
    await withData(dataDir, async (data) => {
      await expect(take(data, "0.0.1", AbortSignal.abort())).rejects.toThrow();
    });
    expect(readdirSync(folder)).toEqual(before);
  });

  it("names files that are damaged on the appliance itself", async () => {
    const path = join(dataDir, "files", SHA.slice(0, 2), SHA);
    writeFileSync(path, Buffer.concat([SOUND.subarray(1), Buffer.from("!")]));
    const elsewhere = makeTempDir();
    const { faults } = await withData(dataDir, ({ store }) =>
      takeBackup(elsewhere, { store, dataDir, version: "0.0.1", now: 0, isScheduled: true }),
    );
    writeFileSync(path, SOUND);
    expect(faults).toEqual([expect.stringContaining(`${SHA} is damaged on this appliance`)]);
  });
});

describe("a restore", () => {
  it("restores the saved data and keeps the previous data aside", async () => {
    await addUser(dataDir, "After");
    const { aside, ended } = await restoreBackup({ file: backup, dataDir, clock: systemClock });
    expect(ended).toBe(0);
    expect(await namesIn(dataDir)).toEqual(["Administrator", "Before"]);
    expect(existsSync(join(aside as string, "carillon.db"))).toBe(true);
    expect(readFileSync(join(dataDir, "files", SHA.slice(0, 2), SHA))).toEqual(SOUND);
    expect(readdirSync(dataDir).filter((name) => name.startsWith("restoring"))).toEqual([]);
  });

  it("is recorded at the appliance's own endpoint, though another one comes first", async () => {
    const source = makeTempDir();
    const { endpointId } = await initAppliance(source, TEST_ADMIN, systemClock);
    const own = await withData(source, async ({ store, access }) => {
      const given = { extensionId: ONPREM_EXTENSION_ID, name: "Own" };
      const { id } = await store.create(endpoints, given, access.systemContext("test"));
      await store.write((tx) => storeLocalEndpoint(tx, id));
      return id;
    });
    const made = await withData(source, (data) =>
      takeBackup(makeTempDir(), { ...data, dataDir: source, version: "0.0.1", now: 0, isScheduled: true }),
    );
    await restoreBackup({ file: made.path, dataDir: source, clock: systemClock });
    const recorded = await withData(source, async ({ store }) =>
      [endpointId, own].map((id) => store.count(endpointActivities, { endpointId: id })),
    );
    expect(recorded).toEqual([0, 1]);
  });

  it("resets the replication state of an appliance and a cloud", async () => {
    const linked = async <T>(work: () => TransactionProgram<T>): Promise<T> => {
      const data = await openApplianceDataOffline(
        dataDir,
        systemClock,
        undefined,
        collectionTables([SYNC_STATE, FEED_HEAD] as never),
      );
      const by = data.access.systemContext("test");
      return createSqliteProgramRunner(data.store, data.catalogue, by)
        .transact(work as never)
        .finally(data.close) as Promise<T>;
    };
    await linked(function* () {
      yield* initializeSyncState("here", "all");
      yield* initializeFeed("first");
    });
    const saved = (await withData(dataDir, (data) => take(data))).path;
    const before = await linked(readSyncState);
    await restoreBackup({ file: saved, dataDir, clock: systemClock });
    expect((await linked(readSyncState)).incarnation).toBeGreaterThan(before.incarnation);
    expect((await linked(readFeedHead)).epoch).not.toBe("first");
    // What was never linked stays so.
    await restoreBackup({ file: backup, dataDir, clock: systemClock });
    expect(await linked(() => getRecord(SYNC_STATE, "link"))).toBeNull();
  });

  it("does not repeat messages that were unanswered when the backup was taken", async () => {
    const due = async (work: (data: ApplianceData) => Promise<unknown>): Promise<unknown> => {
      const data = await openApplianceDataOffline(dataDir, systemClock, undefined, NOTIFICATION_TABLES);
      return work(data).finally(data.close);
    };
    const add =
      "INSERT INTO notification_timers (notification, kind, ref, at) VALUES (1, 'repeat', '1', 0), (1, 'escalation', 'a', 0)";
    await due(({ store }) => store.write((tx) => void tx.run(add)));
    const saved = (await withData(dataDir, (data) => take(data))).path;
    await restoreBackup({ file: saved, dataDir, clock: systemClock });
    expect(await due(async ({ store }) => store.all("SELECT kind FROM notification_timers"))).toEqual([
      { kind: "escalation" },
    ]);
  });

  it("rejects a backup of a newer version, with another key or damaged, and changes nothing", async () => {
    const newer = (await withData(dataDir, (data) => take(data, "99.0.0"))).path;
    const before = readdirSync(dataDir).sort();
    await expect(restoreBackup({ file: newer, dataDir, clock: systemClock })).rejects.toThrow("99.0.0");
    const damaged = join(makeTempDir(), "damaged.tar");
    writeFileSync(damaged, readFileSync(backup).subarray(0, 40_000));
    await expect(restoreBackup({ file: damaged, dataDir, clock: systemClock })).rejects.toThrow("damaged");
    expect(readdirSync(dataDir).sort()).toEqual(before);

    const empty = join(makeTempDir(), "new");
    await expect(restoreBackup({ file: backup, dataDir: empty, clock: systemClock })).rejects.toThrow("--without-key");
    expect(readdirSync(empty)).toEqual([]);
    const keyFile = join(dataDir, "secret-key");
    await restoreBackup({ file: backup, dataDir: empty, keyFile, clock: systemClock });
    expect(readdirSync(empty).filter((name) => name.startsWith("before-restore"))).toEqual([]);
    expect(await namesIn(empty)).toEqual(["Administrator", "Before"]);
    expect(readFileSync(join(empty, "secret-key"))).toEqual(readFileSync(keyFile));
  });

  it("uses the service credential as key and creates none in the data directory", async () => {
    const dir = join(makeTempDir(), "data");
    const keyFile = join(makeTempDir(), "kept-elsewhere");
    await restoreBackup({ file: backup, dataDir: dir, keyFile: join(dataDir, "secret-key"), clock: systemClock });
    renameSync(join(dir, "secret-key"), keyFile);
    await expect(namesIn(dir)).rejects.toThrow("secret-key is missing");
    await restoreBackup({ file: backup, dataDir: dir, credential: readFileSync(keyFile), clock: systemClock });
    expect(existsSync(join(dir, "secret-key"))).toBe(false);
    writeFileSync(join(dir, "secret-key"), randomBytes(32));
    await expect(namesIn(dir)).rejects.toThrow("does not match the key that the data");
    await restoreBackup({ file: backup, dataDir: dir, withoutKey: true, clock: systemClock });
    expect(await namesIn(dir)).toEqual(["Administrator", "Before"]);
    expect(await withData(dir, ({ store }) => store.audit.verify())).toMatchObject({ intact: true });
  });

  it("leaves an audit entry, and the ends from before it that lie after the backup do not count", async () => {
    const dir = join(makeTempDir(), "data");
    await restoreBackup({ file: backup, dataDir: dir, keyFile: join(dataDir, "secret-key"), clock: systemClock });
    await addUser(dir, "Lost");
    const lost = await withData(dir, async ({ store }) => store.audit.end());
    if (!lost) throw new Error("no audit");
    const note = { ...lost, source: "in the cloud" };
    await restoreBackup({ file: backup, dataDir: dir, clock: systemClock });
    await withData(dir, async ({ store }) => {
      expect(await store.audit.verify({ notes: [note] })).toMatchObject({ intact: true });
      // A later end still counts: the same attack cannot be repeated under cover of the restore.
      const later = { ...note, at: systemClock.now() + 1 };
      expect(await store.audit.verify({ notes: [later] })).toMatchObject({ intact: false });
      const [entry] = store.all<{ details: string }>(
        "SELECT details FROM audit_entries WHERE op = 'trust-change' ORDER BY pk DESC",
      );
      expect(JSON.parse(entry?.details ?? "{}").change).toContain("replaced by the backup");
    });
  });

  it("is rejected while the data are in use", async () => {
    await withData(dataDir, async () => {
      await expect(restoreBackup({ file: backup, dataDir, clock: systemClock })).rejects.toThrow("Another process");
    });
  });

  it.each([false, true])("completes an interrupted restore at the next start (old data moved: %s)", (cleared) => {
    const dir = makeTempDir();
    mkdirSync(join(dir, "stage"));
    mkdirSync(join(dir, "aside"));
    writeFileSync(join(dir, "stage", "carillon.db"), "new");
    writeFileSync(join(dir, cleared ? "aside" : ".", "carillon.db"), "old");
    const names = ["carillon.db", "files"];
    writeFileSync(join(dir, "restoring.json"), JSON.stringify({ stage: "stage", aside: "aside", names, cleared }));
    completePendingRestore(dir);
    expect(readFileSync(join(dir, "carillon.db"), "utf8")).toBe("new");
    expect(readFileSync(join(dir, "aside", "carillon.db"), "utf8")).toBe("old");
    expect(readdirSync(dir).sort()).toEqual(["aside", "carillon.db"]);
  });
});

describe("retention of backups", () => {
  const day = 86_400_000;
  const at = (days: number, hour: number) => days * day + hour * 3_600_000;

  const utc = () => 0;

  it("keeps the first and the last of seven days and the last of four weeks", () => {
    const nightly = Array.from({ length: 60 }, (_, night) => at(20_000 + night, 2));
    const noon = at(20_059, 12);
    const evening = at(20_059, 23);
    const gone = expiredBackups([...nightly, noon, evening], { days: 7, weeks: 4, offsetAt: utc });
    const kept = nightly.filter((each) => !gone.includes(each)).map((each) => Math.floor(each / day) - 20_000);
    // 20000 + 53 is the first of the last seven; 20055 is a Sunday, 48 and 41 the ones before; the week under way counts.
    expect(kept.slice(-7)).toEqual([53, 54, 55, 56, 57, 58, 59]);
    expect(kept.length).toBe(9);
    expect(gone).toContain(noon);
    expect(gone).not.toContain(evening);
  });

  it("counts the days of the site", () => {
    // 06:00 and 07:00 UTC are 22:00 and 23:00 of the day before where clocks are eight hours behind.
    const taken = [6, 7, 9].map((hour) => at(20_001, hour));
    const vancouver = { days: 1, weeks: 0, offsetAt: () => -8 * 3_600_000 };
    expect(expiredBackups(taken, vancouver)).toEqual([at(20_001, 7), at(20_001, 6)]);
    expect(expiredBackups(taken, { ...vancouver, offsetAt: utc })).toEqual([at(20_001, 7)]);
  });

  it("deletes no backup that somebody asked for", async () => {
    const folder = makeTempDir();
    const names = Array.from({ length: 9 }, (_, night) => backupName(at(20_000 + night, 2), night % 2 === 0));
    for (const name of [...names, "carillon-2024-10-04T020000Z.tar.old"]) writeFileSync(join(folder, name), "");
    await pruneBackups(folder, { days: 2, weeks: 0, offsetAt: utc });
    const left = readdirSync(folder);
    expect(left.filter((name) => name.endsWith("-manual.tar"))).toHaveLength(4);
    expect(left.filter((name) => name.endsWith("Z.tar"))).toEqual([names[6], names[8]]);
    expect(left).toContain("carillon-2024-10-04T020000Z.tar.old");
  });

  it("names backups by their time", () => {
    for (const isScheduled of [true, false])
      expect(backupTimeOf(backupName(1_700_000_000_000, isScheduled))).toBe(1_700_000_000_000);
    expect(backupTimeOf("carillon.tar")).toBeNull();
  });
});
