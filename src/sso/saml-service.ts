import { Worker } from "node:worker_threads";
import type { Clock } from "../lib/clock.ts";
import { createIdleWorker } from "../lib/idle-worker.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { LoginError } from "./login-error.ts";
import type { SamlAssertion, SamlLogout, SamlWorkerRequest, SamlWorkerResponse } from "./saml-worker-messages.ts";

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
  /** Validates a logout request. Throws LoginError, TooManyRequestsError. */
  readLogout(input: SamlWorkerRequest & { what: "logout" }): Promise<SamlLogout>;
  /** Stops the worker; pending requests reject with LoginError `down`. */
  close(): Promise<void>;
}

/** Creates the service; `spawn` replaces the worker in tests. */
export function createSamlService(clock: Clock, spawn: () => Worker = spawnWorker): SamlService {
  const worker = createIdleWorker<SamlWorkerRequest, SamlWorkerResponse>({
    ...{ clock, spawn, requestTimeoutMs: REQUEST_TIMEOUT_MS, idleTimeoutMs: IDLE_TIMEOUT_MS, maxQueued: MAX_QUEUED },
    endedError: (isClosed) =>
      isClosed
        ? new LoginError("down", sentence("login.the-appliance-is-shutting-down"))
        : new LoginError("answer", sentence("login.the-saml-worker-ended-before-it-validated-the-response")),
  });

  async function request(input: SamlWorkerRequest): Promise<SamlWorkerResponse> {
    const response = await worker.request(input);
    if ("error" in response) throw new LoginError(response.error.code, response.error.message);
    return response;
  }

  return {
    generate: async (input) => ((await request(input)) as { text: string }).text,
    validateResponse: async (input) => ((await request(input)) as { assertion: SamlAssertion }).assertion,
    readLogout: async (input) => ((await request(input)) as { logout: SamlLogout }).logout,
    close: worker.close,
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
