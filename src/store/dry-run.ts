import { BugError } from "../lib/errors.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import type { AnyRow } from "./row-shape.ts";
import { hashGivenSecrets } from "./secret-hashes.ts";
import type { ActorContext, Store, StoreReader, Sync, Transaction } from "./store.ts";

/** One row written in a dry run, with the observation before and after the write; null where there was no row. */
export interface DryRunWrite<T> {
  resource: AnyResource;
  before: { row: AnyRow; seen: T } | null;
  after: { row: AnyRow; seen: T } | null;
}

/** A store whose writes are rolled back. */
export interface DryRun<T> {
  /** Runs the checks and hooks of real writes; stores nothing, emits no event, and no other reader sees the writes. */
  store: Store;
  /** The writes made through `store`, in order, without cascading deletions. */
  writes: readonly DryRunWrite<T>[];
}

/**
 * Creates a store for a dry run: each write runs in a savepoint that is rolled back. `inspect` is called for each row
 * within that savepoint, before and after the write; it must take well under a millisecond.
 */
export function createDryRun<T>(
  store: Store,
  inspect: (reader: StoreReader, resource: AnyResource, row: AnyRow) => T,
): DryRun<T> {
  const written: DryRunWrite<T>[] = [];

  async function write<R>(fn: (tx: Transaction) => Sync<R>): Promise<R> {
    const undo = new BugError("dry run: roll back");
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
    row === null ? null : { row: row as AnyRow, seen: inspect(tx, resource, row as AnyRow) };

  /** Wraps the transaction so that each write is recorded in `writes`. */
  function recordingTransaction(tx: Transaction): Transaction {
    const recorded = <W>(resource: AnyResource, id: string | null, work: () => W): W => {
      const before = id === null ? null : observe(tx, resource, tx.get(resource, id));
      const result = work();
      written.push({ resource, before, after: observe(tx, resource, result ?? null) });
      return result;
    };
    return Object.assign(Object.create(tx) as Transaction, {
      create: <R extends AnyResource>(resource: R, input: object, by: ActorContext, system?: object) =>
        recorded(resource, null, () => tx.create(resource, input, by, system as never)),
      update: <R extends AnyResource>(resource: R, id: string, input: object, by: ActorContext, system?: object) =>
        recorded(resource, id, () => tx.update(resource, id, input, by, system as never)),
      clone: <R extends AnyResource>(resource: R, id: string, by: ActorContext) =>
        recorded(resource, null, () => tx.clone(resource, id, by)),
      remove: (resource: AnyResource, id: string, by: ActorContext) =>
        recorded(resource, id, () => tx.remove(resource, id, by)),
    });
  }

  const dryRunStore: Store = {
    ...store,
    write,
    async create<R extends AnyResource>(resource: R, input: object, by: ActorContext, system?: object) {
      const given = { ...input };
      const { createInChunks, prepare } = store.hooksFor(resource);
      if (createInChunks) return (await createInChunks(given, by, dryRunStore)) as RowOf<R>;
      await prepare?.(given, "create", store);
      const values = { ...system, ...(await hashGivenSecrets(resource, given)) };
      return write((tx) => tx.create(resource, given, by, values as never) as Sync<RowOf<R>>);
    },
    async update(resource, id, input, by, system, check) {
      const given = { ...input };
      await store.hooksFor(resource).prepare?.(given, "update", store);
      const values = { ...system, ...(await hashGivenSecrets(resource, given)) } as typeof system;
      return write((tx) => {
        const row = check && tx.get(resource, id);
        if (row) check(row);
        return tx.update(resource, id, given, by, values) as Sync<RowOf<typeof resource>>;
      });
    },
    async remove(resource, id, by, check) {
      const { removeInChunks } = store.hooksFor(resource);
      if (removeInChunks) return removeInChunks(id, by, dryRunStore, check as never);
      const row = store.get(resource, id) as AnyRow | null;
      await store.dryRunRemoval(resource, id, by, check as never);
      written.push({ resource, before: observe(store, resource, row), after: null });
    },
    clone: <R extends AnyResource>(resource: R, id: string, by: ActorContext) =>
      write((tx) => tx.clone(resource, id, by) as Sync<RowOf<R>>),
  };
  return { writes: written, store: dryRunStore };
}
