import type { Clock } from "#plugin-api";

/** One exchange with a phone; must not reject. */
export type PhoneTask = () => Promise<void>;

/** Runs phone tasks: many in parallel, one at a time per phone, by priority. */
export interface PhoneTaskQueue {
  /**
   * Queues a task. Priority 0 runs first … 10 last. Tasks of one phone (`key`) keep their order whatever their
   * priority, so that a stop never overtakes its start.
   */
  add(priority: number, key: string, task: PhoneTask): void;
}

/** Limits of concurrent tasks. */
export interface PhoneTaskLimits {
  /** Current limit of all priorities except the lowest. */
  maxConcurrent(): number;
  /** Additional tasks for emergencies, which must not wait for slow phones; default 0. */
  extraForEmergencies?: number;
  /** Limit of the lowest priority, which continues slowly while others are busy; reduced right after an emergency. */
  maxLowestPriority: number;
}

/** Priority of background queries. */
export const LOWEST_PRIORITY = 10;

const EMERGENCY_PRIORITY = 0;

/** For this time after an emergency task started, the lowest priority gets only a share of its limit. */
const EMERGENCY_COOLDOWN_MS = 1_000;
const LOWEST_PRIORITY_SHARE = 1 / 32;

/** Time slice for starting tasks before yielding to other work of the thread, ms. */
const MAX_TURN_MS = 3;

interface QueuedTask {
  readonly priority: number;
  readonly key: string;
  readonly task: PhoneTask;
  started: boolean;
}

/** Creates the queue; a rejected task is passed to `onError`. */
export function createPhoneTaskQueue(
  clock: Clock,
  limits: PhoneTaskLimits,
  onError: (error: unknown) => void,
): PhoneTaskQueue {
  const queues: QueuedTask[][] = Array.from({ length: LOWEST_PRIORITY + 1 }, () => []);
  /** Pending tasks per phone, the running or queued one first. */
  const phones = new Map<string, QueuedTask[]>();
  let running = 0;
  let runningLowest = 0;
  let scheduled = false;

  let lastEmergencyAt = Number.NEGATIVE_INFINITY;

  const lowestPriorityLimit = (): number =>
    clock.monotonicMs() - lastEmergencyAt < EMERGENCY_COOLDOWN_MS
      ? limits.maxLowestPriority * LOWEST_PRIORITY_SHARE
      : limits.maxLowestPriority;
  const next = (): QueuedTask | undefined => {
    const isOpen = (priority: number): boolean => {
      if (priority === LOWEST_PRIORITY) return runningLowest < lowestPriorityLimit();
      return (
        running < limits.maxConcurrent() + (priority === EMERGENCY_PRIORITY ? (limits.extraForEmergencies ?? 0) : 0)
      );
    };
    return queues.find((queue, priority) => queue.length > 0 && isOpen(priority))?.shift();
  };
  const startSome = (): void => {
    scheduled = false;
    const until = clock.monotonicMs() + MAX_TURN_MS;
    for (let entry = next(); entry; entry = next()) {
      // A promoted task is still in its old queue.
      if (!entry.started) start(entry);
      if (clock.monotonicMs() < until) continue;
      schedule();
      break;
    }
  };
  const schedule = (): void => {
    if (!scheduled) clock.defer(startSome);
    scheduled = true;
  };
  const start = (entry: QueuedTask): void => {
    const isLast = entry.priority === LOWEST_PRIORITY;
    entry.started = true;
    if (entry.priority === EMERGENCY_PRIORITY) lastEmergencyAt = clock.monotonicMs();
    if (isLast) runningLowest++;
    else running++;
    void entry
      .task()
      .catch(onError)
      .then(() => {
        if (isLast) runningLowest--;
        else running--;
        end(entry);
      });
  };
  const end = (entry: QueuedTask): void => {
    const entries = phones.get(entry.key) ?? [];
    entries.shift();
    const [following] = entries;
    if (following) queue(following, Math.min(...entries.map(({ priority }) => priority)));
    else phones.delete(entry.key);
    schedule();
  };
  const queue = (entry: QueuedTask, priority: number): void => {
    queues[priority]?.push(entry);
    schedule();
  };
  return {
    add(priority, key, task) {
      const entry: QueuedTask = { priority, key, task, started: false };
      const entries = phones.get(key);
      if (!entries) {
        phones.set(key, [entry]);
        return queue(entry, priority);
      }
      // Promotes the task that a more urgent one must wait for.
      const [first] = entries;
      if (first && !first.started && entries.every((other) => other.priority > priority)) queue(first, priority);
      entries.push(entry);
    },
  };
}
