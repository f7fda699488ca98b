import { UpstreamError } from "../../src/lib/errors.ts";
import { filesInBody, HUB_FILE_REQUESTS, SITE_FILE_REQUESTS } from "../../src/sync/files/file-requests.ts";
import type { FileReference, SyncLimits } from "../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../src/sync/protocol/replicated-types.ts";
import { listProductIds, readProductRow, scanRecords } from "../../src/sync/storage/transaction-program.ts";
import { type CloudMachine, createCloudMachine } from "./cloud-machine.ts";
import { injectRandomEvent, type SimulatedWorld } from "./fault-injection.ts";
import type { Disk } from "./machine.ts";
import { createMemoryBlobStore, sha256Of } from "./memory-blob-store.ts";
import { createMemoryDisk } from "./memory-disk.ts";
import { createNetwork, type Network } from "./network.ts";
import { createOracle, Violation } from "./oracle.ts";
import { CATALOGUE } from "./resources.ts";
import { emptyStatistics, type RunStatistics } from "./run-statistics.ts";
import { createRandomSource, type RandomSource } from "./seeded-random.ts";
import { createSiteMachine, type SiteMachine } from "./site-machine.ts";
import { createVirtualTime, type VirtualTime } from "./virtual-time.ts";

/** What came of a run. `trace` is the same for the same seed. */
export interface RunResult {
  figures: RunStatistics;
  violation: string | null;
  trace: number;
}

/** Few rows a page, so that pages, slices and windows are crossed all the time. */
const SMALL_LIMITS: SyncLimits = {
  pageRows: 4,
  pageBytes: 64 * 1024,
  credit: { frames: 3, bytes: 1_500 },
  applyBatchRows: 3,
  applyBatchMs: 0,
  fileChunkBytes: 16,
  fileChunksPerRequest: 2,
};
/** After all faults are over: long enough for every command to be over, too. */
const RECOVERY_MS = 150_000;

/** What the cloud's disk is made of. */
export interface CloudDiskDeps {
  time: VirtualTime;
  dice: RandomSource;
  violated(error: unknown): void;
}

/** Runs one seed: two appliances and a cloud, and `steps` things that happen to them. */
export async function runSeed(
  seed: number,
  steps: number,
  makeDisk: () => Disk,
  makeCloudDisk: (needs: CloudDiskDeps) => Disk = makeDisk,
): Promise<RunResult> {
  const dice = createRandomSource(seed);
  const time = createVirtualTime();
  const types = readReplicatedTypes(CATALOGUE);
  const figures = emptyStatistics();
  const run: RunResult = { figures, violation: null, trace: 0 };
  const came = (what: string): void => {
    for (const char of `${what}@${time.now()}`) run.trace = (Math.imul(run.trace, 31) + char.charCodeAt(0)) >>> 0;
  };
  const violated = (error: unknown): void => {
    // Whoever wrote was told; a database across a network may be away.
    if (error instanceof UpstreamError && makeCloudDisk !== makeDisk) figures.refused += 1;
    else if (error instanceof Violation) run.violation ??= error.message;
    else run.violation ??= error instanceof Error ? String(error.stack) : String(error);
  };
  const oracle = createOracle(time.now, violated);
  const shared = { time, dice, types, limits: SMALL_LIMITS, oracle, figures, violated };
  const lan = { isUp: true };
  const all: SiteMachine[] = [];
  const networks = new Map<SiteMachine, Network>();
  const cut = (site: SiteMachine): void => networks.get(site)?.cut();
  const cloud = createCloudMachine({
    ...shared,
    blobs: createMemoryBlobStore(),
    disk: makeCloudDisk({ time, dice, violated }),
    came,
    crashed: () => all.forEach(cut),
  });
  const dial = (site: SiteMachine): void => {
    const network = networks.get(site) as Network;
    if (!network.isUp || !cloud.isOpen) return;
    network.connect((own, other) => {
      const end = cloud.accept(other, site.watched.name);
      site.attach(own);
      return { site: site.end(own), cloud: end ?? { frame: () => false, closed() {} } };
    });
  };
  for (const name of ["site-a", "site-b"]) {
    const site = createSiteMachine({
      ...{ ...shared, name, disk: makeDisk(), blobs: createMemoryBlobStore(), lan, sites: all, dial, crashed: cut },
    });
    all.push(site);
    networks.set(
      site,
      createNetwork(time, dice, figures, (what) => violated(new Violation(what))),
    );
  }
  const sites = all.map((site) => ({ site, network: networks.get(site) as Network, backups: [] }));
  const world: SimulatedWorld = { dice, time, figures, cloud, sites, lan, issued: new Map(), violated };

  void cloud.boot().catch(violated);
  for (const site of all) site.boot();
  for (let step = 0; step < steps && !run.violation; step += 1) {
    injectRandomEvent(world);
    // Now and then nothing happens for long.
    await time.run(time.now() + (dice.happens(0.01) ? dice.next() * 60_000 : dice.next() * 150));
  }
  if (!run.violation) await recoverAll(world);
  if (!run.violation) {
    const watched = all.map((site) => site.watched);
    oracle.settled(cloud.machine, watched, world.issued);
    figures.files = [cloud.machine, ...all.map((site) => site.machine)].reduce(
      (sum, { disk }) => sum + countFiles(disk),
      0,
    );
    const differs = await cloud.machine.disk.differs?.();
    if (differs) violated(new Violation(`a copy is not what the database has: ${differs}`));
    for (const what of await missingFiles(cloud, all)) violated(new Violation(what));
  }
  figures.marks = oracle.marks;
  figures.resyncs = oracle.resyncs;
  for (const { site, backups } of world.sites) for (const { disk } of [...backups, site.machine]) disk.close();
  cloud.machine.disk.close();
  return run;
}

function countFiles(disk: Disk): number {
  return (
    disk.peek(() => scanRecords(SITE_FILE_REQUESTS)).length + disk.peek(() => scanRecords(HUB_FILE_REQUESTS)).length
  );
}

/** Files that a machine's rows name and that it does not have. */
async function missingFiles(cloud: CloudMachine, sites: readonly SiteMachine[]): Promise<string[]> {
  const all = [...sites.map(({ machine, blobs, watched }) => ({ machine, blobs, name: watched.name }))];
  const missing: string[] = [];
  for (const { machine, blobs, name } of [...all, { ...cloud, name: "the cloud" }]) {
    for (const { sha256 } of filesNamedOn(machine.disk)) {
      const held = await blobs.read(sha256, 0, 1_000);
      if (!held || sha256Of(held) !== sha256) missing.push(`files: ${sha256} is not in ${name}`);
    }
  }
  return missing;
}

function filesNamedOn(disk: Disk): FileReference[] {
  return disk.peek(function* () {
    const files: FileReference[] = [];
    for (const [type, field] of [
      ["lists", "sound"],
      ["reports", "picture"],
    ] as const) {
      for (const id of yield* listProductIds(type, null, 100_000))
        files.push(...filesInBody(yield* readProductRow(type, id), [field]));
    }
    return files;
  });
}

/** The same on disks in memory. */
export function runOnMemory(seed: number, steps: number): Promise<RunResult> {
  return runSeed(seed, steps, () => createMemoryDisk(CATALOGUE));
}

/** Everything works again, and is given its time. */
async function recoverAll(world: SimulatedWorld): Promise<void> {
  const { time, cloud, sites, lan } = world;
  lan.isUp = true;
  cloud.heal();
  for (const { site, network } of sites) {
    site.machine.crashIn = null;
    network.heal();
  }
  await publishLast(world);
  // What was lost from a disk is found by comparing, at the second time by a resync.
  for (let turn = 0; turn < 3; turn += 1) {
    await time.run(time.now() + RECOVERY_MS / 3);
    if (turn < 2 && sites.some(({ site }) => site.watched.isRotten)) cloud.hub?.compareDigests();
  }
}

/** A page that ends at the head of the feed, of which the mark is lost now and then, and nothing comes after it. */
async function publishLast({ dice, time, figures, cloud, sites, violated }: SimulatedWorld): Promise<void> {
  await time.run(time.now() + 5_000);
  const rows = Array.from({ length: SMALL_LIMITS.pageRows }, () => {
    const id = dice.id();
    return { type: "people", id, body: { id, note: "last" }, scope: null, at: time.now() };
  });
  figures.publications += 1;
  void cloud.hub?.publish(rows).catch(violated);
  await time.run(time.now() + dice.next() * 30);
  for (const { network } of sites) if (dice.happens(0.5)) network.cut();
}
