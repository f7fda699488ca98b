/** Long work, one after the other in the order of asking. */
export interface SerialQueue {
  /** Does `work` once all that was asked before has ended; `failed` gets what it throws. */
  enqueue(work: () => Promise<void>, failed: (error: unknown) => void): void;
  /** Resolves once nothing waits. */
  idle(): Promise<void>;
}

/** Makes the queue, since only one batch of rows can be under way. */
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
