import { sleep } from "../base/clock.ts";
import { BugError, CallerError, UpstreamError } from "../base/errors.ts";
import { type StageName, stagesUntil } from "../resources/broadcasts/stages.ts";
import { addActivity } from "./activities.ts";
import type { EngineNeeds } from "./air.ts";
import { createSignal, type Signal } from "./live-state.ts";
import { advance, type NextStage, type Stage } from "./stage.ts";
import { stoppedBy } from "./stopped.ts";

/** Takes broadcasts through the stages: each for itself, so that one that is stuck delays no other. */
export interface Runner {
  /** Takes one through what it still has before it; one that is under way or settled is left alone. */
  take(notificationId: string): void;
  /** Takes up everything that is not settled, emergencies first. */
  takeUnfinished(): void;
  /** Resolves when nothing runs any more. */
  idle(): Promise<void>;
}

/** Waits after a stage that failed, from the first time on. own choice */
const AGAIN_AFTER_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000];

/** Failures in a row after which a stage of a message that is too late is given up. */
const PATIENCE = 5;

interface Progress {
  stage: NextStage;
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
const BEFORE_DEVICES: ReadonlySet<string> = new Set(stagesUntil("deliver"));

/** Stages until an emergency is heard. */
const UNTIL_HEARD: ReadonlySet<string> = new Set(stagesUntil("collect"));

/** Makes a runner of `stages`, given in their order. */
export function createRunner(stages: readonly Stage<EngineNeeds>[], needs: EngineNeeds): Runner {
  const { store, clock, log, signal, precedence } = needs;
  const byName = new Map<string, Stage<EngineNeeds>>(stages.map((stage) => [stage.name, stage]));
  const running = new Map<string, Promise<void>>();
  /** Emergencies that are not heard yet, by their ids. */
  const unheard = new Map<string, Signal>();

  const progressOf = (notificationId: string): Progress | null => store.one<Progress>(PROGRESS, notificationId);

  const run = async (notificationId: string): Promise<void> => {
    for (let failures = 0; !signal.aborted; ) {
      const found = progressOf(notificationId);
      noteUrgent(notificationId, found);
      if (found) await giveWay(found);
      const progress = progressOf(notificationId);
      const stage = progress && byName.get(progress.stage);
      if (!stage || signal.aborted) return;
      try {
        if (BEFORE_DEVICES.has(stage.name) && stoppedBy(progress, clock.now())) {
          await skipToEnd(notificationId, progress);
        } else await stage.run(notificationId, needs);
        if (progressOf(notificationId)?.stage === stage.name)
          throw new BugError("A stage did not advance.", { stage: stage.name });
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        await failed(notificationId, stage.name, progress, error, failures);
        await sleep(clock, AGAIN_AFTER_MS[Math.min(failures++, AGAIN_AFTER_MS.length - 1)] ?? 0, signal);
      }
    }
  };

  const noteUrgent = (notificationId: string, progress: Progress | null): void => {
    if (progress?.priorityLevel === 0 && UNTIL_HEARD.has(progress.stage)) {
      if (unheard.has(notificationId)) return;
      const heard = createSignal();
      unheard.set(notificationId, heard);
      precedence.goFirst(heard.given);
    } else {
      unheard.get(notificationId)?.give();
      unheard.delete(notificationId);
    }
  };

  /** Nothing may delay an emergency: others wait a little while one is on its way, but for bells, whose moment is set. */
  const giveWay = async ({ priorityLevel, isTimed }: Progress): Promise<void> => {
    if (priorityLevel !== 0 && isTimed === 0) await precedence.giveWay();
  };

  const skipToEnd = (notificationId: string, { priorityLevel }: Progress): Promise<void> =>
    store.write((tx) => advance(tx, notificationId, "settle"), needs.laneOf(priorityLevel));

  const failed = async (
    notificationId: string,
    stage: StageName,
    progress: Progress,
    error: unknown,
    failures: number,
  ): Promise<void> => {
    log.error({ err: error, notificationId, stage, failures }, "stage failed");
    const late = progress.notAfter !== null && clock.now() > progress.notAfter;
    const tooLate = late && failures >= PATIENCE && stage !== "settle";
    if (failures > 0 && !tooLate) return;
    try {
      await store.write((tx) => {
        const details = { stage, message: wordsOf(error), givenUp: tooLate };
        addActivity(
          tx,
          { notificationId, type: "broadcast-failed", endpointId: needs.endpointId(), details },
          needs.by,
        );
        if (tooLate) advance(tx, notificationId, "settle");
      }, needs.laneOf(progress.priorityLevel));
    } catch (fault) {
      log.error({ err: fault, notificationId, stage }, "failure not recorded");
    }
  };

  const take = (notificationId: string): void => {
    if (running.has(notificationId) || signal.aborted) return;
    const done = run(notificationId)
      .catch((error) => {
        if (!signal.aborted) log.error({ err: error, notificationId }, "broadcast left alone until the next start");
      })
      .finally(() => {
        running.delete(notificationId);
        noteUrgent(notificationId, null);
      });
    running.set(notificationId, done);
  };

  return {
    take,
    takeUnfinished() {
      const unfinished = store.all<{ id: string }>(
        `SELECT id FROM notifications WHERE stage IN (SELECT value FROM json_each(?)) ORDER BY priority_level, pk`,
        JSON.stringify([...byName.keys()]),
      );
      for (const { id } of unfinished) take(id);
    },
    async idle() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}

function wordsOf(error: unknown): string {
  if (error instanceof CallerError || error instanceof UpstreamError) return error.message;
  return "Something went wrong inside; the log says more.";
}
