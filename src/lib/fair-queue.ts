import type { Clock } from "./clock.ts";
import { TooManyRequestsError } from "./errors.ts";

/** The client of a task, and what it may use at once. */
export interface FairQueueClient {
  /** Clients with the same key share the limits. */
  key: string;
  maxRunning: number;
  /** More are refused. */
  maxWaiting: number;
}

export interface FairQueueTask {
  client: FairQueueClient;
  /** Starts before all others, at once, while its client has fewer than `MAX_URGENT_PER_CLIENT` urgent tasks. */
  isUrgent?: boolean;
  /** True once the result is of no use any more: a waiting task is then dropped. */
  isAbandoned?(): boolean;
  /** Resolves when the task has ended; never rejects. */
  run(): Promise<void>;
  /** Called instead of `run` when the task has waited for too long. */
  refuse(error: TooManyRequestsError): void;
}

/**
 * Shares the event loop between clients: each has a bounded number of tasks under way, and the waiting ones start
 * client by client, in slots of one turn, so that a client with a thousand tasks delays another by one task each.
 */
export interface FairQueue {
  /** Runs the task, now or later. Throws TooManyRequestsError if too many tasks of the client wait. */
  add(task: FairQueueTask): void;
  readonly counts: { readonly running: number; readonly waiting: number; readonly refused: number };
}

export interface FairQueueOptions {
  clock: Clock;
  /** True while ordinary tasks should make way; they then start one at a time every `HELD_START_MS`. */
  isHeld?: () => boolean;
}

/** Ordinary tasks that start in one turn of the event loop, if the earlier ones leave time. */
const STARTS_PER_TURN = 8;
/** No further task starts in a turn that has taken longer. */
const TURN_MS = 4;
/** Interval of starts while the queue is held. */
const HELD_START_MS = 100;
/** Urgent tasks of one client that may run at once; further ones wait for these. */
const MAX_URGENT_PER_CLIENT = 4;
/** A task that has waited for longer is refused: its client has probably given up. */
const MAX_WAIT_MS = 10_000;
const RETRY_AFTER_S = 1;

interface Waiting {
  task: FairQueueTask;
  since: number;
}

interface ClientState {
  running: number;
  urgent: number;
  waiting: Waiting[];
  waitingUrgent: Waiting[];
}

/** Creates an empty queue. */
export function createFairQueue({ clock, isHeld = () => false }: FairQueueOptions): FairQueue {
  /** Clients with tasks, the one whose turn it is first. */
  const clients = new Map<string, ClientState>();
  const counts = { running: 0, waiting: 0, refused: 0 };
  /** A turn in which tasks start is scheduled or under way. */
  let isScheduled = false;
  let lastHeldStart = Number.NEGATIVE_INFINITY;
  let startedThisTurn = 0;

  function start(key: string, state: ClientState, { task }: Waiting): void {
    const name = task.isUrgent ? "urgent" : "running";
    state[name]++;
    counts.running++;
    void task.run().finally(() => {
      state[name]--;
      counts.running--;
      const next = task.isUrgent ? takeFresh(state.waitingUrgent) : null;
      if (next) return start(key, state, next);
      if (state.running + state.urgent + state.waiting.length === 0) clients.delete(key);
      else if (state.waiting.length > 0) schedule();
    });
  }

  /** The first waiting task that is still wanted. */
  function takeFresh(waiting: Waiting[]): Waiting | null {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      counts.waiting--;
      if (next.task.isAbandoned?.()) continue;
      if (clock.monotonicMs() - next.since <= MAX_WAIT_MS) return next;
      counts.refused++;
      next.task.refuse(new TooManyRequestsError(RETRY_AFTER_S));
    }
    return null;
  }

  /** Starts the next task of the first client that has one and may; that client then goes to the end. */
  function startNext(): boolean {
    for (const [key, state] of clients) {
      const [first] = state.waiting;
      if (!first || state.running >= first.task.client.maxRunning) continue;
      const next = takeFresh(state.waiting);
      if (!next) {
        if (state.running + state.urgent === 0) clients.delete(key);
        continue;
      }
      clients.delete(key);
      clients.set(key, state);
      start(key, state, next);
      return true;
    }
    return false;
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    const wait = isHeld() ? lastHeldStart + HELD_START_MS - clock.monotonicMs() : 0;
    if (wait > 0) clock.after(wait, startTurn, { background: true });
    else clock.defer(startTurn);
  }

  /** One slot follows the other within a turn; the work of a started task runs in between. */
  function startTurn(): void {
    startedThisTurn = 0;
    const until = clock.monotonicMs() + TURN_MS;
    const slots = isHeld() ? 1 : STARTS_PER_TURN;
    if (slots === 1) lastHeldStart = clock.monotonicMs();
    let left = slots;
    const slot = (): void => {
      left--;
      const isOpen = startedThisTurn === 0 || clock.monotonicMs() < until;
      if (isOpen && startNext()) startedThisTurn++;
      if (left > 0) return;
      isScheduled = false;
      if (counts.waiting > 0 && hasStartable()) schedule();
    };
    for (let at = 1; at < slots; at++) clock.defer(slot);
    slot();
  }

  function hasStartable(): boolean {
    for (const { running, waiting } of clients.values())
      if (waiting[0] && running < waiting[0].task.client.maxRunning) return true;
    return false;
  }

  return {
    counts,
    add(task) {
      const { key, maxRunning, maxWaiting } = task.client;
      const state = clients.get(key) ?? { running: 0, urgent: 0, waiting: [], waitingUrgent: [] };
      clients.set(key, state);
      const waiting = { task, since: clock.monotonicMs() };
      if (task.isUrgent ? state.urgent < MAX_URGENT_PER_CLIENT : isIdle() && state.running < maxRunning) {
        start(key, state, waiting);
        if (!task.isUrgent && !isScheduled) {
          // The loop is free: no wait, but the next one starts in a later turn.
          isScheduled = true;
          clock.defer(startTurn);
        }
        return;
      }
      const queue = task.isUrgent ? state.waitingUrgent : state.waiting;
      if (queue.length >= maxWaiting) {
        counts.refused++;
        throw new TooManyRequestsError(RETRY_AFTER_S);
      }
      queue.push(waiting);
      counts.waiting++;
      if (!task.isUrgent && state.running < maxRunning) schedule();
    },
  };

  function isIdle(): boolean {
    return !isScheduled && counts.waiting === 0 && !isHeld();
  }
}
