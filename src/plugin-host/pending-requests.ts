import type { Clock } from "../lib/clock.ts";

/** Requests to a plugin that wait for a response. */
export interface PendingRequests<A> {
  /** Always resolves; `send` transmits the request. */
  request(send: (id: number) => void): Promise<A>;
  resolve(id: number, answer: A): void;
  /** The plugin stopped or crashed. */
  resolveAllDropped(): void;
}

/** Timeout and limit, with the responses used instead. */
export interface PendingRequestLimits<A> {
  timeoutMs: number;
  maxPending: number;
  timedOut: A;
  dropped: A;
  overloaded: A;
}

/** Creates the pending requests of one kind to one plugin. */
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
