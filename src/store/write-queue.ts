import type Database from "better-sqlite3";
import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import type { DiskReserve } from "./disk-reserve.ts";
import type { Replica } from "./replica.ts";
import type { WalCheckpointer } from "./wal-checkpoint.ts";

/**
 * When a write is safe from a power cut: once its promise resolves, or with the next write that is safe by then, which
 * no cut leaves without it. @source sqlite.org/pragma.html, synchronous: NORMAL loses the end of the log, nothing within
 */
export type Durability = "immediate" | "deferred";

/** A write waiting for its group commit. */
interface Job {
  durability: Durability;
  run(): void;
  /** After COMMIT. */
  done(): void;
  failed(error: unknown): void;
  /** Set when `run` threw: the savepoint was undone and nothing of it is committed. */
  error?: unknown;
}

/** Longest time one group keeps the event loop before its COMMIT. */
const MAX_GROUP_MS = 8;

/**
 * What the queue needs. `beforeCommit` runs in every transaction but those with an emergency, which nothing may hold up;
 * when it says true, or had to stand back, another one follows, though nobody waits to write. `checkpoint` gets a turn of
 * the event loop to itself, unless an emergency waits, and says whether it needed it. `onRollback` is told when anything
 * was undone; `onFatal` when a commit's outcome is unknown.
 */
export interface WriteQueueOptions {
  db: Database.Database;
  clock: Clock;
  beforeCommit: () => boolean;
  checkpoint: Pick<WalCheckpointer, "isDue" | "run">;
  onRollback: () => void;
  onFatal: (error: unknown) => void;
  /** Who else must have what is committed, before it is; nobody unless given. */
  replica?: Replica | null;
  /** Given up for what is urgent once the disk is full; none unless given. */
  diskReserve?: Pick<DiskReserve, "release"> | undefined;
}

/**
 * The only way into the database: jobs of one turn of the event loop share a transaction, each in a savepoint of its
 * own, emergency ones first. @source docs/decisions/0027-performance-goals.md, What the measurements teach
 */
export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #begin: Database.Statement;
  readonly #commit: Database.Statement;
  readonly #savepoint: Database.Statement;
  readonly #release: Database.Statement;
  readonly #lanes: Record<"emergency" | "normal", Job[]> = { emergency: [], normal: [] };
  #scheduled = false;
  /** `beforeCommit` has more to do, though nobody waits to write. */
  #behind = false;
  #closed = false;
  #fatal = false;
  /** The transaction that is open, or was last, is one of emergencies alone. */
  #isUrgent = false;
  /** A transaction that waits for others is open, or about to be. */
  #turn: Promise<void> | null = null;
  /** What the database does at a COMMIT. */
  #safety: Durability = "immediate";

  constructor(options: WriteQueueOptions) {
    const { db } = options;
    this.#options = options;
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#savepoint = db.prepare("SAVEPOINT job");
    this.#release = db.prepare("RELEASE job");
  }

  /** Runs `fn` in the next group; resolves with its value after COMMIT. `committed` runs right after COMMIT, before. */
  write<T>(
    fn: () => T,
    committed: () => void,
    lane: "emergency" | "normal",
    durability: Durability = "immediate",
  ): Promise<T> {
    if (this.#closed) return Promise.reject(new UpstreamError("starting", "The database is closed."));
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

  /** Has `beforeCommit` run soon. */
  wake(): void {
    this.#behind = true;
    if (!this.#closed) this.#schedule();
  }

  /** Commits everything queued and takes nothing more. */
  async stop(): Promise<void> {
    const { replica } = this.#options;
    while (this.#turn !== null || this.#isWaiting()) {
      if (this.#turn !== null) await this.#turn;
      else if (replica) await this.#together(replica);
      else this.#drain();
    }
    this.#closed = true;
  }

  /** Resolves once nothing is seen that may yet be undone: others are asked while a transaction is open. */
  async settled(): Promise<void> {
    while (this.#turn !== null) await this.#turn;
  }

  #isWaiting(): boolean {
    return this.#lanes.emergency.length + this.#lanes.normal.length > 0;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#options.clock.defer(() => {
      this.#scheduled = false;
      // Whoever has the turn looks once more when it ends.
      if (this.#closed || this.#turn !== null) return;
      const { replica, checkpoint } = this.#options;
      const isFree = this.#lanes.emergency.length > 0 || !checkpoint.run();
      if (isFree && replica) void this.#together(replica);
      else if (isFree) this.#drain();
      if (!this.#turn) this.#goOn();
    });
  }

  #goOn(): void {
    if (this.#closed) return;
    if (this.#behind || this.#isWaiting() || this.#options.checkpoint.isDue()) this.#schedule();
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

  /** As `#drain`, where others must have what was written before it is committed here. */
  #together(replica: Replica): Promise<void> {
    const turn = this.#inTurn(replica).finally(() => {
      this.#turn = null;
      this.#goOn();
    });
    this.#turn = turn;
    return turn;
  }

  async #inTurn(replica: Replica): Promise<void> {
    const jobs: Job[] = [];
    try {
      const turn = await replica.beginWrite();
      try {
        this.#runGroup(jobs);
        await turn.publish();
        this.#commit.run();
        turn.confirm();
      } catch (error) {
        // Before anybody else may write: this copy must not hold what nobody has.
        if (this.#options.db.inTransaction) this.#options.db.exec("ROLLBACK");
        await turn.abort();
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
    this.#behind = false;
    this.#isUrgent = urgent;
    this.#promise(urgent);
    this.#begin.run();
    const began = clock.monotonicMs();
    // An emergency goes from transaction to transaction: what others write would be in each of its commits.
    for (let job = this.#next(urgent); job; job = this.#next(urgent)) {
      jobs.push(job);
      this.#runJob(job);
      if (clock.monotonicMs() - began > MAX_GROUP_MS || this.#isStricter(urgent)) break;
    }
    this.#behind = urgent || beforeCommit();
  }

  /** The COMMIT waits for the disk unless nobody in its group does; with others who have the rows it always does. */
  #promise(isUrgent: boolean): void {
    const { db, replica } = this.#options;
    const { emergency, normal } = this.#lanes;
    const group = isUrgent ? emergency : normal;
    const isAwaited = replica || group.length === 0 || group.some(({ durability }) => durability === "immediate");
    const safety = isAwaited ? "immediate" : "deferred";
    if (safety === this.#safety) return;
    db.exec(`PRAGMA synchronous = ${safety === "immediate" ? "FULL" : "NORMAL"}`);
    this.#safety = safety;
  }

  /** What came meanwhile is promised more than this group keeps: it has the next. */
  #isStricter(isUrgent: boolean): boolean {
    if (this.#safety === "immediate") return false;
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
      // A full disk or an I/O error ends the whole transaction, not only the savepoint.
      if (!db.inTransaction || isDiskFault(error)) throw error;
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
    // Where nothing could begin, such as for want of room for the rows of others, it is for whoever waits.
    const isUrgent = jobs.length > 0 ? this.#isUrgent : this.#lanes.emergency.length > 0;
    if (code === "SQLITE_FULL" && isUrgent && this.#options.diskReserve?.release()) {
      // In the room that is free now; what was refused for a reason of its own stays so.
      this.#lanes.emergency.unshift(...jobs.filter((job) => !("error" in job)));
      for (const job of jobs) if ("error" in job) job.failed(job.error);
      return;
    }
    // Nothing could even begin: whoever waits must hear of it instead of having it tried for ever.
    if (jobs.length === 0) jobs.push(...this.#lanes.emergency.splice(0), ...this.#lanes.normal.splice(0));
    if (code.startsWith("SQLITE_IOERR")) {
      this.#fatal = true;
      const waiting = [...jobs, ...this.#lanes.emergency.splice(0), ...this.#lanes.normal.splice(0)];
      for (const job of waiting) job.failed(outcomeUnknown(error));
      onFatal(error);
      return;
    }
    const fault = code === "SQLITE_FULL" ? new UpstreamError("storage-full", "The disk is full.", {}, error) : error;
    for (const job of jobs) job.failed("error" in job ? job.error : fault);
  }
}

function isDiskFault(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? "";
  return code === "SQLITE_FULL" || code.startsWith("SQLITE_IOERR");
}

function outcomeUnknown(cause?: unknown): UpstreamError {
  return new UpstreamError(
    "outcome-unknown",
    "The disk failed: whether the change was kept is unknown. Ask again after the restart.",
    {},
    cause,
  );
}
