/** Runs long tasks one after another, in order of arrival. */
export interface SerialQueue {
  /** Runs `task` after all earlier ones, whether they failed or not; settles as `task` does. */
  run<T>(task: () => Promise<T>): Promise<T>;
  /** Resolves once the queue is empty. */
  idle(): Promise<void>;
}

/** Creates an empty queue. */
export function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve();
  return {
    run(task) {
      const result = last.then(task);
      last = result.catch(() => undefined);
      return result;
    },
    async idle() {
      for (let awaited: unknown = null; awaited !== last; ) {
        awaited = last;
        await awaited;
      }
    },
  };
}
