import { BugError } from "../lib/errors.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import type { AnyRow } from "./row-shape.ts";
import type { ActorContext, Store, StoreReader, Sync, Transaction } from "./store.ts";

/** One row that was written in a rehearsal, with what was asked about it before and after; null where there was no row. */
export interface DryRunWrite<T> {
  resource: AnyResource;
  before: { row: AnyRow; seen: T } | null;
  after: { row: AnyRow; seen: T } | null;
}

/** A store whose writes are undone. */
export interface DryRun<T> {
  /** All checks, behaviours and refusals are those of real writes; nothing is kept, told or seen by others. */
  store: Store;
  /** What was written through `store`, in order; rows that went along with a deleted one are not among it. */
  writes: readonly DryRunWrite<T>[];
}

/**
 * Makes a store for a rehearsal: each write runs in a savepoint that is rolled back. `look` is asked about each row
 * within that savepoint, before and after the write; it must be quick.
 */
export function createDryRun<T>(
  store: Store,
  look: (reader: StoreReader, resource: AnyResource, row: AnyRow) => T,
): DryRun<T> {
  const written: DryRunWrite<T>[] = [];

  async function write<R>(fn: (tx: Transaction) => Sync<R>): Promise<R> {
    const undo = new BugError("A rehearsal is undone.");
    let value: { of: R } | null = null;
    const failed = await store
      .write((tx) => {
        value = { of: fn(recordingTransaction(tx)) };
        throw undo;
      })
      .catch((error: unknown) => error);
    if (failed !== undo || value === null) throw failed;
    return (value as { of: R }).of;
  }

  const observe = (tx: StoreReader, resource: AnyResource, row: unknown) =>
    row === null ? null : { row: row as AnyRow, seen: look(tx, resource, row as AnyRow) };

  /** The transaction, which notes what is written through it. */
  function recordingTransaction(tx: Transaction): Transaction {
    const noted = <W>(resource: AnyResource, id: string | null, work: () => W): W => {
      const before = id === null ? null : observe(tx, resource, tx.get(resource, id));
      const result = work();
      written.push({ resource, before, after: observe(tx, resource, result ?? null) });
      return result;
    };
    return Object.assign(Object.create(tx) as Transaction, {
      create: <R extends AnyResource>(resource: R, input: object, by: ActorContext, system?: object) =>
        noted(resource, null, () => tx.create(resource, input, by, system as never)),
      update: <R extends AnyResource>(resource: R, id: string, input: object, by: ActorContext, system?: object) =>
        noted(resource, id, () => tx.update(resource, id, input, by, system as never)),
      clone: <R extends AnyResource>(resource: R, id: string, by: ActorContext) =>
        noted(resource, null, () => tx.clone(resource, id, by)),
      remove: (resource: AnyResource, id: string, by: ActorContext) =>
        noted(resource, id, () => tx.remove(resource, id, by)),
    });
  }

  const dryRunStore: Store = {
    ...store,
    write,
    async create<R extends AnyResource>(resource: R, input: object, by: ActorContext, system?: object) {
      const given = { ...input };
      const { createInSlices, prepare } = store.hooksFor(resource);
      if (createInSlices) return (await createInSlices(given, by, dryRunStore)) as RowOf<R>;
      await prepare?.(given, "create", store);
      return write((tx) => tx.create(resource, given, by, system as never) as Sync<RowOf<R>>);
    },
    async update(resource, id, input, by, system, check) {
      const given = { ...input };
      await store.hooksFor(resource).prepare?.(given, "update", store);
      return write((tx) => {
        const row = check && tx.get(resource, id);
        if (row) check(row);
        return tx.update(resource, id, given, by, system) as Sync<RowOf<typeof resource>>;
      });
    },
    async remove(resource, id, by, check) {
      const { removeInSlices } = store.hooksFor(resource);
      if (removeInSlices) return removeInSlices(id, by, dryRunStore, check as never);
      const row = store.get(resource, id) as AnyRow | null;
      await store.dryRunRemoval(resource, id, by, check as never);
      written.push({ resource, before: observe(store, resource, row), after: null });
    },
    clone: <R extends AnyResource>(resource: R, id: string, by: ActorContext) =>
      write((tx) => tx.clone(resource, id, by) as Sync<RowOf<R>>),
  };
  return { writes: written, store: dryRunStore };
}
