import { Worker } from "node:worker_threads";
import type { Clock, Timer } from "../lib/clock.ts";
import { BugError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { LoadAborted, type LoadSource } from "./load-source.ts";
import type { StoredRosterRecord } from "./roster-state.ts";
import type {
  ReadList,
  SourceAnswer,
  SourceFindings,
  SourceParts,
  SourceQuestion,
  SourceRequest,
} from "./source-messages.ts";

export interface SourceThreadDeps {
  clock: Clock;
  signal: AbortSignal;
  /** Records of the last load of a file that follow `after`. */
  records(file: string, after: string): readonly StoredRosterRecord[];
  onLines(linesRead: number): void;
  /** Figures and messages, also of a source that cannot be read. */
  onFindings(findings: SourceFindings): void;
  /** Replaces the thread in tests. */
  spawn?: () => Worker;
}

/** @source docs/decisions/0544-reading-in-workers.md */
const STALL_TIMEOUT_MS = 120_000;
const MEMORY_MB = 2_048;

/**
 * Reads a source in a worker thread, which holds it until `close`. Throws LoadAborted for a source that cannot be read, and
 * for one that makes no progress within the time limit.
 */
export async function readSourceInThread(
  request: SourceRequest,
  { clock, signal, records, onLines, onFindings, spawn = spawnWorker }: SourceThreadDeps,
): Promise<LoadSource> {
  signal.throwIfAborted();
  const thread = spawn();
  let waiting: { resolve(answer: SourceAnswer): void; reject(error: Error): void } | null = null;
  let limit: Timer | null = null;
  let ended: Error | null = null;

  const end = (error: Error): void => {
    ended ??= error;
    limit?.cancel();
    waiting?.reject(ended);
    waiting = null;
    void thread.terminate();
  };
  const stall = (): void => {
    limit?.cancel();
    limit = clock.after(STALL_TIMEOUT_MS, () => end(new LoadAborted("failed", STALLED)), { background: true });
  };
  const onAbort = (): void => end(signal.reason instanceof Error ? signal.reason : new BugError("The load ended."));
  signal.addEventListener("abort", onAbort, { once: true });
  thread.on("error", (error: Error & { code?: string }) => {
    if (error.code === "ERR_WORKER_OUT_OF_MEMORY") end(new LoadAborted("failed", TOO_LARGE));
    else end(new BugError("The thread that reads a source failed.", {}, error));
  });
  thread.on("exit", () => end(new BugError("The thread that reads a source ended.")));
  thread.on("message", (answer: SourceAnswer) => {
    if (answer.kind === "lines") {
      stall();
      onLines(answer.linesRead);
    } else if (answer.kind === "records") {
      stall();
      thread.postMessage({ kind: "records", rows: records(answer.file, answer.after) });
    } else {
      limit?.cancel();
      const { resolve } = waiting ?? {};
      waiting = null;
      resolve?.(answer);
    }
  });

  const ask = (question: Exclude<SourceQuestion, { kind: "records" }>) =>
    new Promise<SourceAnswer>((resolve, reject) => {
      if (ended) return reject(ended);
      waiting = { resolve, reject };
      stall();
      thread.postMessage(question);
    });
  async function* slices<Part extends keyof SourceParts>(part: Part): AsyncGenerator<readonly SourceParts[Part][]> {
    for (let from = 0; ; ) {
      const answer = await ask({ kind: "slice", part, from });
      if (answer.kind !== "slice" || answer.items.length === 0) return;
      yield answer.items as readonly SourceParts[Part][];
      from += answer.items.length;
    }
  }
  const close = async (): Promise<void> => {
    // A thread that does not answer has ended, or is ended by `stall`.
    await ask({ kind: "release" }).catch(() => null);
    signal.removeEventListener("abort", onAbort);
    end(new BugError("The source is closed."));
    await thread.terminate();
  };

  try {
    const answer = await ask(request);
    if (answer.kind === "failed") {
      onFindings(answer.findings);
      if (answer.isBug) throw new BugError("Failed to read a source.", { stack: answer.message });
      throw new LoadAborted(answer.state, answer.message);
    }
    if (answer.kind !== "read") throw new BugError("Unexpected answer of a source thread.", { kind: answer.kind });
    onFindings(answer.findings);
    const lists = new Map<string, ReadList>();
    for await (const items of slices("lists")) for (const list of items) lists.set(list.key, list);
    const keptPeople = new Set<string>();
    for await (const items of slices("keptPeople")) for (const key of items) keptPeople.add(key);
    return {
      ...{ peopleCount: answer.people, namesAllLists: answer.namesAllLists, lists, keptPeople, close },
      people: () => slices("people"),
      changes: () => slices("changes"),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const STALLED = sentence("upload.reading-the-source-made-no-progress-for-seconds-s-and", {
  seconds: STALL_TIMEOUT_MS / 1_000,
});
const TOO_LARGE = sentence("upload.the-source-needs-more-memory-than-a-load-may-take");

/** Unread output would accumulate. */
function spawnWorker(): Worker {
  const thread = new Worker(workerEntry(import.meta.url, "./source-worker"), {
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    name: "load source",
    stdout: true,
    stderr: true,
  });
  thread.stdout.resume();
  thread.stderr.resume();
  return thread;
}
