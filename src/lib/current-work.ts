import { AsyncLocalStorage } from "node:async_hooks";

/**
 * What the event loop is busy with: a request (`GET v1/users/{userId}`), a plugin or a part of the daemon. Names are from
 * declarations, never from input, so that there are few of them and none is a secret.
 */
const storage = new AsyncLocalStorage<string>();
const UNKNOWN = "other";

/** Time per work. A thread has one event loop, and therefore one of these. */
function createWorkTimer() {
  let current = UNKNOWN;
  let since = performance.now();
  let spent = new Map<string, number>();
  let onChange: ((work: string) => void) | null = null;
  const settle = (): void => {
    const now = performance.now();
    spent.set(current, (spent.get(current) ?? 0) + now - since);
    since = now;
  };
  return {
    mark(work: string): void {
      if (work === current) return;
      settle();
      current = work;
      onChange?.(work);
    },
    takeLongest(): string {
      settle();
      let [longest, most] = [current, 0];
      for (const [work, ms] of spent) if (ms > most) [longest, most] = [work, ms];
      spent = new Map();
      return longest;
    },
    watch(listener: ((work: string) => void) | null): void {
      onChange = listener;
    },
  };
}

const timer = createWorkTimer();

/** Runs `fn`, and all that it starts, as `work`. */
export function runAs<T>(work: string, fn: () => T): T {
  return storage.run(work, () => {
    timer.mark(work);
    return fn();
  });
}

/**
 * Notes that the work of the calling code has begun or been resumed. Called where code that takes long passes by: in
 * requests, statements of the database and timers. Costs some 50 ns.
 */
export function markWork(): void {
  timer.mark(storage.getStore() ?? UNKNOWN);
}

/** The work that took most of the time since the last call. */
export function takeLongestWork(): string {
  return timer.takeLongest();
}

/** Calls `listener` with each work that begins; null to stop. */
export function watchCurrentWork(listener: ((work: string) => void) | null): void {
  timer.watch(listener);
}
