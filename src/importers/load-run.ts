import { mkdirSync } from "node:fs";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { BugError, CallerError } from "../lib/errors.ts";
import distributionLists from "../resources/lists/distribution-lists.ts";
import loadRuns from "../resources/loads/load-runs.ts";
import subscriptions from "../resources/people/subscriptions.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import { createDryRun } from "../store/dry-run.ts";
import type { ActorContext, StagedBatch, Store, Sync, Transaction } from "../store/store.ts";
import { MalformedTableError } from "./delimited-file.ts";
import { type LoadDefinition, readPeople, type SourcePerson } from "./load-source.ts";
import { applyLoadSteps, type LoadStep, STEP_RESOURCES, saveLoadSteps } from "./load-steps.ts";

export type LoadRun = RowOf<typeof loadRuns>;

export interface LoadRunDeps {
  store: Store;
  clock: Clock;
  /** Folder that contains the paths of definitions. */
  loadsDir: string;
  /** Actor that updates the run's own row. */
  system: ActorContext;
  signal: AbortSignal;
}

const TRANSACTION_MS = 4;
const MAX_ERRORS_KEPT = 100;
const BATCH_ROWS = 200;

type Counts = Pick<
  LoadRun,
  | "peopleRead"
  | "usersCreated"
  | "usersChanged"
  | "usersRemoved"
  | "listsCreated"
  | "listsRemoved"
  | "subscriptionsCreated"
  | "subscriptionsRemoved"
>;

const NOTHING_DONE = {
  ...{ usersCreated: 0, usersChanged: 0, usersRemoved: 0, listsCreated: 0, listsRemoved: 0 },
  ...{ subscriptionsCreated: 0, subscriptionsRemoved: 0 },
};

/** Ends a load without changes, with a reason for people. */
class LoadAborted extends CallerError {
  readonly state: "failed" | "stopped";

  constructor(state: "failed" | "stopped", message: string) {
    super("invalid-value", message);
    this.state = state;
  }
}

interface LoadContext {
  deps: LoadRunDeps;
  definition: LoadDefinition;
  run: LoadRun;
  by: ActorContext;
  batch: StagedBatch;
  counts: Counts;
  errors: { line: number; message: string }[];
  /** Parts of the source that were ignored. */
  warnings: { line: number; message: string }[];
  /** Changes of existing rows, applied once the new rows are visible. */
  steps: LoadStep[];
}

/**
 * Loads users, lists and places from a source. New rows are created in an invisible batch; changes and removals are validated
 * by a dry run and stored as steps. If all is valid, one short write makes the batch visible and commits to the steps, which
 * are resumed after a crash; before that write nothing changes. Returns the reason of a failure, null on success.
 */
export async function runLoad(deps: LoadRunDeps, definition: LoadDefinition, run: LoadRun): Promise<string | null> {
  const { store, clock, system } = deps;
  mkdirSync(deps.loadsDir, { recursive: true, mode: 0o700 });
  const batch = await store.openBatch(run.id, [users, distributionLists, subscriptions]);
  const counts: Counts = { peopleRead: 0, ...NOTHING_DONE };
  const by: ActorContext = { actor: system.actor, scope: { ...system.scope, domainId: definition.domainId } };
  const loading: LoadContext = { deps, definition, run, by, batch, counts, errors: [], warnings: [], steps: [] };
  const finish = (values: Partial<LoadRun>) => (tx: Transaction) => {
    if (!tx.get(loadRuns, run.id)) return;
    const ended = values.state === "applying" ? {} : { endedAt: clock.now() };
    tx.update(loadRuns, run.id, {}, system, { ...counts, warnings: loading.warnings, ...ended, ...values } as never);
  };
  try {
    await planLoad(loading);
    if (run.dryRun) {
      await batch.discard(finish({ state: "complete" }));
      return null;
    }
    await saveLoadSteps(store, run.pk, loading.steps);
    await batch.publish(finish({ state: "applying" }));
  } catch (error) {
    if (deps.signal.aborted) return null;
    const { state, reason } = reasonOf(error);
    // A stopped run reports what it would have done, to be confirmed; a failed run did nothing and cannot be confirmed.
    const done = state === "failed" ? NOTHING_DONE : {};
    await batch.discard(finish({ state, reason: reason.slice(0, 1_000), errors: loading.errors, ...done }));
    if (reason === INTERNAL_FAILURE_REASON) throw error;
    return reason;
  }
  await finishRun(deps, run, by);
  return null;
}

/** Applies the steps of a committed run; resumes where an earlier process stopped. */
export async function finishRun(
  { store, clock, system, signal }: LoadRunDeps,
  run: LoadRun,
  by: ActorContext,
): Promise<void> {
  await store.announceBatch(run.id, by, signal);
  const errors = await applyLoadSteps({ store, clock, signal }, run.pk, by);
  const values = { state: "complete", endedAt: clock.now(), ...(errors.length > 0 ? { errors } : {}) };
  await store.write((tx) => {
    if (tx.get(loadRuns, run.id)) tx.update(loadRuns, run.id, {}, system, values as never);
  });
}

const INTERNAL_FAILURE_REASON = "Internal error; see the log.";

function reasonOf(error: unknown): { state: "failed" | "stopped"; reason: string } {
  if (error instanceof LoadAborted) return { state: error.state, reason: error.message };
  if (error instanceof MalformedTableError) return { state: "failed", reason: `Line ${error.line}: ${error.message}` };
  const isOurs = !(error instanceof CallerError) && !(error as { syscall?: string }).syscall;
  return { state: "failed", reason: isOurs ? INTERNAL_FAILURE_REASON : (error as Error).message };
}

async function planLoad(loading: LoadContext): Promise<void> {
  const people = await readSource(loading);
  const lists = await planLists(loading, people);
  await inChunks(loading, people, (tx, person) => planPerson(loading, tx, person, lists));
  await planRemovals(loading, new Set(people.map(({ key }) => key)), lists);
  if (loading.errors.length > 0) {
    throw new LoadAborted("failed", `${loading.errors.length} of ${loading.counts.peopleRead} people have errors.`);
  }
  assertRemovalThreshold(loading);
  await dryRunSteps(loading);
}

async function readSource({ deps, definition, counts, errors, warnings }: LoadContext): Promise<SourcePerson[]> {
  const people: SourcePerson[] = [];
  const seen = new Set<string>();
  const warn = (line: number, message: string): void => addMessage(warnings, line, message);
  const place = { loadsDir: deps.loadsDir, files: deps.store.files, warn };
  for await (const person of readPeople(definition, place)) {
    deps.signal.throwIfAborted();
    counts.peopleRead++;
    if (person.key === "") addMessage(errors, person.line, "The key must not be empty.");
    else if (seen.has(person.key)) addMessage(errors, person.line, `Duplicate key ${person.key}.`);
    else people.push(person);
    seen.add(person.key);
  }
  if (people.length === 0) throw new LoadAborted("failed", "The source must contain at least one person.");
  return people;
}

function addMessage(errors: LoadContext["errors"], line: number, message: string): void {
  if (errors.length < MAX_ERRORS_KEPT) errors.push({ line, message });
}

/** Calls `handle` for each item in short transactions of the batch. */
async function inChunks<T>(
  { batch, deps }: LoadContext,
  items: readonly T[],
  handle: (tx: Transaction, item: T) => void,
) {
  const { clock, signal } = deps;
  for (let at = 0; at < items.length; ) {
    signal.throwIfAborted();
    const from = at;
    at = await batch.write((tx) => {
      const began = clock.monotonicMs();
      let next = from;
      while (next < items.length && clock.monotonicMs() - began < TRANSACTION_MS) handle(tx, items[next++] as T);
      return next;
    });
  }
}

/** Ids of the source's lists by name; creates missing lists. */
async function planLists(loading: LoadContext, people: readonly SourcePerson[]): Promise<Map<string, string>> {
  const { definition, by, counts, errors } = loading;
  const wanted = new Map<string, number>();
  for (const { lists, line } of people) for (const name of lists) if (!wanted.has(name)) wanted.set(name, line);
  const ids = new Map<string, string>();
  await inChunks(loading, [...wanted], (tx, [name, line]) => {
    const known = tx.one<{ id: string }>(
      "SELECT id FROM distribution_lists WHERE load_source_pk = ? AND load_key = ?",
      definition.pk,
      name,
    );
    collectError(errors, line, () => {
      const system = { loadSourceId: definition.id, loadKey: name };
      ids.set(name, known?.id ?? tx.create(distributionLists, { name }, by, system).id);
      if (!known) counts.listsCreated++;
    });
  });
  return ids;
}

function collectError(errors: LoadContext["errors"], line: number, work: () => void): void {
  try {
    work();
  } catch (error) {
    const { type } = error as { type?: string };
    if (type === undefined || type === "bug") throw error;
    addMessage(errors, line, (error as Error).message);
  }
}

interface KnownUser {
  pk: number;
  id: string;
  name: string;
  email: string | null;
}

function planPerson(
  loading: LoadContext,
  tx: Transaction,
  person: SourcePerson,
  lists: ReadonlyMap<string, string>,
): void {
  const { definition, by, counts, errors, steps } = loading;
  const { key, name, email, line } = person;
  const known = tx.one<KnownUser>(
    "SELECT pk, id, name, email FROM users WHERE load_source_pk = ? AND load_key = ?",
    definition.pk,
    key,
  );
  collectError(errors, line, () => {
    const source = definition.type === "oneroster" ? "sis-loader" : "user-loader";
    const system = { loadSourceId: definition.id, loadKey: key, source } as const;
    const id = known?.id ?? tx.create(users, { name, email }, by, system).id;
    if (!known) counts.usersCreated++;
    else if (known.name !== name || known.email !== email) {
      counts.usersChanged++;
      steps.push({ resource: users.name, op: "update", id, input: { name, email }, line });
    }
    const wanted = new Set(person.lists.flatMap((list) => lists.get(list) ?? []));
    if (known) planSubscriptionRemovals(loading, tx, known.pk, wanted);
    for (const distributionListId of wanted) {
      tx.create(subscriptions, { userId: id, distributionListId }, by, { loadSource: definition.id });
      counts.subscriptionsCreated++;
    }
  });
}

/** Removes from `wanted` the lists that the user is subscribed to already; plans the removal of this source's other subscriptions. */
function planSubscriptionRemovals(
  { definition, counts, steps }: LoadContext,
  tx: Transaction,
  userPk: number,
  wanted: Set<string>,
): void {
  const own = tx.all<{ id: string; list: string; load_source: string | null }>(
    `SELECT s.id, l.id AS list, s.load_source FROM subscriptions s JOIN distribution_lists l ON l.pk = s.distribution_list_pk
     WHERE s.user_pk = ?`,
    userPk,
  );
  for (const { id, list, load_source: source } of own) {
    if (wanted.delete(list) || source !== definition.id) continue;
    counts.subscriptionsRemoved++;
    steps.push({ resource: subscriptions.name, op: "remove", id, input: null, line: 0 });
  }
}

/** Plans the removal of rows of this source that are no longer in it. */
async function planRemovals(
  { deps, definition, counts, steps }: LoadContext,
  keys: ReadonlySet<string>,
  lists: ReadonlyMap<string, string>,
) {
  const removedRows = async (
    resource: typeof users | typeof distributionLists,
    stays: (key: string | null) => boolean,
  ) => {
    const table = resource === users ? "users" : "distribution_lists";
    let removed = 0;
    for (let after = 0; ; ) {
      const rows = deps.store.all<{ pk: number; id: string; load_key: string | null }>(
        `SELECT pk, id, load_key FROM ${table} WHERE load_source_pk = ? AND pk > ? ORDER BY pk LIMIT ${BATCH_ROWS}`,
        definition.pk,
        after,
      );
      const last = rows.at(-1);
      if (!last) return removed;
      for (const { id, load_key: key } of rows) {
        if (stays(key)) continue;
        steps.push({ resource: resource.name, op: "remove", id, input: null, line: 0 });
        removed++;
      }
      after = last.pk;
      await yieldToEventLoop(deps.clock);
    }
  };
  counts.usersRemoved = await removedRows(users, (key) => key !== null && keys.has(key));
  counts.listsRemoved = await removedRows(distributionLists, (key) => key !== null && lists.has(key));
}

function assertRemovalThreshold({ deps, definition, run, counts }: LoadContext): void {
  const there = deps.store.count(users, { loadSourceId: definition.id });
  const share = there === 0 ? 0 : (100 * counts.usersRemoved) / there;
  if (share <= (definition.removalThreshold ?? 0) || run.confirmed) return;
  const figures = `${Math.round(share)} % of users (${counts.usersRemoved} of ${there})`;
  throw new LoadAborted("stopped", `The load would remove ${figures}; confirm the run to proceed.`);
}

/** Dry run of all steps: errors are found before anything changes. */
async function dryRunSteps({ deps, by, steps, errors }: LoadContext): Promise<void> {
  const { store } = createDryRun(deps.store, () => null);
  for (const { resource, op, id, input, line } of steps) {
    deps.signal.throwIfAborted();
    const target = STEP_RESOURCES.find(({ name }) => name === resource);
    if (!target) throw new BugError("Load step for an unknown resource.", { resource });
    try {
      if (op === "remove")
        await store.write((tx) => void (tx.get(target, id) && tx.remove(target, id, by)) as Sync<void>);
      else await store.update(target, id, input as object, by);
    } catch (error) {
      collectError(errors, line, () => {
        throw error;
      });
    }
  }
  if (errors.length > 0) throw new LoadAborted("failed", `${errors.length} changes were refused: ${errors[0]?.message}`);
}
