import type { Clock } from "../lib/clock.ts";
import { BugError } from "../lib/errors.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import userDevices from "../resources/people/user-devices.ts";
import users from "../resources/people/users.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { ActorContext, InternalTable, Store, Transaction } from "../store/store.ts";
import type { SourceMessage } from "./load-source.ts";
import { ROSTER_TABLES } from "./roster-state.ts";

/** A change of an existing row. */
export interface LoadStep {
  /** Name of one of STEP_RESOURCES. */
  resource: string;
  op: "update" | "remove";
  id: string;
  /** For an update. */
  input: Readonly<Record<string, unknown>> | null;
  /** Internal fields that an update sets. */
  system?: Readonly<Record<string, unknown>>;
  /** File and line of the source; null and 0 for a removal. */
  file: string | null;
  line: number;
}

/** Resources that a load may change. */
export const STEP_RESOURCES: readonly AnyResource[] = [users, distributionLists, subscriptions, userDevices];

/** Pending steps by internal key of their run, and the records of rosters. */
export const LOAD_TABLES: readonly InternalTable[] = [
  ...ROSTER_TABLES,
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
      for (const { resource, op, id, input, system } of steps.slice(at, at + BATCH_STEPS)) {
        const stored = system ? { input, system } : input;
        const values = [run, resource, system ? UPDATE_SYSTEM : op, id, stored && JSON.stringify(stored)];
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

/** Stored operation of an update that sets internal fields, too. */
const UPDATE_SYSTEM = "update-system";

interface StoredLoadStep {
  pk: number;
  resource: string;
  op: LoadStep["op"] | typeof UPDATE_SYSTEM;
  id: string;
  input: string | null;
}

/** Applies the remaining steps of a run; returns those refused since the dry run, at most 100. */
export async function applyLoadSteps(
  { store, clock, signal }: { store: Store; clock: Clock; signal: AbortSignal },
  run: number,
  by: ActorContext,
  onDone: (done: number, total: number) => Promise<void>,
): Promise<SourceMessage[]> {
  const refused: SourceMessage[] = [];
  const { total } = store.one<{ total: number }>("SELECT count(*) AS total FROM load_steps WHERE run = ?", run) ?? {
    total: 0,
  };
  for (let applied = 0; ; ) {
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
            applyLoadStep(tx, loadStepOf(step), by);
          } catch (error) {
            const { type } = error as { type?: string };
            if (type === undefined || type === "bug") throw error;
            tx.run("ROLLBACK TO step");
            if (refused.length < BATCH_STEPS / 2) refused.push(refusal(error as Error));
          }
          tx.run("RELEASE step");
          tx.run("DELETE FROM load_steps WHERE pk = ?", step.pk);
        }
        return done;
      });
    }
    applied += steps.length;
    await onDone(applied, total);
  }
}

function refusal({ message }: Error): SourceMessage {
  return { file: null, line: 0, column: null, message };
}

function loadStepOf({ resource, op, id, input }: StoredLoadStep): LoadStep {
  const stored = input === null ? null : (JSON.parse(input) as Record<string, unknown>);
  const common = { resource, id, file: null, line: 0 };
  if (op !== UPDATE_SYSTEM) return { ...common, op, input: stored };
  return { ...common, op: "update", ...(stored as Required<Pick<LoadStep, "input" | "system">>) };
}

/** Applies a step in an open transaction. Throws as the write does. */
export function applyLoadStep(tx: Transaction, { resource, op, id, input, system }: LoadStep, by: ActorContext): void {
  const target = STEP_RESOURCES.find(({ name }) => name === resource);
  if (!target) throw new BugError("Load step for an unknown resource.", { resource });
  // The row may have been deleted since the dry run.
  if (!tx.get(target, id)) return;
  if (op === "remove") tx.remove(target, id, by);
  else tx.update(target, id, input ?? {}, by, system as never);
}
