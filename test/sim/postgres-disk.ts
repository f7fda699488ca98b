import { rmSync } from "node:fs";
import { openTenantDatabase, type TenantDatabase } from "../../src/ha/tenant-database.ts";
import { type Clock, sleep } from "../../src/lib/clock.ts";
import { UpstreamError } from "../../src/lib/errors.ts";
import type { RowImage, SharedLog } from "../../src/store/shared-log.ts";
import type { TransactionProgram } from "../../src/sync/storage/transaction-program.ts";
import type { Disk, ExecutedOperation } from "./machine.ts";
import { Violation } from "./oracle.ts";
import {
  createPostgresConnectionTap,
  createTransactionTracker,
  type TransactionTracker,
} from "./postgres-connection-tap.ts";
import type { RandomSource } from "./seeded-random.ts";
import type { SimDatabase } from "./sim-database.ts";
import { recordOperations } from "./sqlite-disk.ts";
import type { SqliteFiles, SqliteFolder } from "./sqlite-files.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** What the disks of a run share. */
export interface PostgresDiskDeps {
  database: SimDatabase;
  files: SqliteFiles;
  time: VirtualTime;
  dice: RandomSource;
  violated(error: unknown): void;
}

/** An organisation in the database, and the folders of its machines as their last processes left them. */
interface Cluster {
  organisation: string;
  /** It is a backup that was brought back, of which nobody was told. */
  isRestored: boolean;
  /** What lies on the machines, which keep it when the database is brought back from a backup. */
  copies: Copy[];
  /** Who was the last to begin to act. */
  acting: object | null;
  /** Machines with a process on them. */
  busy: Set<number>;
  turns: TransactionTracker;
  /** Processes that hear of others' writes. */
  hinted: Set<() => void>;
}

interface Copy {
  folder: string;
  /** Of which of the organisation's histories it is. */
  history: string;
}

/** A process that acts. */
interface Life extends SqliteFolder {
  organisation: TenantDatabase;
  copy: Copy;
}

/** Highest keys that were given are told when they grow, and may be behind in a copy whose rows are not. */
const isShared = ({ table }: RowImage): boolean => table !== "sqlite_sequence";

const MACHINES = [0, 1, 2];
/** A statement across a network takes up to so long, and now and then far longer. */
const [STATEMENT_MS, SLOW_MS] = [2, 500];
/** Of the hints that nodes give to each other, so many are lost; some come so late. */
const [HINTS_LOST, LATE_MS] = [0.3, 5_000];
/** How often the product's nodes look by themselves while another one acts. */
const LOOK_MS = 1_000;
const REMOTE = { version: "1.0.0", filesDir: "/nonexistent" } as const;

/** The disk of a cloud that keeps an organisation's rows in PostgreSQL, one that no process uses yet. */
export function createPostgresDisk(needs: PostgresDiskDeps): Disk {
  return unused(needs, { organisation: needs.database.name(), isRestored: false, copies: [], ...idle() });
}

const idle = () => ({
  acting: null,
  busy: new Set<number>(),
  turns: createTransactionTracker(),
  hinted: new Set<() => void>(),
});

function unused(needs: PostgresDiskDeps, cluster: Cluster): Disk {
  const nobody = (): never => {
    throw new Error("No process has it open.");
  };
  return {
    transact: nobody,
    peek: nobody,
    reopened: (clock) => inUse(needs, cluster, clock),
    copy: () => unused(needs, copyOf(needs, cluster)),
    close: () => needs.database.remove(cluster.organisation),
  };
}

function copyOf({ database }: PostgresDiskDeps, { organisation, copies }: Cluster): Cluster {
  return { organisation: database.copy(organisation), isRestored: true, copies, ...idle() };
}

/** One process: which of the machines it is on, and whether there is something of an earlier one there, is thrown. */
function inUse(needs: PostgresDiskDeps, cluster: Cluster, clock: Clock): Disk {
  const { database, files, dice, time } = needs;
  const machine = dice.pick(MACHINES.filter((each) => !cluster.busy.has(each)));
  cluster.busy.add(machine);
  const isEmptied = dice.happens(0.2);
  const end = new AbortController();
  const self = {};
  let didAct = false;
  let life: Life | null = null;
  /** What the transaction that is open did, job by job. */
  let group: (() => void)[] = [];
  const wires = createPostgresConnectionTap({
    hold: time.hold,
    gone: database.gone,
    turns: cluster.turns,
    hinting() {
      for (const hint of cluster.hinted) {
        const isOwn = hint === wires.hint;
        if (!isOwn && !dice.happens(HINTS_LOST)) time.in(dice.next() * (dice.happens(0.2) ? LATE_MS : 5), hint);
      }
    },
    committing() {
      didAct = cluster.acting === self;
    },
    committed() {
      // What a process does before it may act is no turn.
      if (isWriting && !didAct) needs.violated(new Violation("fencing: who does not act any more committed"));
      for (const tell of group.splice(0)) tell();
    },
  });
  cluster.hinted.add(wires.hint);
  let isWriting = false;
  const onFatal = (error: unknown): void => void (end.signal.aborted || needs.violated(error));
  let slowness = 0.02;
  const pass = (): Promise<void> =>
    sleep(clock, dice.next() * (dice.happens(slowness) ? SLOW_MS : STATEMENT_MS), end.signal);

  /** Each statement takes a time that is thrown, and then the real one, in which time stands still. */
  const slow = (log: SharedLog): SharedLog => ({
    ...log,
    async acquireWriteLock(after) {
      await pass();
      isWriting = true;
      group = [];
      const turn = await log.acquireWriteLock(after).catch((error: unknown) => {
        isWriting = false;
        throw error;
      });
      return {
        ...turn,
        async publish(rows) {
          await pass();
          const at = await turn.publish(rows);
          await pass();
          isWriting = false;
          return at;
        },
        release() {
          isWriting = false;
          return turn.release();
        },
      };
    },
  });

  async function opened(): Promise<Life> {
    const node = `${machine} of ${cluster.organisation}`;
    const done = time.hold();
    let failed: (error: unknown) => void = () => undefined;
    const of = { url: database.url, name: cluster.organisation, node, clock, ...REMOTE };
    const organisation = await Promise.race([
      openTenantDatabase({ ...of, onFault: (error) => failed(error), stream: wires.make }),
      new Promise<never>((_, reject) => {
        failed = reject;
      }),
    ]).finally(() => setImmediate(done));
    const acting = organisation.leadership.acquire(end.signal).then(() => {
      // From now on whoever acted before may not, however long this one is still starting.
      if (!end.signal.aborted) cluster.acting = self;
    });
    await follow(organisation, acting);
    if (cluster.isRestored) await organisation.leadership.startHistory();
    cluster.isRestored = false;
    const copy = await copyFor(organisation);
    end.signal.throwIfAborted();
    const folder = files.open(copy.folder, clock, onFatal, slow(organisation.log));
    life = { ...folder, organisation, copy };
    await folder.store.shared?.catchUp();
    // Nobody else can write any more, and this one has not begun.
    const differs = await differing(life);
    if (differs && !end.signal.aborted) needs.violated(new Violation(`a copy that was caught up differs: ${differs}`));
    return life;
  }

  /** A row that a copy has otherwise than the database, or that one of them has alone. */
  async function differing({ store }: SqliteFolder): Promise<string | null> {
    const named = ({ table, key, image }: RowImage): string => `${table} ${key} ${image}`;
    const there = new Set((await database.rows(cluster.organisation)).filter(isShared).map(named));
    if (end.signal.aborted) return null;
    const here = new Set([...(store.shared?.all() ?? [])].flat().filter(isShared).map(named));
    return [...here].find((row) => !there.has(row)) ?? [...there].find((row) => !here.has(row)) ?? null;
  }

  /** Takes what the acting node writes, when a hint comes and each second, until this one acts. */
  async function follow(organisation: TenantDatabase, acting: Promise<void>): Promise<void> {
    let isActing = false;
    const begun = acting.then(() => {
      isActing = true;
    });
    let hear = (): void => undefined;
    organisation.onChange(() => hear());
    const looking = (): Promise<void> => {
      const news = new Promise<void>((resolve) => {
        hear = resolve;
      });
      return Promise.race([begun, news, sleep(clock, LOOK_MS, end.signal)]);
    };
    await looking();
    if (isActing) return;
    const copy = await copyFor(organisation).catch(notThere);
    if (!copy) return begun;
    const folder = files.open(copy.folder, clock, onFatal, organisation.log);
    try {
      for (let isOf = true; isOf && !isActing; ) {
        isOf = await caughtUp(organisation, copy, folder).catch(unlessAway);
        await looking();
      }
      await begun;
    } finally {
      if (!end.signal.aborted) keep(copy);
      files.abandon(copy.folder, folder);
    }
  }

  /** False once the copy can't be brought up to date any more. */
  async function caughtUp(organisation: TenantDatabase, copy: Copy, { store }: SqliteFolder): Promise<boolean> {
    const { history, floor } = await organisation.readHead();
    const at = store.shared?.position() ?? 0;
    // One that is new has nothing that could be gone.
    if (history !== copy.history || (at > 0 && at < floor)) return false;
    await store.shared?.catchUp();
    return true;
  }

  /** It looks again later, as long as it is the database that was not there. */
  function unlessAway(error: unknown): true {
    if (!end.signal.aborted && !(error instanceof UpstreamError)) needs.violated(error);
    return true;
  }

  function notThere(error: unknown): null {
    if (!(error instanceof UpstreamError)) throw error;
    return null;
  }

  /** The next process on the machine finds it. */
  function keep({ folder, history }: Copy): void {
    const before = cluster.copies[machine];
    if (before) rmSync(before.folder, { recursive: true, force: true });
    cluster.copies[machine] = { folder: files.imageOf(folder), history };
  }

  /** What lies on the machine, unless that can't be brought up to date. */
  async function copyFor(organisation: TenantDatabase): Promise<Copy> {
    const { seq, floor, history } = await organisation.readHead();
    const kept = cluster.copies[machine];
    const folder = files.imageOf(kept?.folder ?? files.empty);
    if (!kept) return { folder, history };
    const at = files.copiedUpTo(folder);
    const isOf = kept.history === history;
    if (isOf && at > seq) needs.violated(new Violation(`the database is at ${seq}, a copy at ${at}`));
    if (isOf && at >= floor && !isEmptied) return { folder, history };
    rmSync(folder, { recursive: true, force: true });
    return { folder: files.imageOf(files.empty), history };
  }

  const starting = opened();
  starting.catch(() => undefined);

  /** What a process that has ended had begun is told to nobody. */
  async function unlessKilled<T>(job: Promise<T>): Promise<T> {
    const never = new Promise<never>(() => undefined);
    return job.then(
      (value) => (end.signal.aborted ? never : value),
      (error) => (end.signal.aborted ? never : Promise.reject(error)),
    );
  }

  /** Work whose answer is none before the database has what it wrote. */
  async function transact<T>(
    job: () => TransactionProgram<T>,
    committed?: (performed: readonly ExecutedOperation[]) => void,
  ): Promise<T> {
    const { work } = await starting;
    let performed: ExecutedOperation[] = [];
    let isTold = false;
    const written = work.transact(function* () {
      performed = [];
      const found = yield* recordOperations(job(), performed);
      group.push(() => {
        isTold = true;
        committed?.(performed);
      });
      return found;
    });
    const value = await written.catch((error: unknown) => {
      if (isTold && !end.signal.aborted && (error as { type?: string }).type !== "outcome-unknown")
        needs.violated(new Violation("what was refused is in the database"));
      throw error;
    });
    if (!isTold && performed.some(({ statement }) => statement.do === "put") && !end.signal.aborted)
      needs.violated(new Violation("what was answered is not in the database"));
    return value;
  }

  function killed(): void {
    if (end.signal.aborted) return;
    end.abort(new UpstreamError("starting", "The process is gone."));
    cluster.busy.delete(machine);
    cluster.hinted.delete(wires.hint);
    wires.breakAll(false);
    if (!life) return;
    const { copy, organisation } = life;
    keep(copy);
    files.abandon(copy.folder, life);
    void organisation.close();
  }

  const node = starting.then(({ organisation }) => ({
    lost: organisation.leadership.lost(),
    isHeard: organisation.log.isReachable,
    forgetGone: organisation.pruneTombstones,
    cutAt: wires.cutAt,
    breakAll: wires.breakAll,
    loseLock() {
      slowness = 0.5;
      wires.breakLock();
    },
  }));
  // Whoever waits for what it does hears of it.
  node.catch(() => undefined);
  return {
    node,
    transact: (job, committed) => unlessKilled(transact(job, committed)),
    read: (job) => unlessKilled(starting.then(({ work }) => work.read(job))),
    peek(job) {
      if (!life) throw new Error("It is not open yet.");
      return life.work.readSync(job);
    },
    async differs() {
      const opened = await starting;
      // What is seen may yet be undone.
      return isWriting ? null : differing(opened);
    },
    killed,
    left: () => unused(needs, cluster),
    reopened(next) {
      killed();
      return inUse(needs, cluster, next);
    },
    copy: () => unused(needs, copyOf(needs, cluster)),
    close() {
      killed();
      database.remove(cluster.organisation);
    },
  };
}
