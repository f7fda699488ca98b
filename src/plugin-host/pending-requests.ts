import type { Clock } from "../lib/clock.ts";

/** Questions to a plugin that wait for its answer. */
export interface PendingRequests<A> {
  /** Always answers; `send` puts the question on the wire. */
  request(send: (id: number) => void): Promise<A>;
  resolve(id: number, answer: A): void;
  /** The plugin's run has ended. */
  resolveAllDropped(): void;
}

/** How long a question may wait, how many may at once, and what is answered instead. */
export interface PendingRequestLimits<A> {
  timeoutMs: number;
  maxPending: number;
  timedOut: A;
  dropped: A;
  overloaded: A;
}

/** Makes the waiting room of one kind of questions to one plugin. */
export function createPendingRequests<A>(
  clock: Clock,
  { timeoutMs, maxPending, timedOut, dropped, overloaded }: PendingRequestLimits<A>,
): PendingRequests<A> {
  const waiting = new Map<number, (answer: A) => void>();
  let nextId = 1;
  const settle = (id: number, answer: A): void => {
    const resolve = waiting.get(id);
    waiting.delete(id);
    resolve?.(answer);
  };
  return {
    request(send) {
      if (waiting.size >= maxPending) return Promise.resolve(overloaded);
      return new Promise((resolve) => {
        const id = nextId++;
        const timer = clock.after(timeoutMs, () => settle(id, timedOut), { background: true });
        waiting.set(id, (answer) => {
          timer.cancel();
          resolve(answer);
        });
        send(id);
      });
    },
    resolve: settle,
    resolveAllDropped() {
      for (const id of [...waiting.keys()]) settle(id, dropped);
    },
  };
}
