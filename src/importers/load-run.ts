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

/** A load as a row. */
export type LoadRun = RowOf<typeof loadRuns>;

/** What loading needs. */
export interface LoadRunDeps {
  store: Store;
  clock: Clock;
  /** Folder below which paths of definitions lie. */
  loadsDir: string;
  /** Whoever carries the run's own row on. */
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

/** The load changes nothing, for a reason that people can read. */
class LoadAborted extends CallerError {
  readonly state: "failed" | "stopped";

  constructor(state: "failed" | "stopped", message: string) {
    super("invalid-value", message);
    this.state = state;
  }
}

interface LoadContext {
  needs: LoadRunDeps;
  definition: LoadDefinition;
  run: LoadRun;
  by: ActorContext;
  batch: StagedBatch;
  counts: Counts;
  faults: { line: number; message: string }[];
  /** What the source has beside what is read. */
  warnings: { line: number; message: string }[];
  /** What is done to rows that are there, once the new ones are in sight. */
  steps: LoadStep[];
}

/**
 * Loads users, lists and places from a source. New rows come in a batch that nobody sees; changes and removals are
 * rehearsed and kept as steps. When all is right, one short write shows the batch and decides for the steps, which a
 * crash only interrupts; before it, nothing is changed. Returns why nothing was loaded, null when all was.
 */
export async function runLoad(needs: LoadRunDeps, definition: LoadDefinition, run: LoadRun): Promise<string | null> {
  const { store, clock, system } = needs;
  mkdirSync(needs.loadsDir, { recursive: true, mode: 0o700 });
  const batch = await store.openBatch(run.id, [users, distributionLists, subscriptions]);
  const counts: Counts = { peopleRead: 0, ...NOTHING_DONE };
  const by: ActorContext = { actor: system.actor, scope: { ...system.scope, domainId: definition.domainId } };
  const loading: LoadContext = { needs, definition, run, by, batch, counts, faults: [], warnings: [], steps: [] };
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
    if (needs.signal.aborted) return null;
    const { state, reason } = reasonOf(error);
    // What was stopped tells what it would have done; of what failed nothing was done, and nothing can be confirmed.
    const done = state === "failed" ? NOTHING_DONE : {};
    await batch.discard(finish({ state, reason: reason.slice(0, 1_000), errors: loading.faults, ...done }));
    if (reason === INTERNAL_FAILURE_REASON) throw error;
    return reason;
  }
  await finishRun(needs, run, by);
  return null;
}

/** Carries out what a run has decided; goes on where an ended process stopped. */
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

const INTERNAL_FAILURE_REASON = "The load came to an end that it should not have; the log says more.";

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
  if (loading.faults.length > 0) {
    throw new LoadAborted("failed", `${loading.faults.length} of ${loading.counts.peopleRead} people have faults.`);
  }
  assertRemovalThreshold(loading);
  await dryRunSteps(loading);
}

async function readSource({ needs, definition, counts, faults, warnings }: LoadContext): Promise<SourcePerson[]> {
  const people: SourcePerson[] = [];
  const seen = new Set<string>();
  const warn = (line: number, message: string): void => addMessage(warnings, line, message);
  const place = { loadsDir: needs.loadsDir, files: needs.store.files, warn };
  for await (const person of readPeople(definition, place)) {
    needs.signal.throwIfAborted();
    counts.peopleRead++;
    if (person.key === "") addMessage(faults, person.line, "The person has no key.");
    else if (seen.has(person.key)) addMessage(faults, person.line, `${person.key} stands there twice.`);
    else people.push(person);
    seen.add(person.key);
  }
  if (people.length === 0) throw new LoadAborted("failed", "The source has no people.");
  return people;
}

function addMessage(faults: LoadContext["faults"], line: number, message: string): void {
  if (faults.length < MAX_ERRORS_KEPT) faults.push({ line, message });
}

/** Calls `handle` for each item in transactions of the batch that are short. */
async function inChunks<T>(
  { batch, needs }: LoadContext,
  items: readonly T[],
  handle: (tx: Transaction, item: T) => void,
) {
  const { clock, signal } = needs;
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

/** Ids of the source's lists by name, new ones made. */
async function planLists(loading: LoadContext, people: readonly SourcePerson[]): Promise<Map<string, string>> {
  const { definition, by, counts, faults } = loading;
  const wanted = new Map<string, number>();
  for (const { lists, line } of people) for (const name of lists) if (!wanted.has(name)) wanted.set(name, line);
  const ids = new Map<string, string>();
  await inChunks(loading, [...wanted], (tx, [name, line]) => {
    const known = tx.one<{ id: string }>(
      "SELECT id FROM distribution_lists WHERE load_source_pk = ? AND load_key = ?",
      definition.pk,
      name,
    );
    collectError(faults, line, () => {
      const system = { loadSourceId: definition.id, loadKey: name };
      ids.set(name, known?.id ?? tx.create(distributionLists, { name }, by, system).id);
      if (!known) counts.listsCreated++;
    });
  });
  return ids;
}

function collectError(faults: LoadContext["faults"], line: number, work: () => void): void {
  try {
    work();
  } catch (error) {
    const { type } = error as { type?: string };
    if (type === undefined || type === "bug") throw error;
    addMessage(faults, line, (error as Error).message);
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
  const { definition, by, counts, faults, steps } = loading;
  const { key, name, email, line } = person;
  const known = tx.one<KnownUser>(
    "SELECT pk, id, name, email FROM users WHERE load_source_pk = ? AND load_key = ?",
    definition.pk,
    key,
  );
  collectError(faults, line, () => {
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

/** Takes those of `wanted` out that the user has a place on, whoever made it; places of this source that are not wanted go. */
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

/** What the source no longer has goes, as far as it came from there. */
async function planRemovals(
  { needs, definition, counts, steps }: LoadContext,
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
      const rows = needs.store.all<{ pk: number; id: string; load_key: string | null }>(
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
      await yieldToEventLoop(needs.clock);
    }
  };
  counts.usersRemoved = await removedRows(users, (key) => key !== null && keys.has(key));
  counts.listsRemoved = await removedRows(distributionLists, (key) => key !== null && lists.has(key));
}

function assertRemovalThreshold({ needs, definition, run, counts }: LoadContext): void {
  const there = needs.store.count(users, { loadSourceId: definition.id });
  const share = there === 0 ? 0 : (100 * counts.usersRemoved) / there;
  if (share <= (definition.removalThreshold ?? 0) || run.confirmed) return;
  const figures = `${Math.round(share)} % of users (${counts.usersRemoved} of ${there})`;
  throw new LoadAborted("stopped", `It would remove ${figures}; confirm it, if that is right.`);
}

/** What can't be done is found before anything is. */
async function dryRunSteps({ needs, by, steps, faults }: LoadContext): Promise<void> {
  const { store } = createDryRun(needs.store, () => null);
  for (const { resource, op, id, input, line } of steps) {
    needs.signal.throwIfAborted();
    const target = STEP_RESOURCES.find(({ name }) => name === resource);
    if (!target) throw new BugError("A load has a step for another family.", { resource });
    try {
      if (op === "remove")
        await store.write((tx) => void (tx.get(target, id) && tx.remove(target, id, by)) as Sync<void>);
      else await store.update(target, id, input as object, by);
    } catch (error) {
      collectError(faults, line, () => {
        throw error;
      });
    }
  }
  if (faults.length > 0) throw new LoadAborted("failed", `${faults.length} changes are refused: ${faults[0]?.message}`);
}
