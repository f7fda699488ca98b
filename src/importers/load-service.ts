import type { Clock } from "../lib/clock.ts";
import { forbidden, notFound } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import loadDefinitions from "../resources/loads/load-definitions.ts";
import loadRuns from "../resources/loads/load-runs.ts";
import type { ActorContext, Store, Sync } from "../store/store.ts";
import type { CronScheduler } from "../time-zones/cron-schedule.ts";
import type { ZoneDataOptions } from "../time-zones/zone-data.ts";
import type { ImportQueue } from "./import-queue.ts";
import type { LoadRun } from "./load-context.ts";
import { finishRun, runLoad } from "./load-run.ts";
import { deleteLoadSteps } from "./load-steps.ts";
import { deleteOrphanedRecords, deleteRecordChanges } from "./roster-state.ts";
import type { LoadDefinition } from "./source-files.ts";

export interface LoadServiceDeps {
  store: Store;
  clock: Clock;
  events: Events;
  log: Log;
  system: ActorContext;
  queue: ImportQueue;
  schedule: CronScheduler;
  /** Where the time zone data are. */
  zoneFolders: ZoneDataOptions;
  /** Time zone of the appliance. */
  ownZone(): string;
  /** Folder that contains the paths of definitions. */
  loadsDir: string;
  /** Where the URLs of services may lead. */
  ssrfGuard: SsrfGuard;
}

/** Scheduled and manual imports of users and lists from external sources. */
export interface LoadService {
  /** Stores the file of a definition without a path. Throws not-found, forbidden, too-large. */
  acceptFile(
    id: string,
    bytes: AsyncIterable<Uint8Array>,
    given: { fileName: string; by: ActorContext },
  ): Promise<LoadDefinition>;
  /** Queues a run. */
  startRun(definitionId: string, input: object, by: ActorContext): Promise<LoadRun>;
  /** Recovers from a crash: fails undecided runs, resumes committed ones; then starts the cron schedules. */
  start(): Promise<void>;
  /** Resolves when nothing is being loaded. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const MAX_FILE_BYTES = 256 * 1_048_576;
/** Retention: runs kept per definition. @source docs/decisions/0540-importers.md, Loads */
const MAX_RUNS_KEPT = 100;

export function createLoadService(deps: LoadServiceDeps): LoadService {
  const { store, clock, events, log, system, queue } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let endings: (() => void)[] = [];

  function enqueueRun(run: LoadRun): void {
    const name = store.get(loadDefinitions, run.loadDefinitionId)?.name ?? "";
    // Reported one after another, so that the last one stays.
    let reported: Promise<unknown> = Promise.resolve();
    const onWait = (behind: string, before: number): void => {
      const all = before > 1 ? sentence("load.queued-more", { first: behind, number: before - 1 }) : behind;
      const waitingFor = all.slice(0, 255);
      reported = reported.then(() => change(run, { waitingFor, phase: "waiting" })).catch(logFailure(run));
    };
    queue
      .run(
        sentence("load.queued-import", { name }),
        async () => {
          await reported;
          const definition = store.get(loadDefinitions, run.loadDefinitionId);
          if (signal.aborted || !definition || !store.get(loadRuns, run.id)) return;
          await change(run, { state: "running", startedAt: clock.now(), waitingFor: null, phase: "reading" });
          const reason = await runLoad({ ...deps, signal }, definition, run);
          if (reason !== null) emitFailed(run, reason);
        },
        onWait,
      )
      .catch((error) => {
        if (signal.aborted) return;
        logFailure(run)(error);
        emitFailed(run, sentence("activity.internal-error"));
      });
  }

  function logFailure(run: LoadRun): (error: unknown) => void {
    return (error) => {
      if (!signal.aborted) log.error({ event: "import.load_failed", err: error, loadRunId: run.id }, "load failed");
    };
  }

  function deleteRecords(): void {
    deleteOrphanedRecords(store, signal).catch((error: unknown) => {
      if (!signal.aborted) log.error({ event: "import.cleanup_failed", err: error }, "failed to delete roster records");
    });
  }

  function emitFailed({ id, loadDefinitionId }: LoadRun, reason: string): void {
    events.emit("load.failed", { loadDefinitionId, loadRunId: id, reason });
  }

  async function change({ id }: LoadRun, values: Partial<LoadRun>): Promise<void> {
    await store.write((tx) => {
      if (tx.get(loadRuns, id)) tx.update(loadRuns, id, {}, system, values as never);
    });
  }

  async function startRun(definitionId: string, input: object, by: ActorContext): Promise<LoadRun> {
    const run = await store.write((tx) => {
      const old = tx.page(loadRuns, { within: { loadDefinitionId: definitionId }, sort: "createdAt" });
      const made = tx.create(loadRuns, { ...input, loadDefinitionId: definitionId }, by);
      const isOver = ({ endedAt }: LoadRun): boolean => endedAt !== null;
      if (
        tx.count(loadRuns, { loadDefinitionId: definitionId }) > MAX_RUNS_KEPT &&
        old.rows[0] &&
        isOver(old.rows[0])
      ) {
        tx.remove(loadRuns, old.rows[0].id, system);
      }
      return made as Sync<LoadRun>;
    });
    enqueueRun(run);
    return run;
  }

  function reschedule(): void {
    for (const end of endings) end();
    endings = store
      .find(loadDefinitions, {})
      .filter(({ schedule, disabled }) => schedule !== null && !disabled)
      .map(({ id, schedule }) =>
        deps.schedule(schedule as string, () => {
          startRun(id, {}, system).catch((error: unknown) =>
            log.error(
              { event: "import.load_start_failed", err: error, loadDefinitionId: id },
              "scheduled load failed to start",
            ),
          );
        }),
      );
  }

  return {
    async acceptFile(id, bytes, { fileName, by }) {
      if (!store.get(loadDefinitions, id, by.scope)) throw notFound();
      if (!store.get(loadDefinitions, id, by.scope.changeable)) throw forbidden();
      const stored = await store.files.put(bytes, { fileName, maxBytes: MAX_FILE_BYTES, types: ["*/*"] });
      let isKept = false;
      try {
        const values = { fileId: stored.file.sha256, fileName, uploadedAt: clock.now() };
        const row = await store.write((tx) => tx.update(loadDefinitions, id, {}, by, values) as Sync<LoadDefinition>);
        isKept = true;
        return row;
      } finally {
        store.files.release(stored, isKept);
      }
    },
    startRun,
    async start() {
      for (const state of ["applying", "running", "pending"] as const) {
        for (const run of store.find(loadRuns, { state })) {
          const definition = store.get(loadDefinitions, run.loadDefinitionId);
          const scope = { ...system.scope, domainId: definition?.domainId ?? null };
          if (state === "applying")
            queue
              .run(`Import ${definition?.name ?? ""}`, () => finishRun({ ...deps, signal }, run, { ...system, scope }))
              .catch((error) => {
                if (!signal.aborted)
                  log.error(
                    { event: "import.load_resume_failed", err: error, loadRunId: run.id },
                    "failed to resume a load",
                  );
              });
          else {
            await deleteLoadSteps(store, run.pk);
            await deleteRecordChanges(store, run.pk);
            await change(run, {
              ...{ state: "failed", phase: null, waitingFor: null },
              reason: sentence("load.appliance-stopped"),
              endedAt: clock.now(),
            });
          }
        }
      }
      deleteRecords();
      reschedule();
      const off = events.on("row.changed", ({ resource, op }) => {
        if (resource !== loadDefinitions.name || signal.aborted) return;
        reschedule();
        if (op === "delete") deleteRecords();
      });
      signal.addEventListener("abort", off, { once: true });
    },
    idle: queue.idle,
    stop() {
      stopping.abort();
      for (const end of endings) end();
      endings = [];
      return queue.idle();
    },
  };
}
