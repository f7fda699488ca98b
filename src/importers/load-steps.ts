import type { Clock } from "../lib/clock.ts";
import { BugError } from "../lib/errors.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import users from "../resources/people/users.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { ActorContext, InternalTable, Store } from "../store/store.ts";

/** A change of an existing row. */
export interface LoadStep {
  /** Name of one of STEP_RESOURCES. */
  resource: string;
  op: "update" | "remove";
  id: string;
  /** For an update. */
  input: Readonly<Record<string, unknown>> | null;
  /** Line of the source; 0 for a removal. */
  line: number;
}

/** Resources that a load may change. */
export const STEP_RESOURCES: readonly AnyResource[] = [users, distributionLists, subscriptions];

/** Pending steps by internal key of their run. */
export const LOAD_TABLES: readonly InternalTable[] = [
  {
    name: "load_steps",
    sql: `CREATE TABLE IF NOT EXISTS load_steps (pk INTEGER PRIMARY KEY, run INTEGER NOT NULL, resource TEXT NOT NULL,
      op TEXT NOT NULL, id TEXT NOT NULL, input TEXT) STRICT;
      CREATE INDEX IF NOT EXISTS load_steps__run ON load_steps (run);`,
  },
];

const BATCH_STEPS = 200;
const TRANSACTION_MS = 4;

/** Saves the steps, so that a committed run resumes after a crash. Deletes steps of uncommitted runs. */
export async function saveLoadSteps(store: Store, run: number, steps: readonly LoadStep[]): Promise<void> {
  for (let at = 0; at < steps.length; at += BATCH_STEPS) {
    await store.write((tx) => {
      for (const { resource, op, id, input } of steps.slice(at, at + BATCH_STEPS)) {
        const values = [run, resource, op, id, input === null ? null : JSON.stringify(input)];
        tx.run("INSERT INTO load_steps (run, resource, op, id, input) VALUES (?, ?, ?, ?, ?)", ...values);
      }
    });
  }
}

/** Deletes the steps of an uncommitted run. */
export async function deleteLoadSteps(store: Store, run: number): Promise<void> {
  const sql = `DELETE FROM load_steps WHERE pk IN (SELECT pk FROM load_steps WHERE run = ? LIMIT ${BATCH_STEPS})`;
  while ((await store.write((tx) => tx.run(sql, run).changes)) > 0);
}

interface StoredLoadStep {
  pk: number;
  resource: string;
  op: LoadStep["op"];
  id: string;
  input: string | null;
}

/** Applies the remaining steps of a run; returns those refused since the dry run, at most 100. */
export async function applyLoadSteps(
  { store, clock, signal }: { store: Store; clock: Clock; signal: AbortSignal },
  run: number,
  by: ActorContext,
): Promise<{ line: number; message: string }[]> {
  const refused: { line: number; message: string }[] = [];
  for (;;) {
    signal.throwIfAborted();
    const steps = store.all<StoredLoadStep>(
      `SELECT pk, resource, op, id, input FROM load_steps WHERE run = ? ORDER BY pk LIMIT ${BATCH_STEPS}`,
      run,
    );
    if (steps.length === 0) return refused;
    for (let at = 0; at < steps.length; ) {
      at += await store.write((tx) => {
        const began = clock.monotonicMs();
        let done = 0;
        while (at + done < steps.length && clock.monotonicMs() - began < TRANSACTION_MS) {
          const step = steps[at + done++] as StoredLoadStep;
          tx.run("SAVEPOINT step");
          try {
            applyLoadStep(tx, step, by);
          } catch (error) {
            const { type } = error as { type?: string };
            if (type === undefined || type === "bug") throw error;
            tx.run("ROLLBACK TO step");
            if (refused.length < BATCH_STEPS / 2) refused.push({ line: 0, message: (error as Error).message });
          }
          tx.run("RELEASE step");
          tx.run("DELETE FROM load_steps WHERE pk = ?", step.pk);
        }
        return done;
      });
    }
  }
}

function applyLoadStep(
  tx: Parameters<Parameters<Store["write"]>[0]>[0],
  { resource, op, id, input }: StoredLoadStep,
  by: ActorContext,
): void {
  const target = STEP_RESOURCES.find(({ name }) => name === resource);
  if (!target) throw new BugError("Load step for an unknown resource.", { resource });
  // The row may have been deleted since the dry run.
  if (!tx.get(target, id)) return;
  if (op === "remove") tx.remove(target, id, by);
  else tx.update(target, id, JSON.parse(input as string), by);
}
