import type { Clock, Timer } from "../../base/clock.ts";
import type { Command, Outcome } from "../frames.ts";
import type { Body, Work, WorkStore } from "../work.ts";
import type { Journal } from "./activities.ts";
import type { CloudTime } from "./cloud-time.ts";
import { type CommandState, moveCommand, reportHeard } from "./inbox.ts";

/** What makes a command heard. Returns what silences it. */
export type Play = (
  command: Command,
  /** `heard` once the first packet is out; `ended` once, unless it was silenced. */
  on: { heard(): void; ended(result: "done" | "failed", told?: Body): void },
) => () => void;

/** What the desk needs. */
export interface DeskNeeds {
  store: WorkStore;
  clock: Pick<Clock, "now" | "monotonicMs" | "after">;
  time: CloudTime;
  /** For one transaction. */
  journal(): Journal;
  play: Play;
  /** Whether another appliance of the group is heard on the local network. */
  hasContact(): boolean;
  /** There is something to be sent. */
  reported(): void;
  onFault(error: unknown): void;
}

/** Carries commands out in their time. */
export interface CommandDesk {
  /** `old` ones were armed before this process began. */
  arm(command: Command, old: boolean): void;
  /** Another appliance is heard with this command. */
  peerHeard(cid: string): void;
  silence(cid: string): void;
  /** The cloud was heard: it is known that this is no older copy, and how late it is. */
  verified(): void;
  /** An emergency is about to be heard: whatever can wait, waits for it. */
  isBeginning(): boolean;
  /** These are settled otherwise. */
  forget(cids: readonly string[]): void;
  stop(): void;
}

/** Rank k waits k times this for a sound of those before it. @source replication.md, amendments */
const RANK_MS = 3_000;
/** So often it is looked again at what can't be judged. */
const AGAIN_MS = 1_000;
/** Nobody waits longer for an emergency to be heard, which may have nobody to hear it. own choice */
const UNHEARD_MS = 250;

interface Waiting {
  command: Command;
  old: boolean;
  /** Monotonic moment of this appliance's turn. */
  turnAt: number;
  timer: Timer | null;
}

/** Makes the desk. */
export function createCommandDesk(needs: DeskNeeds): CommandDesk {
  const { store, clock, time } = needs;
  const waiting = new Map<string, Waiting>();
  const sounding = new Map<string, () => void>();
  /** Between the decision to start and the first sound. */
  const beginning = new Set<string>();
  /** Emergencies that were not heard yet, and until when others wait for them; monotonic ms. */
  const unheard = new Map<string, number>();
  let isVerified = false;

  const move = async (cid: string, from: CommandState, to: CommandState, told?: Body): Promise<boolean> => {
    const moved = await store.transact(() => moveCommand(cid, from, to, needs.journal(), told), "emergency");
    if (moved) needs.reported();
    return moved;
  };
  const guarded = (job: Promise<unknown>): void => void job.catch(needs.onFault);
  const isLate = ({ notAfter }: Command): boolean => (time.latest() ?? Number.POSITIVE_INFINITY) > notAfter;

  function lookLater(entry: Waiting, delayMs: number): void {
    entry.timer?.cancel();
    entry.timer = clock.after(delayMs, () => look(entry), { background: true });
  }

  function look(entry: Waiting): void {
    const { command, old, turnAt } = entry;
    const { cid } = command;
    if (waiting.get(cid) !== entry) return;
    const latest = time.latest();
    const isRoutine = command.class !== "emergency";
    const wait = turnAt - clock.monotonicMs();
    if (latest !== null && latest > command.notAfter) settle(cid, "armed", "expired");
    // Whether a routine command was carried out by a later copy of this appliance, only the cloud can tell.
    else if (latest === null || (old && !isVerified && isRoutine)) lookLater(entry, AGAIN_MS);
    else if (wait > 0) lookLater(entry, Math.ceil(wait));
    else if (command.rank > 0 && isRoutine && !needs.hasContact()) settle(cid, "armed", "skipped");
    else {
      waiting.delete(cid);
      guarded(begin(command));
    }
  }

  function settle(cid: string, from: CommandState, to: Outcome): void {
    waiting.get(cid)?.timer?.cancel();
    waiting.delete(cid);
    guarded(move(cid, from, to));
  }

  async function begin(command: Command): Promise<void> {
    const { cid } = command;
    beginning.add(cid);
    if (command.class === "emergency") unheard.set(cid, clock.monotonicMs() + UNHEARD_MS);
    const isStarted = await move(cid, "armed", "started");
    // A cancel may have come while it was committed.
    if (!beginning.delete(cid) || !isStarted) return;
    // The commit took its time, too.
    if (isLate(command)) {
      await move(cid, "started", "expired");
      return;
    }
    let isOver = false;
    const stop = needs.play(command, {
      heard() {
        unheard.delete(cid);
        guarded(tellHeard(cid));
      },
      ended(result, told) {
        if (isOver) return;
        isOver = true;
        unheard.delete(cid);
        sounding.delete(cid);
        guarded(move(cid, "started", result, told));
      },
    });
    // What is over at once has ended by now.
    if (!isOver) sounding.set(cid, stop);
  }

  async function tellHeard(cid: string): Promise<void> {
    await store.transact((): Work<void> => reportHeard(cid, needs.journal()), "emergency");
    needs.reported();
  }

  const lookAtAll = (): void => {
    for (const entry of [...waiting.values()]) look(entry);
  };

  return {
    isBeginning() {
      const now = clock.monotonicMs();
      for (const [cid, until] of unheard) if (until <= now) unheard.delete(cid);
      return unheard.size > 0;
    },
    arm(command, old) {
      const entry = { command, old, turnAt: clock.monotonicMs() + command.rank * RANK_MS, timer: null };
      waiting.set(command.cid, entry);
      look(entry);
    },
    peerHeard(cid) {
      const entry = waiting.get(cid);
      if (entry && entry.command.rank > 0) settle(cid, "armed", "skipped");
    },
    silence(cid) {
      waiting.get(cid)?.timer?.cancel();
      waiting.delete(cid);
      beginning.delete(cid);
      unheard.delete(cid);
      sounding.get(cid)?.();
      sounding.delete(cid);
    },
    verified() {
      isVerified = true;
      lookAtAll();
    },
    forget(cids) {
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
