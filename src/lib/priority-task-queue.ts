/** Things that are done one after the other, the urgent ones first. */
export interface PriorityTaskQueue {
  /** Rejects what throws to `onFault` alone; the others go on. */
  add(job: () => Promise<void>, urgent?: boolean): void;
  /** Whether something urgent waits. */
  hasUrgent(): boolean;
  /** Within a long job, between two of its steps: what is urgent and came meanwhile is done now. */
  runUrgent(): Promise<void>;
  /** What has not begun is forgotten. */
  stop(): void;
}

/** Makes a queue: one side of a link does one thing at a time, so that what it read is still so when it writes. */
export function createPriorityTaskQueue(onFault: (error: unknown) => void): PriorityTaskQueue {
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
      if (!stopped) onFault(error);
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
