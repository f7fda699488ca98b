/** Runs long tasks one after another, in order of arrival. */
export interface SerialQueue {
  /** Runs `work` after all earlier tasks; `failed` gets its exception. */
  enqueue(task: () => Promise<void>, onError: (error: unknown) => void): void;
  /** Resolves once the queue is empty. */
  idle(): Promise<void>;
}

/** Creates the queue; only one batch of rows can be in progress. */
export function createSerialQueue(): SerialQueue {
  let last: Promise<void> = Promise.resolve();
  return {
    enqueue(task, onError) {
      last = last.then(task).catch(onError);
    },
    async idle() {
      for (let awaited: Promise<void> | null = null; awaited !== last; ) {
        awaited = last;
        await awaited;
      }
    },
  };
}
