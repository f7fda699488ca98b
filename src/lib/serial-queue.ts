/** Runs long tasks one after another, in order of arrival. */
export interface SerialQueue {
  /** Runs `work` after all earlier tasks; `failed` gets its exception. */
  enqueue(work: () => Promise<void>, failed: (error: unknown) => void): void;
  /** Resolves once the queue is empty. */
  idle(): Promise<void>;
}

/** Creates the queue; only one batch of rows can be in progress. */
export function createSerialQueue(): SerialQueue {
  let last: Promise<void> = Promise.resolve();
  return {
    enqueue(work, failed) {
      last = last.then(work).catch(failed);
    },
    async idle() {
      for (let seen: Promise<void> | null = null; seen !== last; ) {
        seen = last;
        await seen;
      }
    },
  };
}
