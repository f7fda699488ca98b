import { createSerialQueue } from "../lib/serial-queue.ts";

/** One import or upload at a time, in order of arrival. */
export interface ImportQueue {
  /**
   * Runs `task` after all earlier ones. While it waits, `onWait` is called with the name of the import that is running and
   * the number of imports before it, at first and whenever one of them ends.
   */
  run<T>(name: string, task: () => Promise<T>, onWait?: (behind: string, before: number) => void): Promise<T>;
  /** Resolves once the queue is empty. */
  idle(): Promise<void>;
}

interface Entry {
  name: string;
  onWait?: ((behind: string, before: number) => void) | undefined;
}

export function createImportQueue(): ImportQueue {
  const queue = createSerialQueue();
  /** The first one is running. */
  const entries: Entry[] = [];
  const report = (at: number): void => {
    const running = entries[0];
    if (at > 0 && running) entries[at]?.onWait?.(running.name, at);
  };
  return {
    run(name, task, onWait) {
      const entry = { name, onWait };
      entries.push(entry);
      report(entries.length - 1);
      return queue.run(async () => {
        try {
          return await task();
        } finally {
          entries.shift();
          for (let at = 1; at < entries.length; at++) report(at);
        }
      });
    },
    idle: queue.idle,
  };
}
