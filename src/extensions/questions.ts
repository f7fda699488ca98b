import type { Clock } from "../base/clock.ts";

/** Questions to a plugin that wait for its answer. */
export interface Questions<A> {
  /** Always answers; `send` puts the question on the wire. */
  ask(send: (id: number) => void): Promise<A>;
  answer(id: number, answer: A): void;
  /** The plugin's run has ended. */
  drop(): void;
}

/** How long a question may wait, how many may at once, and what is answered instead. */
export interface QuestionRules<A> {
  withinMs: number;
  most: number;
  late: A;
  dropped: A;
  full: A;
}

/** Makes the waiting room of one kind of questions to one plugin. */
export function createQuestions<A>(
  clock: Clock,
  { withinMs, most, late, dropped, full }: QuestionRules<A>,
): Questions<A> {
  const waiting = new Map<number, (answer: A) => void>();
  let nextId = 1;
  const settle = (id: number, answer: A): void => {
    const resolve = waiting.get(id);
    waiting.delete(id);
    resolve?.(answer);
  };
  return {
    ask(send) {
      if (waiting.size >= most) return Promise.resolve(full);
      return new Promise((resolve) => {
        const id = nextId++;
        const timer = clock.after(withinMs, () => settle(id, late), { background: true });
        waiting.set(id, (answer) => {
          timer.cancel();
          resolve(answer);
        });
        send(id);
      });
    },
    answer: settle,
    drop() {
      for (const id of [...waiting.keys()]) settle(id, dropped);
    },
  };
}
