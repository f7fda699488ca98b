import { Worker } from "node:worker_threads";
import type { Clock, Timer } from "../lib/clock.ts";
import { createSemaphore } from "../lib/semaphore.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { LoginError } from "./login-error.ts";
import type { SamlAssertion, SamlWorkerRequest, SamlWorkerResponse } from "./saml-worker-messages.ts";

/** How long one question may take, also on a machine that does much else. own choice */
const REQUEST_TIMEOUT_MS = 20_000;
/** How long the thread stays while nobody asks. own choice: logging in at eight o'clock goes on for a while. */
const IDLE_TIMEOUT_MS = 600_000;
/** Objects that the thread may hold: the library takes 20 MB. own choice */
const MEMORY_MB = 128;
/** Questions that may wait. own choice: each takes some milliseconds, the worst that somebody may post a second. */
const MAX_QUEUED = 50;

/** Answers questions of SAML in a thread, which is there from the first one until nobody has asked for a while. */
export interface SamlService {
  /** A text for the questions `url` and `metadata`. Throws LoginError, TooManyRequestsError. */
  generate(question: SamlWorkerRequest & { what: "url" | "metadata" }): Promise<string>;
  /** What an answer says. Throws LoginError, TooManyRequestsError. */
  validateResponse(question: SamlWorkerRequest & { what: "read" }): Promise<SamlAssertion>;
  /** Ends the thread; who waits for it gets LoginError `down`. */
  close(): Promise<void>;
}

/** Makes the desk; `spawn` makes its thread unless the built one is wanted. */
export function createSamlService(clock: Clock, spawn: () => Worker = spawnWorker): SamlService {
  const runExclusive = createSemaphore(1, MAX_QUEUED);
  let worker: Worker | null = null;
  let idle: Timer | null = null;
  let isClosed = false;

  async function stopWorker(): Promise<void> {
    idle?.cancel();
    const ending = worker;
    worker = null;
    await ending?.terminate();
  }

  /** One that ends while nobody asks is made anew; a fault of it that nobody heard would end the appliance. */
  function startWorker(): Worker {
    const made = spawn();
    const forget = (): void => {
      if (worker === made) worker = null;
    };
    return made.on("error", forget).on("exit", forget);
  }

  function sendRequest(question: SamlWorkerRequest): Promise<SamlWorkerResponse> {
    if (isClosed) throw new LoginError("down", "The appliance is ending.");
    idle?.cancel();
    worker ??= startWorker();
    const to = worker;
    return new Promise((resolve, reject) => {
      const done = (settle: () => void): void => {
        timer.cancel();
        to.off("message", onAnswer).off("error", onEnd).off("exit", onEnd);
        settle();
      };
      const onAnswer = (answer: SamlWorkerResponse): void => done(() => resolve(answer));
      const onEnd = (): void =>
        done(() => reject(new LoginError(isClosed ? "down" : "answer", "Reading the provider's answer ended early.")));
      const timer = clock.after(REQUEST_TIMEOUT_MS, () => void to.terminate(), { background: true });
      to.on("message", onAnswer).on("error", onEnd).on("exit", onEnd);
      to.postMessage(question);
    });
  }

  const request = (question: SamlWorkerRequest): Promise<SamlWorkerResponse> =>
    runExclusive(async () => {
      try {
        const answer = await sendRequest(question);
        if ("fault" in answer) throw new LoginError(answer.fault.code, answer.fault.words);
        return answer;
      } finally {
        idle?.cancel();
        idle = clock.after(IDLE_TIMEOUT_MS, () => void stopWorker(), { background: true });
      }
    });

  return {
    generate: async (question) => ((await request(question)) as { text: string }).text,
    validateResponse: async (question) => ((await request(question)) as { said: SamlAssertion }).said,
    close() {
      isClosed = true;
      return stopWorker();
    },
  };
}

/** What libraries say of what they read is nobody's business: it is thrown away, since what nobody reads piles up. */
function spawnWorker(): Worker {
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
