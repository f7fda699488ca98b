import { sleep } from "../../lib/clock.ts";
import { BugError, CallerError, UpstreamError } from "../../lib/errors.ts";
import { type StageName, stagesBefore } from "../../resources/notifications/pipeline-stages.ts";
import { createDeferred, type Deferred } from "./active-broadcast-state.ts";
import { addActivity } from "./activity-log.ts";
import type { EngineDeps } from "./broadcast-activator.ts";
import { cancellationReason } from "./cancellation-state.ts";
import { advanceStage, type NotificationStage, type PipelineStage } from "./pipeline-stage.ts";

/** Takes broadcasts through the stages: each for itself, so that one that is stuck delays no other. */
export interface PipelineRunner {
  /** Takes one through what it still has before it; one that is under way or settled is left alone. */
  run(notificationId: string): void;
  /** Takes up everything that is not settled, emergencies first. */
  runUnfinished(): void;
  /** Resolves when nothing runs any more. */
  waitUntilIdle(): Promise<void>;
}

/** Waits after a stage that failed, from the first time on. own choice */
const BACKOFF_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000];

/** Failures in a row after which a stage of a message that is too late is given up. */
const MAX_FAILURES = 5;

interface PipelineProgress {
  stage: NotificationStage;
  abortedAt: number | null;
  expiresAt: number | null;
  notAfter: number | null;
  priorityLevel: number;
  /** 1 for what is made ready for a moment of its own, else 0. */
  isTimed: number;
}

const PROGRESS = `SELECT stage, aborted_at AS abortedAt, expires_at AS expiresAt, not_after AS notAfter,
  coalesce(priority_level, 5) AS priorityLevel, held_until IS NOT NULL AS isTimed FROM notifications WHERE id = ?`;

/** Stages before any device is asked: what was ended meanwhile need not go through them. */
const BEFORE_DEVICES: ReadonlySet<string> = new Set(stagesBefore("deliver"));

/** Stages until an emergency is heard. */
const BEFORE_AUDIBLE: ReadonlySet<string> = new Set(stagesBefore("collect"));

/** Makes a runner of `stages`, given in their order. */
export function createPipelineRunner(stages: readonly PipelineStage<EngineDeps>[], needs: EngineDeps): PipelineRunner {
  const { store, clock, log, signal, emergencyPrecedence } = needs;
  const byName = new Map<string, PipelineStage<EngineDeps>>(stages.map((stage) => [stage.name, stage]));
  const running = new Map<string, Promise<void>>();
  /** Emergencies that are not heard yet, by their ids. */
  const unheard = new Map<string, Deferred>();

  const progressOf = (notificationId: string): PipelineProgress | null =>
    store.one<PipelineProgress>(PROGRESS, notificationId);

  const runStages = async (notificationId: string): Promise<void> => {
    for (let failures = 0; !signal.aborted; ) {
      const found = progressOf(notificationId);
      trackEmergency(notificationId, found);
      if (found) await waitForEmergencies(found);
      const progress = progressOf(notificationId);
      const stage = progress && byName.get(progress.stage);
      if (!stage || signal.aborted) return;
      try {
        if (BEFORE_DEVICES.has(stage.name) && cancellationReason(progress, clock.now())) {
          await skipToEnd(notificationId, progress);
        } else await stage.run(notificationId, needs);
        if (progressOf(notificationId)?.stage === stage.name)
          throw new BugError("A stage did not advance.", { stage: stage.name });
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        await handleFailure(notificationId, stage.name, progress, error, failures);
        await sleep(clock, BACKOFF_MS[Math.min(failures++, BACKOFF_MS.length - 1)] ?? 0, signal);
      }
    }
  };

  const trackEmergency = (notificationId: string, progress: PipelineProgress | null): void => {
    if (progress?.priorityLevel === 0 && BEFORE_AUDIBLE.has(progress.stage)) {
      if (unheard.has(notificationId)) return;
      const heard = createDeferred();
      unheard.set(notificationId, heard);
      emergencyPrecedence.holdOthersUntil(heard.promise);
    } else {
      unheard.get(notificationId)?.resolve();
      unheard.delete(notificationId);
    }
  };

  /** Nothing may delay an emergency: others wait a little while one is on its way, but for bells, whose moment is set. */
  const waitForEmergencies = async ({ priorityLevel, isTimed }: PipelineProgress): Promise<void> => {
    if (priorityLevel !== 0 && isTimed === 0) await emergencyPrecedence.waitForEmergencies();
  };

  const skipToEnd = (notificationId: string, { priorityLevel }: PipelineProgress): Promise<void> =>
    store.write((tx) => advanceStage(tx, notificationId, "settle"), needs.laneOf(priorityLevel));

  const handleFailure = async (
    notificationId: string,
    stage: StageName,
    progress: PipelineProgress,
    error: unknown,
    failures: number,
  ): Promise<void> => {
    log.error({ err: error, notificationId, stage, failures }, "stage failed");
    const late = progress.notAfter !== null && clock.now() > progress.notAfter;
    const tooLate = late && failures >= MAX_FAILURES && stage !== "settle";
    if (failures > 0 && !tooLate) return;
    try {
      await store.write((tx) => {
        const details = { stage, message: wordsOf(error), givenUp: tooLate };
        addActivity(
          tx,
          { notificationId, type: "broadcast-failed", endpointId: needs.endpointId(), details },
          needs.by,
        );
        if (tooLate) advanceStage(tx, notificationId, "settle");
      }, needs.laneOf(progress.priorityLevel));
    } catch (fault) {
      log.error({ err: fault, notificationId, stage }, "failure not recorded");
    }
  };

  const run = (notificationId: string): void => {
    if (running.has(notificationId) || signal.aborted) return;
    const done = runStages(notificationId)
      .catch((error) => {
        if (!signal.aborted) log.error({ err: error, notificationId }, "broadcast left alone until the next start");
      })
      .finally(() => {
        running.delete(notificationId);
        trackEmergency(notificationId, null);
      });
    running.set(notificationId, done);
  };

  return {
    run,
    runUnfinished() {
      const unfinished = store.all<{ id: string }>(
        `SELECT id FROM notifications WHERE stage IN (SELECT value FROM json_each(?)) ORDER BY priority_level, pk`,
        JSON.stringify([...byName.keys()]),
      );
      for (const { id } of unfinished) run(id);
    },
    async waitUntilIdle() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}

function wordsOf(error: unknown): string {
  if (error instanceof CallerError || error instanceof UpstreamError) return error.message;
  return "Something went wrong inside; the log says more.";
}
