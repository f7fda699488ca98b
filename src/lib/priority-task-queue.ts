/** Runs tasks one at a time, urgent ones first. */
export interface PriorityTaskQueue {
  /** An exception goes to `onFault`; the other tasks continue. */
  add(job: () => Promise<void>, urgent?: boolean): void;
  /** True while an urgent task is waiting. */
  hasUrgent(): boolean;
  /** Runs the waiting urgent tasks now; to be called between two steps of a long task. */
  runUrgent(): Promise<void>;
  /** Discards the tasks that have not started. */
  stop(): void;
}

/**
 * Creates the queue. One side of a link runs one task at a time, so that what a task read still holds when it writes.
 */
export function createPriorityTaskQueue(onError: (error: unknown) => void): PriorityTaskQueue {
  const urgent: (() => Promise<void>)[] = [];
  const normal: (() => Promise<void>)[] = [];
  let running = false;
  let stopped = false;

  async function run(): Promise<void> {
    if (running) return;
    running = true;
    for (let job = urgent.shift() ?? normal.shift(); job; job = urgent.shift() ?? normal.shift()) await runTask(job);
    running = false;
  }

  async function runTask(job: () => Promise<void>): Promise<void> {
    try {
      await job();
    } catch (error) {
      if (!stopped) onError(error);
    }
  }

  return {
    add(job, first = false) {
      if (stopped) return;
      (first ? urgent : normal).push(job);
      void run();
    },
    hasUrgent: () => urgent.length > 0,
    async runUrgent() {
      for (let job = urgent.shift(); job; job = urgent.shift()) await runTask(job);
    },
    stop() {
      stopped = true;
      urgent.length = 0;
      normal.length = 0;
    },
  };
}
