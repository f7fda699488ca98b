import { mkdirSync } from "node:fs";
import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import loadRuns from "../resources/loads/load-runs.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import userDevices from "../resources/people/user-devices.ts";
import users from "../resources/people/users.ts";
import type { ActorContext, Sync, Transaction } from "../store/store.ts";
import { MalformedTableError } from "./delimited-file.ts";
import {
  type LoadContext,
  type LoadCounts,
  type LoadProgress,
  type LoadRun,
  type LoadRunDeps,
  NOTHING_DONE,
} from "./load-context.ts";
import { planLoad, readKnownRows } from "./load-plan.ts";
import { LoadAborted, type LoadSource } from "./load-source.ts";
import { applyLoadSteps, saveLoadSteps } from "./load-steps.ts";
import { readSource } from "./read-source.ts";
import { applyRecordChanges, saveRecordChanges } from "./roster-state.ts";
import type { LoadDefinition } from "./source-files.ts";

/** Progress is written in steps of this size, since each write is an audit entry and a change event. */
const STEP_PERCENT = 10;

/**
 * Loads users, lists and memberships from a source. New rows are created in an invisible batch; changes and removals are
 * validated by a dry run and stored as steps. Lines with errors are reported and left out. One short write makes the batch
 * visible and commits to the steps, which are resumed after a crash; before that write nothing changes. Returns the reason of
 * a failure, null on success.
 */
export async function runLoad(deps: LoadRunDeps, definition: LoadDefinition, run: LoadRun): Promise<string | null> {
  const { store, clock, system } = deps;
  mkdirSync(deps.loadsDir, { recursive: true, mode: 0o700 });
  const batch = await store.openBatch(run.id, [users, distributionLists, subscriptions, userDevices]);
  const counts: LoadCounts = { peopleRead: 0, linesRead: 0, linesWithErrors: 0, ...NOTHING_DONE };
  const by: ActorContext = { actor: system.actor, scope: { ...system.scope, domainId: definition.domainId } };
  const loading: LoadContext = {
    ...{ deps, definition, run, by, batch, counts, errors: [], warnings: [], files: [], steps: [] },
    progress: createProgress(deps, run),
  };
  const finish = (values: Partial<LoadRun>) => (tx: Transaction) => {
    if (!tx.get(loadRuns, run.id)) return;
    const { errors, warnings, files } = loading;
    const ended = values.state === "applying" ? {} : { endedAt: clock.now(), phase: null };
    const found = { ...counts, errors: errors.length > 0 ? errors : null, warnings, files };
    tx.update(loadRuns, run.id, {}, system, { ...found, ...ended, ...values } as never);
  };
  let source: LoadSource | null = null;
  try {
    await loading.progress("reading", 0, 0);
    const known = await readKnownRows(loading);
    source = await readSource(loading, { hasFormerLists: known.lists.some(({ load_name: name }) => name === null) });
    await planLoad(loading, known, source);
    if (run.dryRun) {
      await batch.discard(finish({ state: "complete" }));
      return null;
    }
    await saveLoadSteps(store, run.pk, loading.steps);
    await saveRecordChanges(store, run.pk, definition.id, source.changes());
    await batch.publish(finish({ state: "applying" }));
  } catch (error) {
    if (deps.signal.aborted) return null;
    const { state, reason } = reasonOf(error);
    // A stopped run reports what it would have done, to be confirmed; a failed run did nothing and cannot be confirmed.
    const done = state === "failed" ? NOTHING_DONE : {};
    await batch.discard(finish({ state, reason: reason.slice(0, 1_000), ...done }));
    if (reason === INTERNAL_FAILURE_REASON) throw error;
    return reason;
  } finally {
    await source?.close();
  }
  await finishRun(deps, run, by);
  return null;
}

/** Applies the steps of a committed run; resumes where an earlier process stopped. */
export async function finishRun(deps: LoadRunDeps, run: LoadRun, by: ActorContext): Promise<void> {
  const { store, clock, system, signal } = deps;
  const progress = createProgress(deps, run);
  await progress("applying", 0, 0);
  await store.announceBatch(run.id, by, signal);
  const onDone = (done: number, total: number) => progress("applying", done, total);
  const refused = await applyLoadSteps({ store, clock, signal }, run.pk, by, onDone);
  await applyRecordChanges({ store, clock, signal }, run.pk);
  await store.write((tx) => {
    const row = tx.get(loadRuns, run.id);
    if (!row) return;
    const errors = refused.length > 0 ? { errors: [...((row.errors as object[] | null) ?? []), ...refused] } : {};
    const values = { state: "complete", endedAt: clock.now(), phase: null, percentage: 100, ...errors };
    tx.update(loadRuns, run.id, {}, system, values as never);
  });
}

/** Writes phase, lines and percentage to the run. */
function createProgress({ store, system }: LoadRunDeps, { id }: LoadRun): LoadProgress {
  let last: { phase: string; percentage: number } = { phase: "", percentage: 0 };
  return async (phase, done, total) => {
    const percentage = total === 0 ? 0 : Math.floor((100 * done) / total);
    const isLines = phase === "reading";
    if (!isLines && phase === last.phase && percentage < last.percentage + STEP_PERCENT) return;
    last = { phase, percentage };
    const values = { phase, percentage, waitingFor: null, ...(isLines ? { linesRead: done } : {}) };
    await store.write((tx) => {
      if (tx.get(loadRuns, id)) tx.update(loadRuns, id, {}, system, values as never) as Sync<LoadRun>;
    });
  };
}

const INTERNAL_FAILURE_REASON = sentence("activity.internal-error");

function reasonOf(error: unknown): { state: "failed" | "stopped"; reason: string } {
  if (error instanceof LoadAborted) return { state: error.state, reason: error.message };
  if (error instanceof MalformedTableError) return { state: "failed", reason: error.message };
  const isOurs = !(error instanceof CallerError) && !(error as { syscall?: string }).syscall;
  return { state: "failed", reason: isOurs ? INTERNAL_FAILURE_REASON : (error as Error).message };
}
