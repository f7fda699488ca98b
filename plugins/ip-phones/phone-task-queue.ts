import type { Clock } from "#plugin-api";

/** A conversation with one phone; it must not reject. */
export type PhoneTask = () => Promise<void>;

/** Has conversations with phones: many at once, one at a time with each phone, the urgent ones first. */
export interface PhoneTaskQueue {
  /**
   * Queues a conversation. `lane` 0 goes first … 10 last; with the same phone (`key`) they keep their order whatever
   * their lane, so that a stop never overtakes its start.
   */
  add(lane: number, key: string, conversation: PhoneTask): void;
}

/** Limits of the conversations that go on at once. */
export interface PhoneTaskLimits {
  /** All lanes but the last together, as things stand now. */
  maxConcurrent(): number;
  /** Beyond them for emergencies, which wait for no phones that are slow with something else; none unless given. */
  extraForEmergencies?: number;
  /** The last lane, so that it goes on, slowly, while the others are busy; a small part of it just after an emergency. */
  maxLowestPriority: number;
}

/** Lane of questions that nobody waits for. */
export const LOWEST_PRIORITY = 10;

/** Lane of emergencies. */
const EMERGENCY_PRIORITY = 0;

/** So long after an emergency was begun to be told to a phone, the last lane has this part of its conversations. own choice */
const EMERGENCY_COOLDOWN_MS = 1_000;
const LOWEST_PRIORITY_SHARE = 1 / 32;

/** How long conversations are started before other work of the thread gets its turn, in ms. */
const MAX_TURN_MS = 3;

interface QueuedTask {
  readonly priority: number;
  readonly key: string;
  readonly task: PhoneTask;
  started: boolean;
}

/** Makes the queue; what a conversation throws against its word goes to `onError`. */
export function createPhoneTaskQueue(
  clock: Clock,
  limits: PhoneTaskLimits,
  onError: (error: unknown) => void,
): PhoneTaskQueue {
  const queues: QueuedTask[][] = Array.from({ length: LOWEST_PRIORITY + 1 }, () => []);
  /** The turns of each phone that has any, the one that is going on or queued first. */
  const phones = new Map<string, QueuedTask[]>();
  let running = 0;
  let runningLowest = 0;
  let scheduled = false;

  let urgentAt = Number.NEGATIVE_INFINITY;

  const lowestPriorityLimit = (): number =>
    clock.monotonicMs() - urgentAt < EMERGENCY_COOLDOWN_MS
      ? limits.maxLowestPriority * LOWEST_PRIORITY_SHARE
      : limits.maxLowestPriority;
  const next = (): QueuedTask | undefined => {
    const isOpen = (lane: number): boolean => {
      if (lane === LOWEST_PRIORITY) return runningLowest < lowestPriorityLimit();
      return running < limits.maxConcurrent() + (lane === EMERGENCY_PRIORITY ? (limits.extraForEmergencies ?? 0) : 0);
    };
    return queues.find((queue, lane) => queue.length > 0 && isOpen(lane))?.shift();
  };
  const startSome = (): void => {
    scheduled = false;
    const until = clock.monotonicMs() + MAX_TURN_MS;
    for (let turn = next(); turn; turn = next()) {
      // One that was moved to a more urgent lane still stands in its old one.
      if (!turn.started) start(turn);
      if (clock.monotonicMs() < until) continue;
      schedule();
      break;
    }
  };
  const schedule = (): void => {
    if (!scheduled) clock.defer(startSome);
    scheduled = true;
  };
  const start = (turn: QueuedTask): void => {
    const isLast = turn.priority === LOWEST_PRIORITY;
    turn.started = true;
    if (turn.priority === EMERGENCY_PRIORITY) urgentAt = clock.monotonicMs();
    if (isLast) runningLowest++;
    else running++;
    void turn
      .task()
      .catch(onError)
      .then(() => {
        if (isLast) runningLowest--;
        else running--;
        end(turn);
      });
  };
  const end = (turn: QueuedTask): void => {
    const turns = phones.get(turn.key) ?? [];
    turns.shift();
    const [following] = turns;
    if (following) queue(following, Math.min(...turns.map(({ priority }) => priority)));
    else phones.delete(turn.key);
    schedule();
  };
  const queue = (turn: QueuedTask, lane: number): void => {
    queues[lane]?.push(turn);
    schedule();
  };
  return {
    add(priority, key, task) {
      const turn: QueuedTask = { priority, key, task, started: false };
      const turns = phones.get(key);
      if (!turns) {
        phones.set(key, [turn]);
        return queue(turn, priority);
      }
      // What the urgent one must wait for becomes as urgent.
      const [first] = turns;
      if (first && !first.started && turns.every((other) => other.priority > priority)) queue(first, priority);
      turns.push(turn);
    },
  };
}
