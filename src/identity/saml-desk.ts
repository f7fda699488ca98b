import { Worker } from "node:worker_threads";
import { createTurns } from "../access/turns.ts";
import type { Clock, Timer } from "../base/clock.ts";
import { workerEntry } from "../base/worker-entry.ts";
import { LogInFault } from "./log-in-fault.ts";
import type { SamlAnswer, SamlQuestion, SamlSaid } from "./saml-questions.ts";

/** How long one question may take, also on a machine that does much else. own choice */
const LONGEST_MS = 20_000;
/** How long the thread stays while nobody asks. own choice: logging in at eight o'clock goes on for a while. */
const IDLE_MS = 600_000;
/** Objects that the thread may hold: the library takes 20 MB. own choice */
const MEMORY_MB = 128;
/** Questions that may wait. own choice: each takes some milliseconds, the worst that somebody may post a second. */
const MOST_WAITING = 50;

/** Answers questions of SAML in a thread, which is there from the first one until nobody has asked for a while. */
export interface SamlDesk {
  /** A text for the questions `url` and `metadata`. Throws LogInFault, TooManyRequests. */
  text(question: SamlQuestion & { what: "url" | "metadata" }): Promise<string>;
  /** What an answer says. Throws LogInFault, TooManyRequests. */
  read(question: SamlQuestion & { what: "read" }): Promise<SamlSaid>;
  /** Ends the thread; who waits for it gets LogInFault `down`. */
  close(): Promise<void>;
}

/** Makes the desk; `spawn` makes its thread unless the built one is wanted. */
export function createSamlDesk(clock: Clock, spawn: () => Worker = startThread): SamlDesk {
  const inTurn = createTurns(1, MOST_WAITING);
  let worker: Worker | null = null;
  let idle: Timer | null = null;
  let isClosed = false;

  async function end(): Promise<void> {
    idle?.cancel();
    const ending = worker;
    worker = null;
    await ending?.terminate();
  }

  /** One that ends while nobody asks is made anew; a fault of it that nobody heard would end the appliance. */
  function begun(): Worker {
    const made = spawn();
    const forget = (): void => {
      if (worker === made) worker = null;
    };
    return made.on("error", forget).on("exit", forget);
  }

  function asked(question: SamlQuestion): Promise<SamlAnswer> {
    if (isClosed) throw new LogInFault("down", "The appliance is ending.");
    idle?.cancel();
    worker ??= begun();
    const to = worker;
    return new Promise((resolve, reject) => {
      const done = (settle: () => void): void => {
        timer.cancel();
        to.off("message", onAnswer).off("error", onEnd).off("exit", onEnd);
        settle();
      };
      const onAnswer = (answer: SamlAnswer): void => done(() => resolve(answer));
      const onEnd = (): void =>
        done(() => reject(new LogInFault(isClosed ? "down" : "answer", "Reading the provider's answer ended early.")));
      const timer = clock.after(LONGEST_MS, () => void to.terminate(), { background: true });
      to.on("message", onAnswer).on("error", onEnd).on("exit", onEnd);
      to.postMessage(question);
    });
  }

  const answerOf = (question: SamlQuestion): Promise<SamlAnswer> =>
    inTurn(async () => {
      try {
        const answer = await asked(question);
        if ("fault" in answer) throw new LogInFault(answer.fault.code, answer.fault.words);
        return answer;
      } finally {
        idle?.cancel();
        idle = clock.after(IDLE_MS, () => void end(), { background: true });
      }
    });

  return {
    text: async (question) => ((await answerOf(question)) as { text: string }).text,
    read: async (question) => ((await answerOf(question)) as { said: SamlSaid }).said,
    close() {
      isClosed = true;
      return end();
    },
  };
}

/** What libraries say of what they read is nobody's business: it is thrown away, since what nobody reads piles up. */
function startThread(): Worker {
  const limits = { maxOldGenerationSizeMb: MEMORY_MB };
  const thread = new Worker(workerEntry(import.meta.url, "./saml-worker"), {
    resourceLimits: limits,
    stdout: true,
    stderr: true,
  });
  thread.stdout.resume();
  thread.stderr.resume();
  return thread;
}
