import { sleep } from "../../lib/clock.ts";
import { BugError, CallerError, UpstreamError } from "../../lib/errors.ts";
import { asGiven, type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import { type StageName, stagesBefore, UNFINISHED_SQL } from "../../resources/notifications/pipeline-stages.ts";
import { createDeferred, type Deferred } from "./active-broadcast-state.ts";
import { addActivity } from "./activity-log.ts";
import type { EngineDeps } from "./broadcast-activator.ts";
import { cancellationReason } from "./cancellation-state.ts";
import { advanceStage, type NotificationStage, type PipelineStage } from "./pipeline-stage.ts";

/** Takes broadcasts through the stages, independently, so that a stuck one does not delay others. */
export interface PipelineRunner {
  /** Runs the remaining stages of a broadcast; has no effect on one in progress or settled. */
  run(notificationId: string): void;
  /** Resumes everything that is not settled, emergencies first. */
  runUnfinished(): void;
  /** Resolves when nothing runs any more. */
  waitUntilIdle(): Promise<void>;
}

/** Backoff after a failed stage. */
const BACKOFF_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000];

/** Failures in a row after which a message past its deadline is abandoned. */
const MAX_FAILURES = 5;

interface PipelineProgress {
  stage: NotificationStage;
  abortedAt: number | null;
  expiresAt: number | null;
  notAfter: number | null;
  priorityLevel: number;
  /** 1 for a message with a scheduled start, else 0. */
  isTimed: number;
}

const PROGRESS = `SELECT stage, aborted_at AS abortedAt, expires_at AS expiresAt, not_after AS notAfter,
  coalesce(priority_level, 5) AS priorityLevel, held_until IS NOT NULL AS isTimed FROM notifications WHERE id = ?`;

/** Stages before any device is asked: a message that has ended early skips them. */
const BEFORE_DEVICES: ReadonlySet<string> = new Set(stagesBefore("deliver"));

/** Stages until an emergency is audible. */
const BEFORE_AUDIBLE: ReadonlySet<string> = new Set(stagesBefore("collect"));

/** Creates a runner of `stages`, in order. */
export function createPipelineRunner(stages: readonly PipelineStage<EngineDeps>[], deps: EngineDeps): PipelineRunner {
  const { store, clock, log, signal, emergencyPrecedence } = deps;
  const byName = new Map<string, PipelineStage<EngineDeps>>(stages.map((stage) => [stage.name, stage]));
  const running = new Map<string, Promise<void>>();
  /** Emergencies that are not audible yet, by id. */
  const inaudible = new Map<string, Deferred>();

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
        } else await stage.run(notificationId, deps);
        if (progressOf(notificationId)?.stage === stage.name)
          throw new BugError("Pipeline stage returned without advancing.", { stage: stage.name });
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
      if (inaudible.has(notificationId)) return;
      const audible = createDeferred();
      inaudible.set(notificationId, audible);
      emergencyPrecedence.holdOthersUntil(audible.promise);
    } else {
      inaudible.get(notificationId)?.resolve();
      inaudible.delete(notificationId);
    }
  };

  /**
   * Nothing may delay an emergency: other messages wait briefly for one that is not audible yet, except bells, whose
   * time is fixed.
   */
  const waitForEmergencies = async ({ priorityLevel, isTimed }: PipelineProgress): Promise<void> => {
    if (priorityLevel !== 0 && isTimed === 0) await emergencyPrecedence.waitForEmergencies();
  };

  const skipToEnd = (notificationId: string, { priorityLevel }: PipelineProgress): Promise<void> =>
    store.write((tx) => advanceStage(tx, notificationId, "settle"), deps.laneOf(priorityLevel));

  const handleFailure = async (
    notificationId: string,
    stage: StageName,
    progress: PipelineProgress,
    error: unknown,
    failures: number,
  ): Promise<void> => {
    log.error(
      { event: "pipeline.stage_failed", err: error, notificationId, stage, failures },
      "Pipeline stage failed; retrying.",
    );
    const late = progress.notAfter !== null && clock.now() > progress.notAfter;
    const tooLate = late && failures >= MAX_FAILURES && stage !== "settle";
    if (failures > 0 && !tooLate) return;
    try {
      await store.write((tx) => {
        const details = { stage, message: wordsOf(error), givenUp: tooLate };
        addActivity(tx, { notificationId, type: "broadcast-failed", endpointId: deps.endpointId(), details }, deps.by);
        if (tooLate) advanceStage(tx, notificationId, "settle");
      }, deps.laneOf(progress.priorityLevel));
    } catch (recordError) {
      log.error(
        { event: "pipeline.failure_not_recorded", err: recordError, notificationId, stage },
        "Failure could not be recorded in the activity log.",
      );
    }
  };

  const run = (notificationId: string): void => {
    if (running.has(notificationId) || signal.aborted) return;
    const done = runStages(notificationId)
      .catch((error) => {
        if (!signal.aborted)
          log.error(
            { event: "pipeline.abandoned", err: error, notificationId },
            "Broadcast abandoned until the next start.",
          );
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
        `SELECT id FROM notifications WHERE ${UNFINISHED_SQL} AND stage IN (SELECT value FROM json_each(?))
         ORDER BY priority_level, pk`,
        JSON.stringify([...byName.keys()]),
      );
      for (const { id } of unfinished) run(id);
    },
    async waitUntilIdle() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}

function wordsOf(error: unknown): Sentence {
  if (error instanceof CallerError || error instanceof UpstreamError) return asGiven(error.message);
  return sentence("activity.internal-error");
}
