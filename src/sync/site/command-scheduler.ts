import type { Clock, Timer } from "../../lib/clock.ts";
import type { CommandOutcome, SyncCommand } from "../protocol/frames.ts";
import type { RowBody, TransactionProgram, TransactionStore } from "../storage/transaction-program.ts";
import type { CloudTime } from "./cloud-time.ts";
import { type CommandState, reportStarted, transitionCommand } from "./command-inbox.ts";
import type { ActivityContext } from "./sync-activities.ts";

/** What makes a command heard. Returns what silences it. */
export type PlayCommand = (
  command: SyncCommand,
  /** `heard` once the first packet is out; `ended` once, unless it was silenced. */
  on: { heard(): void; ended(result: "done" | "failed", told?: RowBody): void },
) => () => void;

/** What the desk needs. */
export interface CommandSchedulerDeps {
  store: TransactionStore;
  clock: Pick<Clock, "now" | "monotonicMs" | "after">;
  time: CloudTime;
  /** For one transaction. */
  journal(): ActivityContext;
  play: PlayCommand;
  /** Whether another appliance of the group is heard on the local network. */
  hasContact(): boolean;
  /** There is something to be sent. */
  onReported(): void;
  onFault(error: unknown): void;
}

/** Carries commands out in their time. */
export interface CommandScheduler {
  /** `old` ones were armed before this process began. */
  arm(command: SyncCommand, old: boolean): void;
  /** Another appliance is heard with this command. */
  peerStarted(cid: string): void;
  silence(cid: string): void;
  /** The cloud was heard: it is known that this is no older copy, and how late it is. */
  markVerified(): void;
  /** An emergency is about to be heard: whatever can wait, waits for it. */
  isEmergencyStarting(): boolean;
  /** These are settled otherwise. */
  discard(cids: readonly string[]): void;
  stop(): void;
}

/** Rank k waits k times this for a sound of those before it. @source replication.md, amendments */
const RANK_DELAY_MS = 3_000;
/** So often it is looked again at what can't be judged. */
const RETRY_MS = 1_000;
/** Nobody waits longer for an emergency to be heard, which may have nobody to hear it. own choice */
const EMERGENCY_START_LIMIT_MS = 250;

interface ScheduledCommand {
  command: SyncCommand;
  old: boolean;
  /** Monotonic moment of this appliance's turn. */
  turnAt: number;
  timer: Timer | null;
}

/** Makes the desk. */
export function createCommandScheduler(needs: CommandSchedulerDeps): CommandScheduler {
  const { store, clock, time } = needs;
  const waiting = new Map<string, ScheduledCommand>();
  const sounding = new Map<string, () => void>();
  /** Between the decision to start and the first sound. */
  const beginning = new Set<string>();
  /** Emergencies that were not heard yet, and until when others wait for them; monotonic ms. */
  const unheard = new Map<string, number>();
  let isVerified = false;

  const transition = async (cid: string, from: CommandState, to: CommandState, told?: RowBody): Promise<boolean> => {
    const moved = await store.transact(() => transitionCommand(cid, from, to, needs.journal(), told), "emergency");
    if (moved) needs.onReported();
    return moved;
  };
  const runGuarded = (job: Promise<unknown>): void => void job.catch(needs.onFault);
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
    // Whether a routine command was carried out by a later copy of this appliance, only the cloud can tell.
    else if (latest === null || (old && !isVerified && isRoutine)) evaluateLater(entry, RETRY_MS);
    else if (wait > 0) evaluateLater(entry, Math.ceil(wait));
    else if (command.rank > 0 && isRoutine && !needs.hasContact()) finish(cid, "armed", "skipped");
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
    // A cancel may have come while it was committed.
    if (!beginning.delete(cid) || !isStarted) return;
    // The commit took its time, too.
    if (isLate(command)) {
      await transition(cid, "started", "expired");
      return;
    }
    let isOver = false;
    const stop = needs.play(command, {
      heard() {
        unheard.delete(cid);
        runGuarded(reportFirstPacket(cid));
      },
      ended(result, told) {
        if (isOver) return;
        isOver = true;
        unheard.delete(cid);
        sounding.delete(cid);
        runGuarded(transition(cid, "started", result, told));
      },
    });
    // What is over at once has ended by now.
    if (!isOver) sounding.set(cid, stop);
  }

  async function reportFirstPacket(cid: string): Promise<void> {
    await store.transact((): TransactionProgram<void> => reportStarted(cid, needs.journal()), "emergency");
    needs.onReported();
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
