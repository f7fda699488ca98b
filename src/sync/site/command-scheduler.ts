import type { Clock, Timer } from "../../lib/clock.ts";
import type { CommandOutcome, SyncCommand } from "../protocol/frames.ts";
import type { RowBody, TransactionProgram, TransactionStore } from "../storage/transaction-program.ts";
import type { CloudTime } from "./cloud-time.ts";
import { type CommandState, reportStarted, transitionCommand } from "./command-inbox.ts";
import type { ActivityContext } from "./sync-activities.ts";

/** Carries a command out. Returns a function that stops it. */
export type PlayCommand = (
  command: SyncCommand,
  /** Call `heard` with the first packet, and `ended` once, unless it was stopped. */
  on: { heard(): void; ended(result: "done" | "failed", details?: RowBody): void },
) => () => void;

export interface CommandSchedulerDeps {
  store: TransactionStore;
  clock: Pick<Clock, "now" | "monotonicMs" | "after">;
  time: CloudTime;
  /** Context of one transaction. */
  journal(): ActivityContext;
  play: PlayCommand;
  /** Whether a peer is heard on the local network. */
  hasContact(): boolean;
  /** Called when there is something to send. */
  onReported(): void;
  onFault(error: unknown): void;
}

/** Starts commands in time. */
export interface CommandScheduler {
  /** `old` commands were armed before this process started. */
  arm(command: SyncCommand, old: boolean): void;
  /** A peer plays this command. */
  peerStarted(cid: string): void;
  silence(cid: string): void;
  /** The cloud was heard: cloud time is known, and so is that this is not an older copy of the appliance. */
  markVerified(): void;
  /** An emergency is about to play: everything else waits. */
  isEmergencyStarting(): boolean;
  /** Removes commands whose outcome was decided elsewhere. */
  discard(cids: readonly string[]): void;
  stop(): void;
}

/** An appliance of rank k waits k times this for evidence that another one plays. @source docs/decisions/0040-replication.md, Section 9 */
const RANK_DELAY_MS = 3_000;
/** Interval of checks while a command cannot be judged. */
const RETRY_MS = 1_000;
/** Longest time that other work waits for the first packet of an emergency. @source docs/decisions/0300-sync-limits.md */
const EMERGENCY_START_LIMIT_MS = 250;

interface ScheduledCommand {
  command: SyncCommand;
  old: boolean;
  /** Monotonic time at which this appliance may start. */
  turnAt: number;
  timer: Timer | null;
}

export function createCommandScheduler(deps: CommandSchedulerDeps): CommandScheduler {
  const { store, clock, time } = deps;
  const waiting = new Map<string, ScheduledCommand>();
  const sounding = new Map<string, () => void>();
  /** Between the decision to start and the first packet. */
  const beginning = new Set<string>();
  /** Emergencies without a first packet, and until when others wait for them; monotonic ms. */
  const unheard = new Map<string, number>();
  let isVerified = false;

  const transition = async (cid: string, from: CommandState, to: CommandState, details?: RowBody): Promise<boolean> => {
    const isChanged = await store.transact(() => transitionCommand(cid, from, to, deps.journal(), details), "emergency");
    if (isChanged) deps.onReported();
    return isChanged;
  };
  const runGuarded = (job: Promise<unknown>): void => void job.catch(deps.onFault);
  const isLate = ({ notAfter }: SyncCommand): boolean => (time.latest() ?? Number.POSITIVE_INFINITY) > notAfter;

  function evaluateLater(entry: ScheduledCommand, delayMs: number): void {
    entry.timer?.cancel();
    entry.timer = clock.after(delayMs, () => evaluate(entry), { background: true });
  }

  function evaluate(entry: ScheduledCommand): void {
    const { command, old, turnAt } = entry;
    const { cid } = command;
    if (waiting.get(cid) !== entry) return;
    const latest = time.latest();
    const isRoutine = command.class !== "emergency";
    const wait = turnAt - clock.monotonicMs();
    if (latest !== null && latest > command.notAfter) finish(cid, "armed", "expired");
    // Only the cloud can tell whether a later copy of this appliance has carried a routine command out.
    else if (latest === null || (old && !isVerified && isRoutine)) evaluateLater(entry, RETRY_MS);
    else if (wait > 0) evaluateLater(entry, Math.ceil(wait));
    else if (command.rank > 0 && isRoutine && !deps.hasContact()) finish(cid, "armed", "skipped");
    else {
      waiting.delete(cid);
      runGuarded(startCommand(command));
    }
  }

  function finish(cid: string, from: CommandState, to: CommandOutcome): void {
    waiting.get(cid)?.timer?.cancel();
    waiting.delete(cid);
    runGuarded(transition(cid, from, to));
  }

  async function startCommand(command: SyncCommand): Promise<void> {
    const { cid } = command;
    beginning.add(cid);
    if (command.class === "emergency") unheard.set(cid, clock.monotonicMs() + EMERGENCY_START_LIMIT_MS);
    const isStarted = await transition(cid, "armed", "started");
    // A cancel may have arrived during the commit.
    if (!beginning.delete(cid) || !isStarted) return;
    // The commit took time, too.
    if (isLate(command)) {
      await transition(cid, "started", "expired");
      return;
    }
    let isOver = false;
    const stop = deps.play(command, {
      heard() {
        unheard.delete(cid);
        runGuarded(reportFirstPacket(cid));
      },
      ended(result, details) {
        if (isOver) return;
        isOver = true;
        unheard.delete(cid);
        sounding.delete(cid);
        runGuarded(transition(cid, "started", result, details));
      },
    });
    // A command without playback has ended by now.
    if (!isOver) sounding.set(cid, stop);
  }

  async function reportFirstPacket(cid: string): Promise<void> {
    await store.transact((): TransactionProgram<void> => reportStarted(cid, deps.journal()), "emergency");
    deps.onReported();
  }

  const evaluateAll = (): void => {
    for (const entry of [...waiting.values()]) evaluate(entry);
  };

  return {
    isEmergencyStarting() {
      const now = clock.monotonicMs();
      for (const [cid, until] of unheard) if (until <= now) unheard.delete(cid);
      return unheard.size > 0;
    },
    arm(command, old) {
      const entry = { command, old, turnAt: clock.monotonicMs() + command.rank * RANK_DELAY_MS, timer: null };
      waiting.set(command.cid, entry);
      evaluate(entry);
    },
    peerStarted(cid) {
      const entry = waiting.get(cid);
      if (entry && entry.command.rank > 0) finish(cid, "armed", "skipped");
    },
    silence(cid) {
      waiting.get(cid)?.timer?.cancel();
      waiting.delete(cid);
      beginning.delete(cid);
      unheard.delete(cid);
      sounding.get(cid)?.();
      sounding.delete(cid);
    },
    markVerified() {
      isVerified = true;
      evaluateAll();
    },
    discard(cids) {
      for (const cid of cids) {
        waiting.get(cid)?.timer?.cancel();
        waiting.delete(cid);
      }
    },
    stop() {
      for (const { timer } of waiting.values()) timer?.cancel();
      waiting.clear();
    },
  };
}
