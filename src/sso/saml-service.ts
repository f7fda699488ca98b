import { Worker } from "node:worker_threads";
import type { Clock, Timer } from "../lib/clock.ts";
import { createSemaphore } from "../lib/semaphore.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { LoginError } from "./login-error.ts";
import type { SamlAssertion, SamlWorkerRequest, SamlWorkerResponse } from "./saml-worker-messages.ts";

/** Timeout of one request, also on a loaded machine. */
const REQUEST_TIMEOUT_MS = 20_000;
/** The worker ends after this time without requests; morning logins are spread over several minutes. */
const IDLE_TIMEOUT_MS = 600_000;
/** Heap limit of the worker; the library takes 20 MB. */
const MEMORY_MB = 128;
/** Maximum number of queued requests; each takes a few milliseconds, a hostile one up to a second. */
const MAX_QUEUED = 50;

/** Runs SAML in a worker thread, which starts with the first request and ends when idle. */
export interface SamlService {
  /** Generates the login URL or the metadata. Throws LoginError, TooManyRequestsError. */
  generate(input: SamlWorkerRequest & { what: "url" | "metadata" }): Promise<string>;
  /** Validates a response and returns its assertion. Throws LoginError, TooManyRequestsError. */
  validateResponse(input: SamlWorkerRequest & { what: "read" }): Promise<SamlAssertion>;
  /** Stops the worker; pending requests reject with LoginError `down`. */
  close(): Promise<void>;
}

/** Creates the service; `spawn` replaces the worker in tests. */
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

  /** Starts a worker. The error handler is needed even when idle: an unhandled worker error would end the process. */
  function startWorker(): Worker {
    const made = spawn();
    const forget = (): void => {
      if (worker === made) worker = null;
    };
    return made.on("error", forget).on("exit", forget);
  }

  function sendRequest(input: SamlWorkerRequest): Promise<SamlWorkerResponse> {
    if (isClosed) throw new LoginError("down", "The appliance is shutting down.");
    idle?.cancel();
    worker ??= startWorker();
    const to = worker;
    return new Promise((resolve, reject) => {
      const done = (settle: () => void): void => {
        timer.cancel();
        to.off("message", onResponse).off("error", onEnd).off("exit", onEnd);
        settle();
      };
      const onResponse = (response: SamlWorkerResponse): void => done(() => resolve(response));
      const onEnd = (): void =>
        done(() =>
          reject(
            new LoginError(isClosed ? "down" : "answer", "The SAML worker ended before it validated the response."),
          ),
        );
      const timer = clock.after(REQUEST_TIMEOUT_MS, () => void to.terminate(), { background: true });
      to.on("message", onResponse).on("error", onEnd).on("exit", onEnd);
      to.postMessage(input);
    });
  }

  const request = (input: SamlWorkerRequest): Promise<SamlWorkerResponse> =>
    runExclusive(async () => {
      try {
        const response = await sendRequest(input);
        if ("error" in response) throw new LoginError(response.error.code, response.error.message);
        return response;
      } finally {
        idle?.cancel();
        idle = clock.after(IDLE_TIMEOUT_MS, () => void stopWorker(), { background: true });
      }
    });

  return {
    generate: async (input) => ((await request(input)) as { text: string }).text,
    validateResponse: async (input) => ((await request(input)) as { assertion: SamlAssertion }).assertion,
    close() {
      isClosed = true;
      return stopWorker();
    },
  };
}

/** Output of the libraries may quote responses, so it is discarded; unread output would accumulate. */
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
