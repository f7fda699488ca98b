import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import Database from "better-sqlite3";
import { takeAndAwaitBackup } from "../../src/cli/backup.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { verifyBackup } from "../../src/ops/backup/take-backup.ts";
import users from "../../src/resources/people/users.ts";
import { seededRandom } from "../../src/tools/simulator/seeded-random.ts";
import { openApplianceDataOffline } from "../../src/wiring/appliance-data.ts";
import { sendControlCommand } from "../../src/wiring/control-socket.ts";
import { restoreBackup } from "../../src/wiring/restore.ts";
import { type RunningDaemon, runInit, serveAppliance } from "../support/carillon-process.ts";
import { seedRows } from "../support/seed-rows.ts";
import { createTestUser } from "./kills.ts";
import {
  type LoopStatistics,
  readLoopStatistics,
  startIdle,
  withLoopMonitor,
  worstLoopStatistics,
} from "./loop-monitor.ts";

/** What backups under load came to. */
export interface BackupRun {
  rows: number;
  /** How long the slowest one took. */
  backupMs: number;
  bytes: number;
  /** The daemon's loop while four clients write, and while they write and backups are taken, for as long each; the worst. */
  writing: LoopStatistics;
  backingUp: LoopStatistics;
  /** The longest time for which a turn kept the loop during a backup, half of the backups: others use the machine too. */
  usuallyHeldMs: number;
  /** A process that does nothing, all that time: what the machine itself keeps everybody waiting. */
  idle: LoopStatistics;
  /** Creates that were answered during the backups. */
  written: number;
  kills: number;
  /** Bits that were flipped in a copy of the backup, and how many of them were named; the rest meant nothing. */
  flips: number;
  named: number;
  /** Promises that were not kept, in words. */
  broken: string[];
}

const WRITERS = 4;
const ROUNDS = 5;
/** What a start still does by itself. */
const SETTLE_MS = 3_000;
const FLIPS = 10;

/** Takes a backup of `rows` users under writes, kills the daemon `kills` times in the middle of one, restores and damages one. */
export async function backupUnderLoad(
  rows: number,
  kills: number,
  seed: number,
  say: (progress: string) => void,
): Promise<BackupRun> {
  const folder = await mkdtemp(join(tmpdir(), "carillon-backup-"));
  const dataDir = join(folder, "data");
  const backups = join(dataDir, "backups");
  const pulse = join(folder, "pulse.json");
  const broken: string[] = [];
  const { token } = await runInit(dataDir);
  fill(dataDir, rows);
  let daemon = await withLoopMonitor(pulse, () => serveAppliance(dataDir));
  try {
    const beside = await backupsBesideWrites(daemon, token, dataDir, pulse, say);
    const { good, answered, backupMs } = beside;
    const bytes = readFileSync(good).length;

    const kept = join(folder, "kept.tar");
    copyFileSync(good, kept);
    const known = hashOf(kept);
    for (let kill = 0; kill < kills; kill++) {
      const load = startWriters(daemon, token);
      const taking = take(dataDir).catch(() => "");
      await pause(seededRandom(seed, kill) * backupMs);
      load.expectEnd();
      await daemon.end("SIGKILL");
      await Promise.all([taking, load.stop()]);
      const left = readdirSync(backups).filter((name) => name.startsWith(".")).length;
      daemon = await withLoopMonitor(pulse, () => serveAppliance(dataDir));
      broken.push(...(await leftBy(backups, known)));
      say(`kill ${kill + 1} of ${kills}: ${left} left behind, ${broken.length} promises broken`);
    }
    await daemon.end("SIGTERM");
    broken.push(...(await restored(kept, folder, join(dataDir, "secret-key"), rows, answered)));
    const named = await flipBits(kept, folder, seed, broken);
    say(`${named} of ${FLIPS} flipped bits were named`);
    const { writing, backingUp, usuallyHeldMs, idle, written } = beside;
    return {
      rows,
      backupMs,
      bytes,
      writing,
      backingUp,
      usuallyHeldMs,
      idle,
      written,
      kills,
      flips: FLIPS,
      named,
      broken,
    };
  } finally {
    await daemon.end("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  }
}

/** Takes `ROUNDS` backups beside four writers, and lets these write alone for as long after each. */
async function backupsBesideWrites(
  daemon: RunningDaemon,
  token: string,
  dataDir: string,
  pulse: string,
  say: (progress: string) => void,
) {
  const idlePulse = `${pulse}-idle`;
  const idle = await startIdle(idlePulse);
  const writers = startWriters(daemon, token);
  const [writing, backingUp]: [LoopStatistics[], LoopStatistics[]] = [[], []];
  let [good, backupMs, written] = ["", 0, 0];
  let answered: string[] = [];
  try {
    await pause(SETTLE_MS);
    for (let round = 0; round < ROUNDS; round++) {
      answered = [...writers.answered];
      const began = performance.now();
      backingUp.push(
        await pulseOf(daemon, pulse, async () => {
          good = await take(dataDir);
        }),
      );
      const tookMs = Math.round(performance.now() - began);
      const made = writers.answered.length - answered.length;
      [backupMs, written] = [Math.max(backupMs, tookMs), written + made];
      writing.push(await pulseOf(daemon, pulse, () => pause(tookMs)));
      const [alone, beside] = [writing, backingUp].map((pulses) => pulses.at(-1)?.heldMaxMs.toFixed(1));
      say(`${tookMs} ms beside ${made} creates: the loop was held for ${beside} ms at most, without a backup ${alone}`);
    }
    await writers.stop();
    const pulses = {
      writing: worstLoopStatistics(writing),
      backingUp: worstLoopStatistics(backingUp),
      idle: await readLoopStatistics(idlePulse),
    };
    const held = backingUp.map(({ heldMaxMs }) => heldMaxMs).sort((one, other) => one - other);
    return { good, answered, backupMs, written, usuallyHeldMs: held[ROUNDS >> 1] ?? Number.NaN, ...pulses };
  } finally {
    idle.stop();
  }
}

/** Rows that need not be searched: what is measured is the backup. */
function fill(dataDir: string, rows: number): void {
  seedRows(dataDir, { users: rows, devices: 0 });
  const database = new Database(join(dataDir, "carillon.db"));
  database.exec("DELETE FROM search_pending");
  database.close();
}

async function take(dataDir: string): Promise<string> {
  const report = await takeAndAwaitBackup(
    async (order, args) => (await sendControlCommand(dataDir, { order, args }))?.result,
  );
  return report.path;
}

/** What the daemon's loop did during `work` alone. */
async function pulseOf(daemon: RunningDaemon, file: string, work: () => Promise<void>): Promise<LoopStatistics> {
  daemon.child.kill("SIGUSR2");
  await work();
  await pause(300);
  return readLoopStatistics(file);
}

interface Writers {
  /** Ids of the users that were made. */
  readonly answered: string[];
  /** From here on a broken connection is no fault. */
  expectEnd(): void;
  stop(): Promise<void>;
}

function startWriters(daemon: RunningDaemon, token: string): Writers {
  const answered: string[] = [];
  let [stopped, ending] = [false, false];
  const write = async (writer: number): Promise<void> => {
    for (let number = 0; !stopped; number++) {
      const made = await createTestUser(daemon, token, `Writer ${writer} ${number}`).catch((error: unknown) => {
        if (!ending) throw error;
        return null;
      });
      if (made === null) return;
      answered.push(made);
    }
  };
  const running = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  return {
    answered,
    expectEnd() {
      ending = true;
    },
    async stop() {
      stopped = true;
      await running;
    },
  };
}

/** What is not as it should be after a kill and a start; a backup that was done before the kill takes the place of the one before. */
async function leftBy(backups: string, known: string): Promise<string[]> {
  const names = readdirSync(backups);
  const broken = names.filter((name) => name.startsWith(".")).map((name) => `${name} was not cleared away`);
  const whole = names.filter((each) => each.endsWith(".tar"));
  if (whole.length === 0) broken.push("no backup is left");
  for (const name of whole) {
    if (hashOf(join(backups, name)) === known) continue;
    const { faults } = await verifyBackup(join(backups, name), backups);
    if (faults.length > 0) broken.push(`${name} is there and damaged: ${faults.join("; ")}`);
  }
  return broken;
}

/** Brings the backup back on another machine and looks for all that was there when it began. */
async function restored(
  good: string,
  folder: string,
  keyFile: string,
  rows: number,
  answered: readonly string[],
): Promise<string[]> {
  const dataDir = join(folder, "restored");
  await restoreBackup({ file: good, dataDir, keyFile, clock: systemClock });
  const data = await openApplianceDataOffline(dataDir, systemClock);
  const missing = answered.filter((id) => data.store.get(users, id) === null).length;
  const found = data.store.count(users, {});
  await data.close();
  const broken = missing > 0 ? [`${missing} of ${answered.length} answered creates are not in the backup`] : [];
  if (found < rows + answered.length) broken.push(`${found} users were restored, ${rows + answered.length} were there`);
  return broken;
}

/** Flips one bit at a time; each is named, or lies where nothing is: between the files of an archive there are zeros. */
async function flipBits(good: string, folder: string, seed: number, broken: string[]): Promise<number> {
  const bytes = readFileSync(good);
  const damaged = join(folder, "damaged.tar");
  let named = 0;
  for (let flip = 0; flip < FLIPS; flip++) {
    const at = Math.floor(seededRandom(seed, 1_000_000 + flip) * bytes.length);
    const before = bytes[at] as number;
    bytes[at] = before ^ (1 << (flip % 8));
    writeFileSync(damaged, bytes);
    bytes[at] = before;
    const { faults } = await verifyBackup(damaged, folder);
    if (faults.length > 0) named += 1;
    else if (before !== 0) broken.push(`a bit flipped at ${at} was not found`);
  }
  return named;
}

function hashOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
