import type Database from "better-sqlite3";
import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { DiskReserve } from "./disk-reserve.ts";
import type { Replica } from "./replica.ts";
import type { WalCheckpointer } from "./wal-checkpoint.ts";

/**
 * When a write is durable: `immediate` once its promise resolves, `deferred` with the next immediate write, and never
 * later than that one.
 * @source sqlite.org/pragma.html, synchronous: NORMAL loses the end of the log, nothing within
 */
export type Durability = "immediate" | "deferred";

/** A write that waits for its group commit. */
interface Job {
  durability: Durability;
  run(): void;
  /** After COMMIT. */
  done(): void;
  failed(error: unknown): void;
  /** Set when `run` threw: its savepoint was rolled back. */
  error?: unknown;
}

/** Time budget of one group before its COMMIT. */
const MAX_GROUP_MS = 8;

/**
 * Options of the write queue. `beforeCommit` runs in every transaction without emergency writes; if it returns true, or
 * was skipped, another transaction follows. `checkpoint` gets its own turn of the event loop unless an emergency write
 * waits. `onRollback` is called after every rollback, `onFatal` when the outcome of a commit is unknown.
 */
export interface WriteQueueOptions {
  db: Database.Database;
  clock: Clock;
  beforeCommit: () => boolean;
  checkpoint: Pick<WalCheckpointer, "isDue" | "run">;
  onRollback: () => void;
  onFatal: (error: unknown) => void;
  /** Replicated mode: rows are published to the shared log before the local COMMIT; default: none. */
  replica?: Replica | null;
  /** Released for emergency writes once the disk is full; default: none. */
  diskReserve?: Pick<DiskReserve, "release"> | undefined;
}

/**
 * The only way to write to the database. Group commit: the jobs of one turn of the event loop share a transaction, each
 * in its own savepoint, emergency jobs first.
 * @source docs/decisions/0027-performance-goals.md, What the measurements teach
 */
export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #begin: Database.Statement;
  readonly #commit: Database.Statement;
  readonly #savepoint: Database.Statement;
  readonly #release: Database.Statement;
  readonly #lanes: Record<"emergency" | "normal", Job[]> = { emergency: [], normal: [] };
  #scheduled = false;
  /** `beforeCommit` has pending work although no job waits. */
  #hasPendingWork = false;
  #closed = false;
  #fatal = false;
  /** The current or last transaction holds emergency jobs only. */
  #isUrgent = false;
  /** Set while a replicated transaction is open or about to open. */
  #replicatedWrite: Promise<void> | null = null;
  /** The durability that the database is set to. */
  #durability: Durability = "immediate";

  constructor(options: WriteQueueOptions) {
    const { db } = options;
    this.#options = options;
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#savepoint = db.prepare("SAVEPOINT job");
    this.#release = db.prepare("RELEASE job");
  }

  /**
   * Runs `fn` in the next group; resolves with its value after COMMIT. `committed` runs between COMMIT and resolution.
   */
  write<T>(
    fn: () => T,
    committed: () => void,
    lane: "emergency" | "normal",
    durability: Durability = "immediate",
  ): Promise<T> {
    if (this.#closed) return Promise.reject(new UpstreamError("starting", sentence("error.the-database-is-closed")));
    if (this.#fatal) return Promise.reject(outcomeUnknown());
    return new Promise((resolve, reject) => {
      let value: T;
      this.#lanes[lane].push({
        durability,
        run: () => {
          value = fn();
        },
        done: () => {
          committed();
          resolve(value);
        },
        failed: reject,
      });
      this.#schedule();
    });
  }

  /** Schedules a run of `beforeCommit`. */
  wake(): void {
    this.#hasPendingWork = true;
    if (!this.#closed) this.#schedule();
  }

  /** Commits everything queued, then refuses further writes. */
  async stop(): Promise<void> {
    const { replica } = this.#options;
    while (this.#replicatedWrite !== null || this.#hasJobs()) {
      if (this.#replicatedWrite !== null) await this.#replicatedWrite;
      else if (replica) await this.#drainReplicated(replica);
      else this.#drain();
    }
    this.#closed = true;
  }

  /**
   * Resolves when no replicated transaction is open: while it waits for the shared log, reads see rows that may be
   * rolled back.
   */
  async settled(): Promise<void> {
    while (this.#replicatedWrite !== null) await this.#replicatedWrite;
  }

  #hasJobs(): boolean {
    return this.#lanes.emergency.length + this.#lanes.normal.length > 0;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#options.clock.defer(() => {
      this.#scheduled = false;
      // The replicated transaction schedules the next group when it ends.
      if (this.#closed || this.#replicatedWrite !== null) return;
      const { replica, checkpoint } = this.#options;
      const isFree = this.#lanes.emergency.length > 0 || !checkpoint.run();
      if (isFree && replica) void this.#drainReplicated(replica);
      else if (isFree) this.#drain();
      if (!this.#replicatedWrite) this.#scheduleNext();
    });
  }

  #scheduleNext(): void {
    if (this.#closed) return;
    if (this.#hasPendingWork || this.#hasJobs() || this.#options.checkpoint.isDue()) this.#schedule();
  }

  #drain(): void {
    const jobs: Job[] = [];
    try {
      this.#runGroup(jobs);
      this.#commit.run();
    } catch (error) {
      this.#groupFailed(jobs, error);
      return;
    }
    this.#groupDone(jobs);
  }

  /** As `#drain`, but publishes the rows to the shared log before the local COMMIT. */
  #drainReplicated(replica: Replica): Promise<void> {
    const write = this.#runReplicatedGroup(replica).finally(() => {
      this.#replicatedWrite = null;
      this.#scheduleNext();
    });
    this.#replicatedWrite = write;
    return write;
  }

  async #runReplicatedGroup(replica: Replica): Promise<void> {
    const jobs: Job[] = [];
    try {
      const write = await replica.beginWrite();
      try {
        this.#runGroup(jobs);
        await write.publish();
        this.#commit.run();
        write.confirm();
      } catch (error) {
        // Roll back before the write lock is released: this replica must not hold rows that are not in the log.
        if (this.#options.db.inTransaction) this.#options.db.exec("ROLLBACK");
        await write.abort();
        throw error;
      }
    } catch (error) {
      this.#groupFailed(jobs, error);
      return;
    }
    this.#groupDone(jobs);
  }

  #runGroup(jobs: Job[]): void {
    const { clock, beforeCommit } = this.#options;
    const urgent = this.#lanes.emergency.length > 0;
    this.#hasPendingWork = false;
    this.#isUrgent = urgent;
    this.#applyDurability(urgent);
    this.#begin.run();
    const began = clock.monotonicMs();
    // Emergency jobs get their own transaction, so that other jobs do not slow its commit.
    for (let job = this.#next(urgent); job; job = this.#next(urgent)) {
      jobs.push(job);
      this.#runJob(job);
      if (clock.monotonicMs() - began > MAX_GROUP_MS || this.#needsStricterDurability(urgent)) break;
    }
    this.#hasPendingWork = urgent || beforeCommit();
  }

  /** The COMMIT waits for the disk if any job of the group needs it; in replicated mode always. */
  #applyDurability(isUrgent: boolean): void {
    const { db, replica } = this.#options;
    const { emergency, normal } = this.#lanes;
    const group = isUrgent ? emergency : normal;
    const isAwaited = replica || group.length === 0 || group.some(({ durability }) => durability === "immediate");
    const durability = isAwaited ? "immediate" : "deferred";
    if (durability === this.#durability) return;
    db.exec(`PRAGMA synchronous = ${durability === "immediate" ? "FULL" : "NORMAL"}`);
    this.#durability = durability;
  }

  /** True when the next job needs more durability than this group has; it goes into the next group. */
  #needsStricterDurability(isUrgent: boolean): boolean {
    if (this.#durability === "immediate") return false;
    const next = this.#lanes.emergency[0] ?? (isUrgent ? undefined : this.#lanes.normal[0]);
    return next?.durability === "immediate";
  }

  #groupDone(jobs: readonly Job[]): void {
    for (const job of jobs) {
      if ("error" in job) job.failed(job.error);
      else job.done();
    }
  }

  #next(isUrgent: boolean): Job | undefined {
    return this.#lanes.emergency.shift() ?? (isUrgent ? undefined : this.#lanes.normal.shift());
  }

  #runJob(job: Job): void {
    const { db } = this.#options;
    this.#savepoint.run();
    try {
      job.run();
    } catch (error) {
      // A full disk or an I/O error rolls back the whole transaction, not only the savepoint.
      if (!db.inTransaction || isDiskError(error)) throw error;
      db.exec("ROLLBACK TO job");
      this.#options.onRollback();
      job.error = error;
    }
    this.#release.run();
  }

  #groupFailed(jobs: Job[], error: unknown): void {
    const { db, onRollback, onFatal } = this.#options;
    onRollback();
    if (db.inTransaction) db.exec("ROLLBACK");
    const code = (error as { code?: string }).code ?? "";
    // If the transaction could not begin, for example for want of disk space, the waiting jobs decide.
    const isUrgent = jobs.length > 0 ? this.#isUrgent : this.#lanes.emergency.length > 0;
    if (code === "SQLITE_FULL" && isUrgent && this.#options.diskReserve?.release()) {
      // Retry in the freed space; jobs that failed on their own stay failed.
      this.#lanes.emergency.unshift(...jobs.filter((job) => !("error" in job)));
      for (const job of jobs) if ("error" in job) job.failed(job.error);
      return;
    }
    // The transaction could not begin: fail the waiting jobs instead of retrying forever.
    if (jobs.length === 0) jobs.push(...this.#lanes.emergency.splice(0), ...this.#lanes.normal.splice(0));
    if (code.startsWith("SQLITE_IOERR")) {
      this.#fatal = true;
      const waiting = [...jobs, ...this.#lanes.emergency.splice(0), ...this.#lanes.normal.splice(0)];
      for (const job of waiting) job.failed(outcomeUnknown(error));
      onFatal(error);
      return;
    }
    const reported =
      code === "SQLITE_FULL" ? new UpstreamError("storage-full", sentence("error.the-disk-is-full"), {}, error) : error;
    for (const job of jobs) job.failed("error" in job ? job.error : reported);
  }
}

function isDiskError(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? "";
  return code === "SQLITE_FULL" || code.startsWith("SQLITE_IOERR");
}

function outcomeUnknown(cause?: unknown): UpstreamError {
  return new UpstreamError(
    "outcome-unknown",
    sentence("error.disk-error-the-outcome-of-the-change-is-unknown-re-read-the-resource-after"),
    {},
    cause,
  );
}
