import { isSuperAccount } from "../../../src/cloud-link/appliance-authority.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { UpstreamError } from "../../../src/lib/errors.ts";
import { type Catalogue, createCatalogue } from "../../../src/schema/catalogue.ts";
import { createHubChangeRecorder, createSiteChangeRecorder } from "../../../src/sync/capture/change-recorders.ts";
import { createDeferredLedgerSync } from "../../../src/sync/capture/deferred-ledger-sync.ts";
import { setSiteScopes } from "../../../src/sync/hub/handshake.ts";
import { createHubSync, type HubSync } from "../../../src/sync/hub/hub-sync.ts";
import { initializeFeed } from "../../../src/sync/hub/publish.ts";
import { listBucketRows, readRowCounts, readRowInventory } from "../../../src/sync/hub/row-inventory.ts";
import { ADOPTIONS, EDIT_CONFLICTS, WAITING_EDITS, WAITING_ROWS } from "../../../src/sync/hub/tables.ts";
import { createInitialSync } from "../../../src/sync/initial-sync/initial-sync.ts";
import { createInitialSyncProof, type InitialSyncProof } from "../../../src/sync/initial-sync/initial-sync-proof.ts";
import { type EnrolMode, readOrganisationBaseline } from "../../../src/sync/initial-sync/organisation-baseline.ts";
import type { SyncLimits } from "../../../src/sync/protocol/frames.ts";
import { productReplicatedTypes } from "../../../src/sync/protocol/product-replicated-types.ts";
import type { ReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import { type InitialSyncReport, readInitialSyncReport } from "../../../src/sync/site/initial-sync-report.ts";
import { createSiteSync, type SiteSync } from "../../../src/sync/site/site-sync.ts";
import { initializeSyncState } from "../../../src/sync/site/sync-state.ts";
import { LOCAL_EDITS, OUTBOX, REFUSED_ROWS } from "../../../src/sync/site/tables.ts";
import { putRecord, type RowBody, scanRecords } from "../../../src/sync/storage/transaction-program.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { createMemoryBlobStore, type MemoryBlobStore } from "../memory-blob-store.ts";
import { createNetwork } from "../network.ts";
import { createRandomSource, type RandomSource } from "../seeded-random.ts";
import { clockOf, createVirtualTime, type VirtualTime } from "../virtual-time.ts";
import { openProductNode, type ProductNode } from "./product-node.ts";
import { makeableResources, makeRow, type RowGraphDeps, writeRowGraph } from "./row-graph.ts";
import { compareSides, coverageOf, type Snapshot, snapshotOf } from "./side-comparison.ts";

export interface FirstSyncOptions {
  mode: EnrolMode;
  /** Rows of a resource at most, on each side. */
  rowsPerType?: number;
}

export interface FirstSyncResult {
  /** What was lost or differs, one line each; empty if nothing. */
  violations: string[];
  /** Rows of the appliance before. */
  rows: number;
  /** Resources and references (`resource.field`) of which there was one. */
  covered: ReadonlySet<string>;
  figures: { cuts: number; restarts: number; late: number; frames: number };
}

/** All declarations of the product. */
export const productCatalogue = async (): Promise<Catalogue> =>
  createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));

/** Few rows a page, so that a circle is spread over many. */
const SMALL_LIMITS: SyncLimits = {
  ...{ pageRows: 7, pageBytes: 64 * 1024, credit: { frames: 3, bytes: 20_000 } },
  ...{ applyBatchRows: 5, applyBatchMs: 0, fileChunkBytes: 64, fileChunksPerRequest: 2 },
};
/** Written in bulk while a notification is sent, and sent once it is over. */
const SENT_WHEN_SETTLED: ReadonlySet<string> = new Set(["deliveries", "notification-recipients"]);
/** A first sync that is not over by then has stopped. */
const MAX_MS = 900_000;
const AFTERWARDS_MS = 120_000;

/**
 * An appliance and a cloud with all resources, each with random rows that refer to one another, and the appliance's first
 * sync. Its rows arrive in any order; the connection breaks, both sides restart, and people go on working.
 */
export async function runFirstSync(seed: number, options: FirstSyncOptions): Promise<FirstSyncResult> {
  const world = await openWorld(seed, options);
  try {
    await world.run();
    return world.result();
  } finally {
    await world.close();
  }
}

async function openWorld(seed: number, { mode, rowsPerType = 3 }: FirstSyncOptions) {
  const catalogue = await productCatalogue();
  const random = createRandomSource(seed);
  const time = createVirtualTime();
  const violations: string[] = [];
  const violated = (error: unknown): void => {
    if (!(error instanceof UpstreamError))
      violations.push(error instanceof Error ? String(error.stack) : String(error));
  };
  const figures = { cuts: 0, restarts: 0, late: 0, frames: 0, gaps: 0, garbled: 0 };
  const clock = clockOf(time, { skewMs: 0, drift: 0 }, () => true);
  const types = productReplicatedTypes(catalogue);
  const serial = { next: 1_000 };
  const during = <T>(work: Promise<T>): Promise<T> => inVirtualTime(time, work);
  const open = (isHub: boolean, prepare: (node: Pick<ProductNode, "runner" | "recording">) => Promise<void>) =>
    during(
      openProductNode({
        ...{ catalogue, clock, isHub, prepare, failed: violated },
        // The same person administers both, or another one each.
        administrator: isHub || seed % 2 === 0 ? "admin@example.org" : "other@example.org",
      }),
    );
  const hub = await open(true, async ({ runner, recording }) => {
    await runner.transact(() => initializeFeed(random.id()));
    recording.recorder = createHubChangeRecorder({ runner, clock, types });
  });
  const site = await open(false, async () => undefined);
  const blobs = { hub: createMemoryBlobStore(), site: createMemoryBlobStore() };
  const graphOf = (node: ProductNode, of: MemoryBlobStore, endpointId: string | null): RowGraphDeps => ({
    ...{ store: node.store, catalogue, by: node.by, random, endpointId, serial },
    storeFile() {
      const bytes = Buffer.from(`file ${random.next()} ${"x".repeat(random.below(300))}`);
      const about = { fileName: "sample.png", contentType: "image/png", metadata: {} };
      return { sha256: of.add(bytes), size: bytes.length, ...about };
    },
  });
  const graphs = { hub: graphOf(hub, blobs.hub, null), site: graphOf(site, blobs.site, site.endpointId) };
  // An organisation may be empty when its first appliance comes.
  if (mode === "join" || random.happens(0.6)) await during(writeRowGraph(graphs.hub, rowsPerType));
  await during(writeRowGraph(graphs.site, rowsPerType));
  const before = { hub: snapshotOf(hub), site: snapshotOf(site) };
  /** Rows that people delete afterwards are not missed, and those that they change may differ from before. */
  const shuffledTypes = random.happens(0.6) ? withRandomRanks(types, random) : types;
  const link = createLink({ time, random, clock, types: shuffledTypes, hub, site, blobs, figures, violated });

  return {
    async run() {
      await during(enrol({ mode, hub, site, types, shuffledTypes, clock, random, figures }));
      if (random.happens(0.6)) await during(site.runner.transact(() => shuffleOutbox(random)));
      await link.start();
      for (let event = 0; event < 20; event += 1) {
        await time.run(time.now() + random.next() * 400);
        await link.disturb();
        if (random.happens(0.7)) await during(writeLate());
      }
      link.calm();
      const deadline = time.now() + MAX_MS;
      while (time.now() < deadline && isOpen(link.report())) await time.run(time.now() + 10_000);
      await time.run(time.now() + AFTERWARDS_MS);
      link.stop();
    },
    result(): FirstSyncResult {
      const report = link.report();
      if (report?.state !== "complete") violations.push(`the first sync is ${report?.state}: ${explainReport(report)}`);
      violations.push(...compareSides({ mode, catalogue, hub, site, before, endpointId: site.endpointId }));
      violations.push(...leftovers(mode, hub, site));
      return { violations, rows: before.site.size, covered: coverageOf(before.site, catalogue), figures };
    },
    async close() {
      link.stop();
      await during(Promise.all([hub.close(), site.close()]));
    },
  };

  /** Somebody goes on working on either side. */
  async function writeLate(): Promise<void> {
    const isAtHub = random.happens(0.5);
    const resources = makeableResources(catalogue).filter(
      ({ name, replicate }) =>
        replicate === "B" || (!isAtHub && (replicate === "C" || replicate === "D") && !SENT_WHEN_SETTLED.has(name)),
    );
    const known = new Set(isAtHub || mode === "adopt" ? [] : before.site.keys());
    const graph = isAtHub ? graphs.hub : graphs.site;
    // After joining, rows that stay at the appliance are not what people refer to.
    const mayRefer = (type: string, id: string): boolean =>
      id === site.endpointId ? !isAtHub : !known.has(`${type}/${id}`);
    if (await makeRow({ ...graph, mayRefer }, random.pick(resources))) figures.late += 1;
  }
}

const isOpen = (report: InitialSyncReport | null): boolean => report?.state === "running";

function explainReport(report: InitialSyncReport | null): string {
  if (!report) return "none";
  const { waitsFor, differences, more } = report;
  const rows = differences.map(({ type, id, kind, fields, reason }) => `${type}/${id} ${kind} ${fields} ${reason}`);
  const unequal = report.types.filter(({ isEqual }) => !isEqual).map(({ type }) => type);
  return `waits for ${waitsFor}; ${rows.join("; ")} and ${more} more; unequal: ${unequal.join(" ")}`;
}

/** Rows that wait or were refused although nothing is missing. */
function leftovers(mode: EnrolMode, hubNode: ProductNode, siteNode: ProductNode): string[] {
  const [{ runner: hub }, { runner: site }] = [hubNode, siteNode];
  const [there, local] = [snapshotOf(hubNode), snapshotOf(siteNode)];
  const waiting = hub.readSync(() => scanRecords(WAITING_EDITS));
  const rows = hub.readSync(() => scanRecords(WAITING_ROWS));
  const conflicts = hub.readSync(() => scanRecords(EDIT_CONFLICTS)).filter(({ lost }) => lost.includes("*"));
  const refused = site.readSync(() => scanRecords(REFUSED_ROWS));
  return [
    ...waiting.map(({ type, id, reason }) => `waits in the cloud: ${type}/${id}: ${reason}`),
    ...rows
      .filter(({ body }) => mode === "adopt" || !refersToLocalRow(body, local, there))
      .map(({ type, id, reason }) => `waits in the cloud: ${type}/${id}: ${reason}`),
    ...conflicts.map(({ type, id, reason }) => `refused by the cloud: ${type}/${id}: ${reason}`),
    ...refused.map(({ type, id, reason }) => `refused by the appliance: ${type}/${id}: ${reason}`),
  ];
}

/** Rows of a joined appliance stay there, and what refers to them waits for them. */
function refersToLocalRow(body: RowBody | null, here: Snapshot, there: Snapshot): boolean {
  const [local, shared] = [here, there].map((rows) => new Set([...rows.values()].map(({ row }) => row.id)));
  return Object.values(body ?? {})
    .flat()
    .some((id) => typeof id === "string" && local?.has(id) && !shared?.has(id));
}

/** Runs what waits for virtual time until the work is done. */
async function inVirtualTime<T>(time: VirtualTime, work: Promise<T>): Promise<T> {
  let isOver = false;
  const done = work.finally(() => {
    isOver = true;
  });
  done.catch(() => undefined);
  await new Promise(setImmediate);
  while (!isOver) {
    await time.run(time.now() + 5);
    await new Promise(setImmediate);
  }
  return done;
}

/** Resources in any order, so that rows are sent and applied before what they refer to. */
function withRandomRanks(types: ReplicatedTypes, random: RandomSource): ReplicatedTypes {
  const ranks = new Map<string, number>();
  return {
    ...types,
    dependencyRank(type) {
      const rank = ranks.get(type) ?? random.below(900);
      ranks.set(type, rank);
      return rank;
    },
  };
}

/** Changes the order in which the rows are sent; each is sent once so far. */
function* shuffleOutbox(random: RandomSource) {
  const records = yield* scanRecords(OUTBOX, { where: ["hot"] });
  const free = records.map(({ sequence }) => sequence);
  for (const record of records) {
    const [sequence = record.sequence] = free.splice(random.below(free.length), 1);
    yield* putRecord(OUTBOX, { ...record, sequence });
    const [edit] = (yield* scanRecords(LOCAL_EDITS)).filter(({ uid }) => uid === record.uid);
    if (edit) yield* putRecord(LOCAL_EDITS, { ...edit, sequence });
  }
}

interface EnrolOptions {
  mode: EnrolMode;
  hub: ProductNode;
  site: ProductNode;
  types: ReplicatedTypes;
  shuffledTypes: ReplicatedTypes;
  clock: Clock;
  random: RandomSource;
  figures: FirstSyncResult["figures"];
}

/** What both sides do at an enrolment, without certificates. */
async function enrol({ mode, hub, site, types, shuffledTypes, clock, random, figures }: EnrolOptions): Promise<void> {
  const { endpointId } = site;
  const counts = hub.runner.readSync(() => readRowCounts(types, { scopes: null }));
  const baseline = { ...readOrganisationBaseline(hub.store, () => true), counts };
  await hub.runner.transact(function* () {
    yield* setSiteScopes(endpointId, null);
    if (mode === "adopt") yield* putRecord(ADOPTIONS, { endpoint: endpointId, upTo: null });
  });
  // Each look at the clock takes its time, so that the work is cut into many transactions.
  let spentMs = 0;
  const slowClock: Clock = { ...clock, monotonicMs: () => (spentMs += random.next() * 2) };
  const of = { ...site, clock: slowClock, types: shuffledTypes };
  let initialSync = createInitialSync(of);
  const first = initialSync;
  const isInitialSyncPending = (): boolean => initialSync.isPending();
  await first.schedule(baseline, mode, (tx) => {
    site.runner.runWithin(tx, initializeSyncState(endpointId, types.fingerprint));
    const record = { runner: site.runner, clock, types, endpoint: endpointId, isInitialSyncPending };
    site.recording.recorder = createSiteChangeRecorder({ ...record, isSuperUser: isSuperAccount });
  });
  while (initialSync.isPending()) {
    const running = initialSync.run();
    if (random.happens(0.5)) {
      clock.after(random.next() * 20, () => initialSync.stop());
      figures.restarts += 1;
    }
    if (!(await running)) initialSync = createInitialSync(of);
  }
}

interface LinkOptions {
  time: VirtualTime;
  random: RandomSource;
  clock: Clock;
  types: ReplicatedTypes;
  hub: ProductNode;
  site: ProductNode;
  blobs: { hub: MemoryBlobStore; site: MemoryBlobStore };
  figures: FirstSyncResult["figures"] & { gaps: number; garbled: number };
  violated(error: unknown): void;
}

/** The two sides and the network between them; each process may end and begin again. */
function createLink({ time, random, clock, types, hub, site, blobs, figures, violated }: LinkOptions) {
  const network = createNetwork(time, random, figures, violated);
  let hubSync: HubSync | null = null;
  let siteSync: SiteSync | null = null;
  let proof: InitialSyncProof | null = null;
  let stopLedger = (): void => undefined;
  let isConnected = false;
  let isStopped = false;
  hub.events.on("replication.change-recorded", () => hubSync?.wake());
  site.events.on("replication.change-recorded", () => siteSync?.wake());

  async function startHub(): Promise<void> {
    const own = createHubSync({
      ...{ store: hub.runner, clock, types, limits: SMALL_LIMITS, blobs: blobs.hub, newId: random.id },
      ...{ onFault: violated, onProtocolViolation: (_: string | null, reason: string) => violated(reason) },
    });
    await own.start();
    hubSync = own;
  }

  async function startSite(): Promise<void> {
    const own = createSiteSync({
      ...{ store: site.runner, clock, types, limits: SMALL_LIMITS, blobs: blobs.site, newId: random.id },
      ...{ endpoint: site.endpointId, groups: () => [], hasContact: () => false, resumed: () => "done" as const },
      activityFields: { extensionId: site.extensionId, endpointId: site.endpointId },
      onCheckpoint: () => proof?.check(),
      ...{ onMismatch() {}, onLease() {}, onSyncError() {}, onFault: violated },
      play: () => () => undefined,
    });
    await own.start();
    const of = { hub: hub.runner, clock, types };
    const ownProof = createInitialSyncProof({
      ...{ store: site.runner, reader: site.store, catalogue: site.catalogue, types, clock, newId: random.id },
      async ask({ type, fields, bucket }) {
        if (!isConnected || !hubSync) return null;
        const deps = { store: of.hub, clock, types };
        const asked = { type, fields };
        if (bucket !== null)
          return { rows: await listBucketRows(deps, site.endpointId, { ...asked, bucket }) } as unknown as RowBody;
        return { ...(await readRowInventory(deps, site.endpointId, asked)) } as unknown as RowBody;
      },
      ...{ onChanged() {}, onFault: violated },
    });
    const ledger = createDeferredLedgerSync({ ...site, clock, types, onFault: violated, wake: own.wake });
    stopLedger = ledger.follow(site.events);
    siteSync = own;
    proof = ownProof;
  }

  function endSite(): void {
    stopLedger();
    proof?.stop();
    siteSync?.stop();
    siteSync = null;
    proof = null;
    network.cut();
  }

  function redial(): void {
    time.in(random.next() * 500, () => {
      if (isStopped || isConnected) return;
      dial();
      if (!isConnected) redial();
    });
  }

  function dial(): void {
    const [atHub, atSite] = [hubSync, siteSync];
    if (!atHub || !atSite) return;
    network.connect((own, other) => {
      isConnected = true;
      const session = atHub.connected(other, site.endpointId);
      atSite.connected(own);
      return {
        site: {
          frame(value) {
            atSite.frame(own, value);
            return true;
          },
          closed(code) {
            // Neither side sends what the other one refuses.
            if (code === "schema" || code === "refused") violated(`the link was closed: ${code}`);
            atSite.disconnected(own);
            isConnected = false;
            redial();
          },
        },
        cloud: {
          frame(value) {
            session.frame(value);
            return true;
          },
          closed: () => session.closed(),
        },
      };
    });
  }

  return {
    async start() {
      await inVirtualTime(time, Promise.all([startHub(), startSite()]));
      redial();
    },
    async disturb() {
      if (random.happens(0.3)) network.cut();
      network.bandwidth = random.happens(0.3) ? 5 : 1_000;
      if (random.happens(0.15)) {
        figures.restarts += 1;
        endSite();
        await inVirtualTime(time, startSite());
      }
      if (random.happens(0.15)) {
        figures.restarts += 1;
        network.cut();
        hubSync?.stop();
        hubSync = null;
        await inVirtualTime(time, startHub());
      }
    },
    calm: network.heal,
    report: () => site.runner.readSync(readInitialSyncReport),
    stop() {
      if (isStopped) return;
      isStopped = true;
      endSite();
      hubSync?.stop();
    },
  };
}
